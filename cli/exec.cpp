// SPDX-License-Identifier: Apache-2.0
// `sbpf exec`: another program in a sandbox that runs already.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <memory>

#include "agent/agent.h"
#include "agent/launch/job_control.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/denial_summary.h"
#include "cli/format.h"
#include "cli/input.h"
#include "cli/run_user.h"
#include "cli/service_client.h"
#include "cli/voice.h"

namespace sbpf::cli {
namespace {

struct ExecArgs {
  std::string name;
  std::optional<std::string> policy;  // beside that of the sandbox
  std::string user;
  std::string socket;  // of sbpfd; "": the usual one, for users other than root
  std::vector<std::string> env;
  bool quiet = false;
};

Result<agent::ExecOptions> make_options(const ExecArgs& args, const Session& session) {
  agent::ExecOptions options;
  options.argv = session.command;
  if (!args.user.empty()) {
    auto user = parse_user(args.user);
    if (!user) return tl::unexpected<Error>(user.error());
    options.user = std::move(*user);
  }
  options.read_files = read_seccomp_profile;
  options.environment = [&args](const policy::Policy& policy, const policy::User& user) {
    const std::vector<std::string> own = env_strings(environ);
    return build_env(policy.env, user.uid == ::geteuid() ? own : of_user(own, user.uid), args.env, own);
  };
  if (!args.quiet) options.on_active = [](const agent::Status& status) { tell(headline(status)); };
  return options;
}

void tell_end(const ExecArgs& args, const agent::ExecResult& result) {
  if (args.quiet) return;
  if (result.sandbox_ended) tell(fmt::format("killed: sandbox {} ended", printable(args.name)));
  if (result.denied > 0)
    tell(fmt::format("{} denials in {} meanwhile: sbpf events {}", result.denied, printable(args.name),
                     printable(args.name)));
}

// The policy of the program's own, and what is told of it.
class Under {
 public:
  Under(const ExecArgs& args, LoadedPolicy loaded) : args_(args), loaded_(std::move(loaded)) {
    supervised.timeout = policy().limits.timeout;
    supervised.on_warning = [this](const std::string& text) {
      voice_.say(fmt::format("warning: {}", printable(text)));
    };
    supervised.on_active = [this](const agent::Status& status) { tell_active(status_json(status)); };
    supervised.on_loss = [this](const agent::Status& status, const std::vector<std::string>& lost) {
      tell_loss(status, lost, voice_);
    };
    supervised.on_pass = [this] { voice_.go_on(); };
  }
  const policy::Policy& policy() const { return loaded_.policy; }
  void tell_active(const Json& status) {
    if (!args_.quiet) voice_.say(printable(headline(status)));
    if (!args_.quiet && status.value("loopback", "") == "closed") voice_.say(kLoopbackClosed);
    voice_.settle();
  }
  Result<int> end(const agent::RunResult& result) {
    auto code = tell_result(result, denials, args_.quiet, voice_);
    voice_.finish();
    return code;
  }
  agent::RunOptions supervised;
  DenialSummary denials{&loaded_.policy};

 private:
  const ExecArgs& args_;
  LoadedPolicy loaded_;
  Voice voice_{-1};
};

Result<int> exec_under(const ExecArgs& args, const agent::ExecOptions& options, Under& under) {
  const auto result = agent::exec_under(args.name, under.policy(), options, under.supervised);
  if (!result) return tl::unexpected<Error>(result.error());
  for (const agent::Event& event : result->program.denials) under.denials.add(event);
  auto code = under.end(result->program);
  tell_end(args, result->sandbox);
  return code;
}

// sbpfd moves the process into the sandbox, which users other than root may not.
struct ByService {
  std::string socket;
  UsersPolicy in_force;
};

Result<ByService> ask_service(const ExecArgs& args, const agent::ExecOptions& options) {
  if (!args.user.empty()) return fail("usage", "--user is for root", "leave it out: the program runs as its caller");
  const std::string socket = args.socket.empty() ? usual_socket() : args.socket;
  auto in_force = policy_of_user(args.name, socket);
  if (!in_force) return tl::unexpected<Error>(in_force.error());
  if (auto read = options.read_files(in_force->policy); !read) return tl::unexpected<Error>(read.error());
  return ByService{socket, std::move(*in_force)};
}

Result<agent::ExecResult> exec_by_service(const ExecArgs& args, const agent::ExecOptions& options) {
  const auto by = ask_service(args, options);
  if (!by) return tl::unexpected<Error>(by.error());
  return exec_as_user(args.name, by->in_force, options, by->socket, [&args](const Json& status) {
    if (!args.quiet) tell(printable(headline(status)));
  });
}

Result<int> exec_under_by_service(const ExecArgs& args, const agent::ExecOptions& options, Under& under) {
  const auto by = ask_service(args, options);
  if (!by) return tl::unexpected<Error>(by.error());
  std::function<void(const Json&)> on_denial;  // to read them costs sbpfd a process
  if (!args.quiet) on_denial = [&](const Json& event) { under.denials.add(event); };
  const auto result = exec_under_as_user(
      args.name, by->in_force, under.policy(), options, under.supervised, by->socket,
      [&](const Json& status) { under.tell_active(status); }, on_denial);
  if (!result) return tl::unexpected<Error>(result.error());
  return under.end(*result);
}

// With a policy of the program's own.
Result<int> exec_under(const ExecArgs& args, const agent::ExecOptions& options, bool by_service) {
  auto loaded = load_policy(*args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  Under under(args, std::move(*loaded));
  return agent::behind_front(under.supervised, [&] {
    return by_service ? exec_under_by_service(args, options, under) : exec_under(args, options, under);
  });
}

Result<int> exec(const ExecArgs& args, const Session& session) {
  if (session.command.empty())
    return fail("usage", "no command was given", "put it after two dashes: sbpf exec NAME -- COMMAND [ARG...]");
  auto options = make_options(args, session);
  if (!options) return tl::unexpected<Error>(options.error());
  ignore_broken_pipes();
  const bool by_service = ::geteuid() != 0 || !args.socket.empty();
  if (args.policy) return exec_under(args, *options, by_service);
  return agent::behind_front(*options, [&]() -> Result<int> {
    auto result = by_service ? exec_by_service(args, *options) : agent::exec(args.name, *options);
    if (!result) return tl::unexpected<Error>(result.error());
    tell_end(args, *result);
    if (result->not_started) return tl::unexpected<Error>(*result->not_started);
    return result->exit_code;
  });
}

constexpr const char* kExecFooter = R"(Examples:
  sbpf exec task-7 -- ps -ef
  sbpf exec -u 1000:1000 task-7 -- sh
  sbpf exec --policy no-network task-7 -- ./tool  may do less than the rest

For sandboxes that `sbpf run` made. The program begins as the sandbox's own began: by the policy in force, as its
user, in its places and its working directory, confined from the first instruction. Secrets of the policy are not
handed over again. Users other than root have their own runs, by way of sbpfd. Nothing is started where isolation is
not active; the exit code is then 125. What the program leaves running goes on until the sandbox ends.

With --policy the program is in a sandbox of its own within the other. Both policies are asked, so it can only do less.
What it leaves running is killed.)";

}  // namespace

void add_exec(CLI::App& app, Session& session) {
  auto args = std::make_shared<ExecArgs>();
  CLI::App* sub = app.add_subcommand("exec", "Run another program in a live sandbox");
  sub->add_option("NAME", args->name, "The sandbox")->required();
  sub->add_option("-p,--policy", args->policy,
                  "Put it under this policy, too, beside that of the sandbox: a profile's name or a file")
      ->check(refuse_empty)
      ->type_name("POLICY");
  sub->add_option("-u,--user", args->user, "Run it as this user (UID:GID or a name), with the user's HOME")
      ->check(refuse_empty)
      ->type_name("USER");
  sub->add_option("-e,--env", args->env,
                  "Give the program this variable; by NAME alone, with the value that sbpf has; repeatable")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  sub->add_option("--socket", args->socket,
                  "Go through the sbpfd at this socket (default for users other than root: $SBPF_SOCKET, else "
                  "/run/sbpf/api.sock)")
      ->check(refuse_empty)
      ->type_name("PATH");
  sub->add_flag("-q,--quiet", args->quiet, "Say nothing but errors");
  sub->footer(kExecFooter);
  sub->callback([args, &session] { session.action = [args, &session] { return exec(*args, session); }; });
}

}  // namespace sbpf::cli
