// SPDX-License-Identifier: Apache-2.0
// `sbpf adopt`: for sbpfd, which runs it for each POST /v1/runs. Not in --help: a person has `sbpf run`.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>

#include "agent/agent.h"
#include "agent/launch/supervisor.h"
#include "base/fd.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct AdoptArgs {
  agent::AdoptOptions options;
  std::string policy, within;
};

// A helper is the child of a process that stays for as long as the sandbox: of another one than sbpfd waits for.
// Returns in that one, and gives what answered() takes; the other ends here, with its exit code.
Result<Fd> stay_behind() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("spawn", "cannot make a pipe", "", errno);
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const pid_t parent = ::getpid(), pid = ::fork();
  if (pid < 0) return fail("spawn", "cannot start a process", "raise TasksMax= of the service", errno);
  if (pid == 0) {
    // Until it has answered it ends as that one does: nobody would know of what it made.
    if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || ::getppid() != parent) ::_exit(125);
    return writer;
  }
  writer.reset();
  unsigned char code = 0;
  if (::read(reader.get(), &code, 1) == 1) ::_exit(code);
  int status = 0;
  ::waitpid(pid, &status, 0);
  ::_exit(agent::exit_code_of(status));
}

// The answer is written: whoever waits for this one's streams to end need not wait any longer.
void answered(const Fd& writer, int exit_code) {
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; fd < 3; fd++) ::dup2(null.get(), fd);
  ::prctl(PR_SET_PDEATHSIG, 0);
  const auto code = static_cast<unsigned char>(exit_code);
  (void)!::write(writer.get(), &code, 1);
}

// For POST /v1/sandboxes/NAME/processes: by one of the two that agent.h has for it.
template <typename Adopt>
Result<int> adopt_live(const AdoptArgs& args, const Session& session, const Adopt& adopt) {
  Result<int> code = 0;
  agent::AdoptOptions options = args.options;
  options.on_adopted = [&](const agent::Status& status) { code = print_change(status, session.json, false); };
  if (auto adopted = adopt(options); !adopted) return tl::unexpected<Error>(adopted.error());
  return code;
}

Result<int> adopt(const AdoptArgs& args, const Session& session) {
  if (args.policy.empty()) return adopt_live(args, session, agent::adopt_into_live);
  // Its process sets the seccomp filters itself. A path in the policy is a user's word, and is not read with root's
  // rights.
  auto loaded = load_policy(args.policy, false);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  if (!args.within.empty())
    return adopt_live(args, session, [&](const agent::AdoptOptions& options) {
      return agent::adopt_under(args.within, std::move(loaded->policy), options);
    });
  Fd waiter;
  if (agent::needs_helpers(loaded->policy)) {
    auto behind = stay_behind();
    if (!behind) return tl::unexpected<Error>(behind.error());
    waiter = std::move(*behind);
  }
  Result<int> code = 0;
  agent::AdoptOptions options = args.options;
  options.on_adopted = [&](const agent::Status& status) {
    code = print_change(status, session.json, false);
    if (waiter) answered(waiter, code.value_or(125));
  };
  if (auto adopted = agent::adopt(loaded->policy, options); !adopted) return tl::unexpected<Error>(adopted.error());
  return code;
}

}  // namespace

void add_adopt(CLI::App& app, Session& session) {
  auto args = std::make_shared<AdoptArgs>();
  CLI::App* sub = app.add_subcommand("adopt", "Put another user's waiting process into a new sandbox (for sbpfd)");
  sub->group("");  // hidden
  sub->add_option("--name", args->options.name, "Name of the sandbox")->required();
  sub->add_option("--policy", args->policy, "Policy: a profile's name or a file (default: NAME is live)");
  sub->add_option("--within", args->within, "The live sandbox in which the new one is to be");
  sub->add_option("--pidfd", args->options.pidfd, "Descriptor of the process")->required();
  sub->add_option("--uid", args->options.uid, "Whose process it must be")->required();
  sub->add_option("--gid", args->options.gid, "Whose process it must be")->required();
  sub->add_option("--parent", args->options.parent, "Whose child it must be")->required();
  sub->add_flag("--json", session.json, "Print the status as JSON");
  sub->callback([args, &session] { session.action = [args, &session] { return adopt(*args, session); }; });
}

}  // namespace sbpf::cli
