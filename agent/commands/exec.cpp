// SPDX-License-Identifier: Apache-2.0
// `sbpf exec`: another program in a sandbox that runs already.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <numeric>
#include <sstream>

#include "agent/agent.h"
#include "agent/commands/exec_parts.h"
#include "agent/files/namespaces.h"
#include "agent/host/fdinfo.h"
#include "agent/host/network_namespace.h"
#include "agent/launch/seccomp_ready.h"
#include "agent/launch/secrets.h"
#include "agent/launch/spawn.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/journal.h"
#include "base/child.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

// The program's ids, by /proc/PID/status.
Result<policy::User> user_of(pid_t pid) {
  const std::string text = read_file(fmt::format("/proc/{}/status", pid));
  const auto uid = fdinfo_number(text, "Uid:"), gid = fdinfo_number(text, "Gid:");
  const std::size_t groups = text.find("\nGroups:");
  if (!uid || !gid || groups == std::string::npos)
    return fail("process_gone", "the sandbox's program has ended", "`sbpf list`", ESRCH);
  policy::User user{static_cast<std::uint32_t>(*uid), static_cast<std::uint32_t>(*gid), {}};
  std::istringstream words(text.substr(groups, text.find('\n', groups + 1) - groups));
  std::string key;
  words >> key;
  for (std::uint32_t group = 0; words >> group;) user.groups.push_back(group);
  return user;
}

Result<Launch> launch_in(const policy::Policy& policy, pid_t first, const ExecOptions& options) {
  auto filters = seccomp_filters(policy.launch.seccomp, policy.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  Launch launch{privileges_of(policy), std::move(*filters)};
  if (options.user) launch.privileges.user = options.user;
  if (launch.privileges.user) return launch;
  auto user = user_of(first);
  if (!user) return tl::unexpected<Error>(user.error());
  launch.privileges.user = std::move(*user);
  return launch;
}

// This thread's stay where the sandbox's program is.
Result<NamespaceStay> go_to(const LiveSandbox& sandbox, pid_t first) {
  const std::uint64_t network = sandbox.record.own_netns;
  auto stay = NamespaceStay::in_sandbox(first, sandbox.kept.walked_paths.mounts);
  if (!stay || network == 0) return stay;
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const auto cookie = socket ? network_cookie(socket) : Result<std::uint64_t>(0);
  if (!cookie || *cookie != network)
    return fail("no_namespace", "the sandbox's program is not in the network that was made for it");
  return stay;
}

std::uint64_t denied_in(const sbpf_sandbox& record) {
  return std::accumulate(std::begin(record.denied), std::end(record.denied), std::uint64_t(0));
}

// How the program begins. What may wait for others, as a file or a directory of users, is read without the host lock.
struct Beginning {
  std::uint32_t generation;  // of the policy that it is of
  Launch launch;
  RunOptions start;
};

Result<Beginning> prepare(LiveSandbox& sandbox, const ExecOptions& options) {
  policy::Policy& policy = sandbox.kept.policy;
  const auto first = first_program(sandbox.cgroup, sandbox.kept.walked_paths.mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  if (auto read = options.read_files(policy); !read) return tl::unexpected<Error>(read.error());
  auto launch = launch_in(policy, *first, options);
  if (!launch) return tl::unexpected<Error>(launch.error());
  auto env = options.environment(policy, *launch->privileges.user);
  if (!env) return tl::unexpected<Error>(env.error());
  Beginning beginning{sandbox.image.header().generation, std::move(*launch), {}};
  beginning.start.argv = options.argv;
  beginning.start.env = std::move(*env);
  return beginning;
}

// Under the host lock: who takes the sandbox down waits meanwhile.
Result<Spawned> start_in(const Kernel& kernel, const LiveSandbox& sandbox, const Beginning& beginning) {
  if (sandbox.image.header().generation != beginning.generation)
    return fail("busy", fmt::format("sandbox {} was given another policy meanwhile", sandbox.record.name), "try again");
  if (auto fit = check_stdio_of(sandbox, {0, 1, 2}); !fit) return tl::unexpected<Error>(fit.error());
  const auto first = first_program(sandbox.cgroup, sandbox.kept.walked_paths.mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  // The process is in the sandbox before it is the program: nobody inside may look into it, as into one of root's.
  const NotDumpable not_dumpable;
  auto stay = go_to(sandbox, *first);
  if (!stay) return tl::unexpected<Error>(stay.error());
  auto program = spawn(sandbox.cgroup, beginning.launch, beginning.start);
  auto returned = stay->back();
  if (!program) return program;
  auto labelled = find_escaped_tasks(kernel, sandbox.cgroup.id());
  if (returned && labelled) return program;
  end_child(program->pid);
  return tl::unexpected<Error>(returned ? labelled.error() : returned.error());
}

}  // namespace

Result<ExecResult> exec(const std::string& name, const ExecOptions& options) {
  if (options.argv.empty()) return fail("usage", "no command was given", "sbpf exec NAME -- COMMAND");
  if (auto returns = NamespaceStay::check_way_back(); !returns) return tl::unexpected<Error>(returns.error());
  const auto proven = proven_to_start_in(name);
  if (!proven) return tl::unexpected<Error>(proven.error());
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto sandbox = find_live(*kernel, *proven);
  if (!sandbox) return tl::unexpected<Error>(sandbox.error());
  const auto beginning = prepare(*sandbox, options);
  if (!beginning) return tl::unexpected<Error>(beginning.error());
  auto host = open_locked();
  if (!host) return tl::unexpected<Error>(host.error());
  sandbox = find_live(host->kernel, *proven);
  if (!sandbox) return tl::unexpected<Error>(sandbox.error());
  const ForwardedSignals signals;
  if (options.on_active) options.on_active(*proven);
  const auto program = start_in(host->kernel, *sandbox, *beginning);
  if (!program) return tl::unexpected<Error>(program.error());
  // Not by closing it: until the program is executed its process has the same open file, and what runs inside may stop
  // it.
  if (auto others = unlock_host(host->lock); !others) return tl::unexpected<Error>(others.error());
  host->lock.reset();
  ExecResult result = wait_for_program(*program, signals, options);
  const auto now = find_record(host->kernel, sandbox->record.cgroup_id);
  result.sandbox_ended = result.signal == SIGKILL && has_ended(sandbox->cgroup);
  if (now) result.denied = denied_in(*now) - std::min(denied_in(*now), denied_in(sandbox->record));
  return result;
}

}  // namespace sbpf::agent
