// SPDX-License-Identifier: Apache-2.0
// `sbpf run`: a program in a new sandbox. The caller learns three things in order: isolation is active, what was lost
// while the program ran, how it ended.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "agent/agent.h"
#include "agent/launch/job_control.h"
#include "agent/launch/run_options.h"
#include "cli/commands.h"
#include "cli/denial_summary.h"
#include "cli/format.h"
#include "cli/input.h"
#include "cli/more_rules.h"
#include "cli/run_user.h"
#include "cli/service_client.h"
#include "cli/voice.h"

namespace sbpf::cli {
namespace {

struct RunArgs {
  std::string policy = "no-network";
  std::string name;
  std::string timeout;
  std::string user;
  std::string socket;  // of sbpfd; "": the usual one, for users other than root
  std::vector<std::string> env;
  std::optional<std::string> workspace;
  MoreRules more;
  bool quiet = false;
  bool events = false;
};

// Does it write where one of the program's own three does? Terminals and /dev/null have no reader that could be
// deceived.
bool is_of_the_program(int fd) {
  struct stat status {
  }, own{};
  if (fd <= STDERR_FILENO) return true;
  if (::fstat(fd, &status) != 0 || S_ISCHR(status.st_mode)) return false;
  for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
    if (::fstat(i, &own) == 0 && own.st_dev == status.st_dev && own.st_ino == status.st_ino) return true;
  return false;
}

Result<void> check_status_fd(int fd) {
  if (fd < 0) return {};
  if (is_of_the_program(fd))
    return fail("usage", fmt::format("descriptor {} is the program's too: it could forge the status", fd),
                "give the status a file or a pipe of its own: --status-fd 3 3>status.json");
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
    return fail("usage", fmt::format("--status-fd {} is not open for writing", fd),
                "open it in the shell: --status-fd 3 3>status.json", flags < 0 ? errno : EBADF);
  return {};
}

Result<agent::RunOptions> make_options(const RunArgs& args, const policy::Policy& policy, const Session& session) {
  agent::RunOptions options;
  options.name = args.name;
  options.argv = session.command;
  options.workspace = args.workspace;
  if (!args.user.empty()) {
    auto user = parse_user(args.user);
    if (!user) return tl::unexpected<Error>(user.error());
    options.user = std::move(*user);
  } else if (!policy.launch.user && args.socket.empty()) {
    auto user = caller_of_sudo();
    if (!user) return tl::unexpected<Error>(user.error());
    options.user = std::move(*user);
  }
  const std::vector<std::string> own = env_strings(environ);
  std::vector<std::string> inherited = own;
  const auto& user = options.user ? options.user : policy.launch.user;
  if (options.user || (user && user->uid != ::geteuid())) inherited = of_user(std::move(inherited), user->uid);
  auto environment = build_env(policy.env, inherited, args.env, own);
  if (!environment) return tl::unexpected<Error>(environment.error());
  options.env = std::move(*environment);
  options.timeout = policy.limits.timeout;
  if (!args.timeout.empty()) {
    auto timeout = parse_timeout(args.timeout);
    if (!timeout) return tl::unexpected<Error>(timeout.error());
    options.timeout = earlier(options.timeout, *timeout);
  }
  return options;
}

// As event_json() has it.
void tell_event(const Json& event, const RunArgs& args, Voice& voice) {
  if (!args.quiet) voice.say(verdict_text(verdict_in(event), text_in(event, "text")), Outlet::Weight::ordinary);
  voice.status([&] { return Json{{"event", event}}; }, Outlet::Weight::ordinary);
}

// Which events were told as they came. The log, which is read at the end, has the latest with all their equals.
class ToldEvents {
 public:
  void add(const Json& event) {
    times_[number_in(event, "boot_ns")] += number_in(event, "times");
    if (times_.size() > kMost) times_.erase(times_.begin());
  }
  // What is left to be told of it.
  std::optional<Json> rest_of(Json event) const {
    const std::uint64_t when = number_in(event, "boot_ns"), times = number_in(event, "times");
    const auto told = times_.find(when);
    if (told == times_.end()) {
      const bool forgotten = times_.size() == kMost && when < times_.begin()->first;
      return forgotten ? std::nullopt : std::optional(std::move(event));
    }
    if (times <= told->second) return std::nullopt;
    event["times"] = times - told->second;
    return event;
  }

 private:
  static constexpr std::size_t kMost = 16384;     // more than the log holds
  std::map<std::uint64_t, std::uint64_t> times_;  // by when they were
};

// By way of sbpfd: it alone may make sandboxes for who is not root.
Result<int> run_by_service(const RunArgs& args, const policy::Policy& policy, agent::RunOptions& options,
                           Voice& voice) {
  if (!args.user.empty()) return fail("usage", "--user is for root", "leave it out: the program runs as its caller");
  if (args.workspace && ::geteuid() == 0)
    return fail("usage", "--workspace is not for root by way of sbpfd", "leave --socket out: root needs no service");
  DenialSummary denials(&policy);
  std::function<void(const Json&)> on_denial, on_event;  // to read them costs sbpfd a process each
  ToldEvents told;
  if (args.events)
    on_event = [&](const Json& event) {
      told.add(event);
      tell_event(event, args, voice);
    };
  if (args.events || !args.quiet || voice.has_status())
    on_denial = [&](const Json& event) {
      denials.add(event);
      if (!args.events) return;
      if (const auto rest = told.rest_of(event)) tell_event(*rest, args, voice);
    };
  options.on_warning = [&](const std::string& text) { voice.say(fmt::format("warning: {}", printable(text))); };
  auto result = run_as_user(
      policy, options, args.socket.empty() ? usual_socket() : args.socket,
      [&](const Json& status) {
        voice.say(printable(headline(status)));
        if (status.value("loopback", "") == "closed") voice.say(kLoopbackClosed);
        voice.status([&] { return status; });
      },
      on_denial, on_event);
  if (!result) return tl::unexpected<Error>(result.error());
  return tell_result(*result, denials, args.quiet, voice);
}

Result<int> run_here(const RunArgs& args, const policy::Policy& policy, agent::RunOptions& options, Voice& voice) {
  DenialSummary denials(&policy);
  options.on_warning = [&](const std::string& text) { voice.say(fmt::format("warning: {}", printable(text))); };
  options.on_active = [&](const agent::Status& status) {
    voice.say(headline(status));
    voice.status([&] { return status_json(status); });
    voice.settle();
  };
  options.on_loss = [&](const agent::Status& status, const std::vector<std::string>& lost) {
    tell_loss(status, lost, voice);
  };
  options.on_pass = [&] { voice.go_on(); };
  if (args.events)
    options.on_event = [&](const agent::Event& event) {
      denials.add(event);
      tell_event(event_json(event, boot_epoch_ns()), args, voice);
    };
  auto result = agent::run(policy, options);
  if (!result) return tl::unexpected<Error>(result.error());
  // With --events each of them was counted as it came.
  if (!args.events)
    for (const agent::Event& event : result->denials) denials.add(event);
  return tell_result(*result, denials, args.quiet, voice);
}

Result<int> run(const RunArgs& args, const Session& session) {
  if (auto usable = check_status_fd(session.status_fd); !usable) return tl::unexpected<Error>(usable.error());
  if (session.command.empty())
    return fail("usage", "no command was given", "put it after two dashes: sbpf run -- COMMAND [ARG...]");
  auto loaded = load_policy(args.policy, args.more);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  auto options = make_options(args, loaded->policy, session);
  if (!options) return tl::unexpected<Error>(options.error());

  ignore_broken_pipes();  // nothing ends the watch over a running sandbox; the program gets the default back
  return agent::behind_front(*options, [&] {
    Voice voice(session.status_fd);
    if (options->user && args.user.empty())
      voice.say(fmt::format("runs as user {}, who called sudo; --user 0:0: as root", options->user->uid));
    auto code = ::geteuid() != 0 || !args.socket.empty() ? run_by_service(args, loaded->policy, *options, voice)
                                                         : run_here(args, loaded->policy, *options, voice);
    voice.finish();
    return code;
  });
}

constexpr const char* kRunFooter = R"(Examples:
  sbpf run -- python3 untrusted.py                       no network at all
  sbpf run --policy ./task.yaml --timeout 10m -- make test
  sbpf run -p untrusted --workspace ./job7 -- ./job      ./job7 is /workspace
  sbpf run -p untrusted --read ./data --connect pypi.org:443 -- ./job
  sbpf run --status-fd 3 --quiet -- ./job 3>status.json  for programs

The policy is in the kernel, read back and proven by a canary before the first instruction runs; if that fails,
nothing runs and the exit code is 125. The program gets the variables of process.env and of --env, and no others.
--status-fd receives one JSON object a line: the status (as `sbpf status --json`), then {"loss":...} and
{"event":...} as they come, {"untold":N} where the reader was too slow for N of them, and {"exit": {"code", "signal",
"timed_out", "reasons", "usage", "denials", "would_deny", "lost_events"}}; or, if the program was not run,
{"error": {"code", "message", "hint", "domain", "retryable"}}. "reasons" say what ended the program or held it back
(sbpf(1) has their codes), and so do lines on stderr.
Users other than root need sbpfd and membership in its group: docs/SERVICE.md.)";

}  // namespace

void add_run(CLI::App& app, Session& session) {
  auto args = std::make_shared<RunArgs>();
  CLI::App* sub = app.add_subcommand("run", "Run a program in a new sandbox");
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file (default: no-network)")
      ->check(refuse_empty)
      ->type_name("POLICY");
  sub->add_option("-n,--name", args->name, "Name of the sandbox (default: sbpf makes one up)")
      ->check(refuse_empty)
      ->type_name("NAME");
  sub->add_option("-t,--timeout", args->timeout,
                  "Kill all its processes after this time (500ms, 90s, 10m); the policy's limit if less")
      ->check(refuse_empty)
      ->type_name("TIME");
  sub->add_option("-u,--user", args->user,
                  "Run it as this user, instead of process.user (UID:GID or a name), with the user's HOME")
      ->check(refuse_empty)
      ->type_name("USER");
  sub->add_option("-e,--env", args->env,
                  "Give the program this variable; by NAME alone, with the value that sbpf has; repeatable")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  for (const auto& [name, into, what] :
       {std::tuple{"--read", &args->more.read, "Let it read this path, beside what the policy allows; repeatable"},
        std::tuple{"--write", &args->more.write, "Let it write, create and delete beneath this path; repeatable"},
        std::tuple{"--connect", &args->more.connect, "Let it connect to this endpoint by TCP; repeatable"}})
    sub->add_option(name, *into, what)
        ->type_name(into == &args->more.connect ? "HOST:PORT" : "PATH")
        ->allow_extra_args(false);
  sub->add_option("--workspace", args->workspace, "Have this directory be /workspace in the sandbox, and begin there")
      ->type_name("DIR");
  sub->add_option("--status-fd", session.status_fd, "Write status, end and errors to this descriptor as JSON lines")
      ->type_name("FD");
  sub->add_option("--socket", args->socket,
                  "Run through the sbpfd at this socket (default for users other than root: $SBPF_SOCKET, else "
                  "/run/sbpf/api.sock)")
      ->check(refuse_empty)
      ->type_name("PATH");
  sub->add_flag("--events", args->events, "Show each denial as it happens");
  sub->add_flag("-q,--quiet", args->quiet, "Say nothing about denials");
  sub->footer(kRunFooter);
  sub->callback([args, &session] { session.action = [args, &session] { return run(*args, session); }; });
}

}  // namespace sbpf::cli
