// SPDX-License-Identifier: Apache-2.0
// `sbpf learn`: runs a command again and again, each time under a policy that allows what the run before was denied,
// until nothing more is to be allowed. No run is without a policy, so the last one is the proof.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "agent/dns/resolver_rules.h"
#include "agent/launch/supervisor.h"
#include "agent/launch/waiting_child.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/memory_file.h"
#include "cli/commands.h"
#include "cli/input.h"
#include "cli/lesson.h"
#include "policy/advice.h"
#include "policy/filesystem.h"

namespace sbpf::cli {
namespace {

struct LearnArgs {
  std::string policy = "untrusted";
  std::string output;
  std::string user;
  std::string socket;
  std::optional<std::string> workspace;
  std::vector<std::string> env;
  unsigned most_runs = 20;
};

// What one run said to its status descriptor.
struct Run {
  int exit_code = 0;
  std::vector<Json> events;
  std::vector<std::string> reasons;  // why it ended, or what held it back
  std::optional<Error> error;        // it was not run
  bool lost = false;                 // not all events are there
};

Result<Fd> text_file(const std::string& text) {
  Fd file = memory_file("policy", text);
  if (file && ::fcntl(file.get(), F_SETFD, 0) == 0) return file;  // the run inherits it
  return fail("spawn", "cannot hand over the policy", "", errno);
}

void take_line(Run& run, const std::string& line) {
  const Json said = Json::parse(line, nullptr, false);
  if (!said.is_object()) return;
  if (said.contains("event")) run.events.push_back(said["event"]);
  if (said.contains("untold")) run.lost = true;
  if (said.contains("loss"))
    run.error = Error{"isolation_not_active", "isolation was lost", "`sbpf preflight`", 0, "", false};
  if (said.contains("error"))
    run.error = Error{"sbpf", text_in(said["error"], "message"), text_in(said["error"], "hint"), 0, "", false};
  if (!said.contains("exit")) return;
  const Json& end = said["exit"];
  run.lost = run.lost || end.value("lost_events", Json(0)) != 0 || end.value("denials", Json(nullptr)).is_null();
  for (const Json& reason : end.value("reasons", Json::array())) run.reasons.push_back(text_in(reason, "text"));
}

// The words of `sbpf run`, whose policy and status have these descriptors.
std::vector<std::string> words_of(const LearnArgs& args, const Session& session, int policy, int status) {
  std::vector<std::string> words = {"sbpf",        "run",
                                    "-q",          "--events",
                                    "--status-fd", std::to_string(status),
                                    "-p",          fmt::format("/proc/self/fd/{}", policy)};
  for (const auto& [option, value] : {std::pair{"--user", &args.user}, {"--socket", &args.socket}})
    if (!value->empty()) words.insert(words.end(), {option, *value});
  if (args.workspace) words.insert(words.end(), {"--workspace", *args.workspace});
  for (const std::string& one : args.env) words.insert(words.end(), {"--env", one});
  words.emplace_back("--");
  words.insert(words.end(), session.command.begin(), session.command.end());
  return words;
}

// A signal of the terminal is for the program; whoever waits for it goes on.
class NoInterrupts {
 public:
  NoInterrupts() : interrupt_(std::signal(SIGINT, SIG_IGN)), quit_(std::signal(SIGQUIT, SIG_IGN)) {}
  ~NoInterrupts() {
    (void)std::signal(SIGINT, interrupt_);
    (void)std::signal(SIGQUIT, quit_);
  }
  NoInterrupts(const NoInterrupts&) = delete;
  NoInterrupts& operator=(const NoInterrupts&) = delete;

 private:
  void (*interrupt_)(int);
  void (*quit_)(int);
};

Result<pid_t> start(const std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGINT);
  sigaddset(&defaults, SIGQUIT);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return fail("spawn", "cannot start `sbpf run`", "", error);
}

Result<Run> run_under(const policy::Policy& policy, const LearnArgs& args, const Session& session) {
  auto text = text_file(policy::canonical(policy));
  if (!text) return tl::unexpected<Error>(text.error());
  int ends[2];
  if (::pipe(ends) != 0) return fail("spawn", "cannot make a pipe", "", errno);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  ::fcntl(reader.get(), F_SETFD, FD_CLOEXEC);
  const NoInterrupts quiet;
  auto pid = start(words_of(args, session, text->get(), writer.get()));
  if (!pid) return tl::unexpected<Error>(pid.error());
  writer.reset();
  Run run;
  constexpr std::size_t kMost = 64u << 20;
  std::string said = read_up_to(reader, kMost).value_or("");
  run.lost = said.size() >= kMost;
  for (std::size_t begin = 0, end = 0; (end = said.find('\n', begin)) != std::string::npos; begin = end + 1)
    take_line(run, said.substr(begin, end - begin));
  int status = 0;
  while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) {
  }
  run.exit_code = agent::exit_code_of(status);
  return run;
}

// What is learnt so far: `change` is over the base.
struct Learnt {
  std::string reference;  // of the base
  policy::Policy base, policy;
  std::string change;
  std::vector<std::string> opened;
  std::vector<Withheld> withheld;
  bool hears_names = true;  // false: a resolver cannot be had
};

// Without names in a policy a query is denied like any datagram, and nobody hears which name it was for. With one that
// leads nowhere (RFC 2606) a run has a resolver, which refuses all others by their names.
policy::Policy heard(const Learnt& learnt) {
  const auto& network = learnt.policy.network;
  if (!learnt.hears_names || !network.hosts.empty() || network.dangerously_allow_all) return learnt.policy;
  return policy::with_change(learnt.policy, "network: {connect: [{host: nothing.invalid, ports: [443]}]}")
      .value_or(learnt.policy);
}

// A program that may not be executed is one more denial.
bool was_run(const Run& run) { return !run.error || run.exit_code == 126 || run.exit_code == 127; }

// Where no resolver can be had, as with a name server of loopback that the policy lists, it is run without.
Result<Run> run_learnt(Learnt& learnt, const LearnArgs& args, const Session& session) {
  auto run = run_under(heard(learnt), args, session);
  if (!run || was_run(*run) || !learnt.hears_names) return run;
  learnt.hears_names = false;
  return run_under(learnt.policy, args, session);
}

// Under an audit every run is green, and nothing is withheld from the command.
Result<Learnt> check_enforced(Learnt learnt) {
  if (learnt.policy.mode == policy::Mode::enforce) return learnt;
  return fail("usage",
              fmt::format("the policy {} only audits: nothing is learnt without enforcement", learnt.reference),
              "remove `mode: audit`");
}

Result<Learnt> begin(const LearnArgs& args) {
  Learnt learnt;
  learnt.reference = args.policy;
  const auto before = args.output.empty() ? std::nullopt : read_up_to(args.output, policy::kMaxTextBytes);
  if (before) {
    const auto extension = policy::read_extension(*before);
    if (!extension)
      return fail("usage",
                  fmt::format("{} is no policy that `sbpf learn` wrote: it does not extend one other", args.output),
                  "name a new file");
    if (extension->change.find("dangerously_") != std::string::npos)
      return fail("usage",
                  fmt::format("{} has a key that begins with dangerously_, which is never learnt", args.output),
                  "write it into the policy that this one extends, if it is to be");
    learnt.reference = extension->base;
    learnt.change = extension->change;
  }
  auto base = load_policy(learnt.reference);
  if (!base) return tl::unexpected<Error>(base.error());
  learnt.policy = learnt.base = std::move(base->policy);
  learnt.hears_names = learnt.base.network.resolver || !agent::upstreams_of(read_file("/etc/resolv.conf")).empty();
  if (learnt.change.empty()) return check_enforced(std::move(learnt));
  auto changed = policy::with_change(learnt.base, learnt.change);
  if (!changed) return fail("usage", fmt::format("{} is no valid policy", args.output), "`sbpf policy check` says why");
  learnt.policy = std::move(*changed);
  return check_enforced(std::move(learnt));
}

// Puts over the policy what the run was denied. False: there was nothing to put.
bool take_lesson(Learnt& learnt, Run& run) {
  Lesson lesson = learn_from(learnt.policy, run.events, ::geteuid() == 0 || !agent::find_sbpf_enter().empty());
  run.lost = run.lost || !lesson.whole;
  std::vector<std::string> changes = {learnt.change};
  if (learnt.change.empty()) changes.clear();
  changes.insert(changes.end(), lesson.changes.begin(), lesson.changes.end());
  policy::Combined all = policy::combine(learnt.base, changes);
  for (const std::string& one : all.left_out)
    lesson.withheld.push_back({"sbpf: " + one, "no valid policy has it beside the rest", ""});
  add_withheld(learnt.withheld, std::move(lesson.withheld));
  auto changed = policy::with_change(learnt.base, all.change);
  if (!changed) return false;
  if (policy::canonical(*changed) == policy::canonical(learnt.policy) || all.change == learnt.change) return false;
  learnt.opened.insert(learnt.opened.end(), lesson.opened.begin(), lesson.opened.end());
  learnt.change = std::move(all.change);
  learnt.policy = std::move(*changed);
  return true;
}

// The file's name, as far as a policy can have it.
std::string name_of(const std::string& file) {
  std::string name = std::filesystem::path(file).stem().string().substr(0, 48);
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '_'; });
  return name.empty() ? "learnt" : name;
}

std::string policy_text(const Learnt& learnt, const LearnArgs& args) {
  const std::string& reference = learnt.reference;
  const bool is_file = reference.find('/') != std::string::npos || reference.ends_with(".yaml");
  const Json base = is_file ? std::filesystem::absolute(reference).string() : reference;
  return fmt::format(
      "# By `sbpf learn`, which merges into this file what it learns next.\nversion: 1\nname: \"{}\"\nextends: [{}]\n{}",
      name_of(args.output), dump(base), policy::in_lines(learnt.change));
}

// The file to write, in the directory that is there before the command runs: it may put another in its place.
struct Output {
  Fd directory;
  std::string name;
};

Result<Output> open_output(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path);
  Output output{Fd(::open(whole.parent_path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)), whole.filename()};
  if (output.directory && !output.name.empty()) return output;
  return fail("usage", SystemError{errno, "name a file in a directory that is there"}, "cannot write {}", path);
}

Result<void> write_policy(const Output& output, const std::string& text) {
  const int directory = output.directory.get();
  const std::string fresh = fmt::format(".{}.{}", output.name, ::getpid());
  const Fd file(::openat(directory, fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (file && write_all(file.get(), text) && ::renameat(directory, fresh.c_str(), directory, output.name.c_str()) == 0)
    return {};
  const int error = errno;
  if (file) (void)::unlinkat(directory, fresh.c_str(), 0);
  return fail("write_failed", SystemError{error, ""}, "cannot write {}", output.name);
}

// May the command itself write its policy? Who learns on from there would take its word.
bool may_be_written(const Learnt& learnt, const std::string& path) {
  if (path.empty()) return false;
  const std::string whole = std::filesystem::absolute(path).lexically_normal();
  return policy::explain_path(learnt.policy, policy::FsOperation::write, whole).allowed;
}

// What is withheld is asked for one by one, of a person, and once.
void ask(Learnt& learnt, std::set<std::string>& asked) {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0) return;
  std::vector<std::string> changes;
  if (!learnt.change.empty()) changes.push_back(learnt.change);
  std::erase_if(learnt.withheld, [&](const Withheld& one) {
    if (one.change.empty() || !asked.insert(one.change).second) return false;
    const std::string question =
        fmt::format("{}\n{}A person decides: {}. Allow it? [y/N] ", one.line, remedy_lines(one.change, ""), one.why);
    if (!agrees(question)) return false;
    changes.push_back(one.change);
    return true;
  });
  learnt.change = policy::combine(learnt.base, changes).change;
  if (auto changed = policy::with_change(learnt.base, learnt.change)) learnt.policy = std::move(*changed);
}

void tell_result(const Learnt& learnt, const Run& last, unsigned runs, bool green) {
  tell(green
           ? fmt::format("green: of {} runs the last ended with 0 and was denied nothing that it may be allowed", runs)
           : fmt::format("NOT green: the last of {} runs ended with {}", runs, last.exit_code));
  for (const std::string& reason : last.reasons) tell(printable(reason));
  if (!green && learnt.policy.network.loopback == policy::Loopback::private_namespace)
    tell("on a loopback of its own it finds no service of the host's but those that network.connect lists");
  if (last.lost) tell("there were more denials than are told here: some were lost, or are too many to be looked at");
  for (const std::string& one : learnt.opened) tell(printable("opened: " + one));
  for (const Withheld& one : learnt.withheld) {
    (void)write_line(STDERR_FILENO, one.line);
    (void)write_line(STDERR_FILENO, fmt::format("  stays denied, and a person decides: {}", one.why));
    (void)write_all(STDERR_FILENO, remedy_lines(one.change, ""));
  }
  tell(learnt.change.empty() ? fmt::format("the policy {} allows all that was asked for", printable(learnt.reference))
                             : fmt::format("beside what {} allows:", printable(learnt.reference)));
  if (!learnt.change.empty()) (void)write_all(STDERR_FILENO, remedy_lines(learnt.change, ""));
}

Result<int> learn(const LearnArgs& args, const Session& session) {
  if (session.command.empty())
    return fail("usage", "no command was given", "put it after two dashes: sbpf learn -- COMMAND [ARG...]");
  auto learnt = begin(args);
  if (!learnt) return tl::unexpected<Error>(learnt.error());
  Output output;
  if (!args.output.empty()) {
    auto opened = open_output(args.output);
    if (!opened) return tl::unexpected<Error>(opened.error());
    output = std::move(*opened);
  }
  Result<Run> run;
  unsigned runs = 0;
  bool more = true;
  std::set<std::string> asked;
  while (more && runs < args.most_runs) {
    runs++;
    tell(fmt::format("run {}{}", runs, runs == 1 ? "" : ", under what was learnt"));
    run = run_learnt(*learnt, args, session);
    if (!run) return tl::unexpected<Error>(run.error());
    if (!was_run(*run)) return tl::unexpected<Error>(*run->error);
    if (run->exit_code == 128 + SIGINT) return fail("interrupted", "interrupted: nothing was written");
    more = take_lesson(*learnt, *run);
    if (more) continue;
    const std::string before = learnt->change;
    ask(*learnt, asked);
    more = learnt->change != before;
  }
  const bool green = !more && run->exit_code == 0 && !run->lost;
  if (!args.output.empty() && !learnt->change.empty())
    if (auto written = write_policy(output, policy_text(*learnt, args)); !written)
      return tl::unexpected<Error>(written.error());
  if (may_be_written(*learnt, args.output))
    tell(fmt::format("the command may write {} itself: keep it elsewhere before it is learnt from again",
                     printable(args.output)));
  tell_result(*learnt, *run, runs, green);
  return green ? kExitOk : kExitDenied;
}

constexpr const char* kLearnFooter = R"(Examples:
  sbpf learn -o task.yaml -- make test
  sbpf learn -p python-dev -o tests.yaml -- pytest

The command runs again and again, each time enforced: under POLICY, and what the runs before it were denied is
allowed. It ends when a run is denied nothing more that may be allowed, and that run is the proof: exit code 0 if it
was green, 1 if not. Where FILE is there, it is where the learning begins, so that several commands share a policy.

It is for a command that is to be trusted: what it asks for it gets in the next run. Several files of a directory
become the directory, and what else that opens is said. What may hold secrets, what the host may run, services behind
socket files and interfaces of the kernel are asked for one by one, or stay denied where nobody can be asked; so does
what a rule of POLICY denies. What only a key that begins with dangerously_ allows is never learnt.)";

}  // namespace

void add_learn(CLI::App& app, Session& session) {
  auto args = std::make_shared<LearnArgs>();
  CLI::App* sub = app.add_subcommand("learn", "Find the policy that a command needs, by running it");
  sub->add_option("-p,--policy", args->policy, "Policy to begin with (default: untrusted)")
      ->check(refuse_empty)
      ->type_name("POLICY");
  sub->add_option("-o,--output", args->output, "Write what was learnt to this file, or merge it into it")
      ->type_name("FILE");
  sub->add_option("--most-runs", args->most_runs, "Give up after so many runs (default: 20)")
      ->type_name("N")
      ->check(CLI::Range(1, 1000));
  sub->add_option("-u,--user", args->user, "As of `sbpf run`")->check(refuse_empty)->type_name("USER");
  sub->add_option("-e,--env", args->env, "As of `sbpf run`")->type_name("NAME[=VALUE]")->allow_extra_args(false);
  sub->add_option("--workspace", args->workspace, "As of `sbpf run`")->type_name("DIR");
  sub->add_option("--socket", args->socket, "As of `sbpf run`")->check(refuse_empty)->type_name("PATH");
  sub->footer(kLearnFooter);
  sub->callback([args, &session] { session.action = [args, &session] { return learn(*args, session); }; });
}

}  // namespace sbpf::cli
