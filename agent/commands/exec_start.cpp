// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/exec_start.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "agent/files/namespaces.h"
#include "agent/host/fdinfo.h"
#include "agent/host/network_namespace.h"
#include "agent/launch/launch_under.h"
#include "agent/launch/seccomp_ready.h"
#include "agent/launch/secrets.h"
#include "agent/sandbox/escaped_tasks.h"
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

Result<Launch> launch_in(const policy::Policy& policy, const policy::Policy* own, pid_t first,
                         const ExecOptions& options) {
  auto filters = seccomp_filters(policy.launch.seccomp, policy.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  Launch launch{privileges_of(policy), std::move(*filters)};
  if (own != nullptr)
    if (auto tightened = tighten(launch, *own); !tightened) return tl::unexpected<Error>(tightened.error());
  auto& user = launch.privileges.user;
  if (options.user) user = options.user;
  if (!user) {
    auto of_program = user_of(first);
    if (!of_program) return tl::unexpected<Error>(of_program.error());
    user = std::move(*of_program);
  }
  if (own == nullptr || options.user || !own->launch.user) return launch;
  if (user->uid != 0 && user->uid != own->launch.user->uid)
    return fail("usage", fmt::format("process.user: the sandbox's programs run as user {}", user->uid),
                "leave it out: the program has that user's rights, too");
  user = own->launch.user;
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

}  // namespace

Result<ExecStart> prepare_exec(const std::string& name, const ExecOptions& options, const policy::Policy* own) {
  if (options.argv.empty()) return fail("usage", "no command was given", "sbpf exec NAME -- COMMAND");
  if (auto returns = NamespaceStay::check_way_back(); !returns) return tl::unexpected<Error>(returns.error());
  auto proven = proven_to_start_in(name);
  if (!proven) return tl::unexpected<Error>(proven.error());
  const auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto sandbox = find_live(*kernel, *proven);
  if (!sandbox) return tl::unexpected<Error>(sandbox.error());
  policy::Policy& policy = sandbox->kept.policy;
  const auto first = first_program(sandbox->cgroup, sandbox->kept.walked_paths.mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  if (auto read = options.read_files(policy); !read) return tl::unexpected<Error>(read.error());
  auto launch = launch_in(policy, own, *first, options);
  if (!launch) return tl::unexpected<Error>(launch.error());
  auto env = options.environment(own != nullptr ? *own : policy, *launch->privileges.user);
  if (!env) return tl::unexpected<Error>(env.error());
  ExecStart start{std::move(*proven), sandbox->image.header().generation, std::move(*launch), {}};
  start.program.argv = options.argv;
  start.program.env = std::move(*env);
  return start;
}

Result<Spawned> start_exec(const Kernel& kernel, const LiveSandbox& sandbox, const Cgroup& cgroup,
                           const ExecStart& start) {
  if (sandbox.image.header().generation != start.generation)
    return fail("busy", fmt::format("sandbox {} was given another policy meanwhile", sandbox.record.name), "try again");
  if (auto fit = check_stdio_of(sandbox, {0, 1, 2}); !fit) return tl::unexpected<Error>(fit.error());
  const auto first = first_program(sandbox.cgroup, sandbox.kept.walked_paths.mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  // The process is in the sandbox before it is the program: nobody inside may look into it, as into one of root's.
  const NotDumpable not_dumpable;
  auto stay = go_to(sandbox, *first);
  if (!stay) return tl::unexpected<Error>(stay.error());
  auto program = spawn(cgroup, start.launch, start.program);
  auto returned = stay->back();
  if (!program) return program;
  auto labelled = find_escaped_tasks(kernel, cgroup.id());
  if (returned && labelled) return program;
  end_child(program->pid);
  return tl::unexpected<Error>(returned ? labelled.error() : returned.error());
}

}  // namespace sbpf::agent
