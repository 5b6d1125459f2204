// SPDX-License-Identifier: Apache-2.0
// `sbpf run`: any failure undoes all that was done before it, and nothing ran.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>

#include "agent/agent.h"
#include "agent/dns/resolver_process.h"
#include "agent/files/fs_view.h"
#include "agent/files/namespaces.h"
#include "agent/files/workspace.h"
#include "agent/host/mount_places.h"
#include "agent/host/network_namespace.h"
#include "agent/kernel/guard.h"
#include "agent/launch/bring_up.h"
#include "agent/launch/network_helpers.h"
#include "agent/launch/refused_calls.h"
#include "agent/launch/run_options.h"
#include "agent/launch/seccomp_ready.h"
#include "agent/launch/secrets.h"
#include "agent/launch/spawn.h"
#include "agent/launch/stdio.h"
#include "agent/launch/supervisor.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/events.h"
#include "agent/verify/host_checks.h"
#include "agent/verify/verify.h"
#include "policy/filesystem.h"
#include "policy/loopback.h"

namespace sbpf::agent {
namespace {

// A variable of the caller's by the name of a secret would be the secret, or hide where it is.
Result<void> check_environment(const RunOptions& options, const policy::Policy& policy) {
  for (const policy::Secret& secret : policy.secrets)
    for (const std::string& variable : {secret.name, secret.name + "_FILE", secret.name + "_FD"})
      for (const std::string& entry : options.env)
        if (entry.rfind(variable + "=", 0) == 0)
          return fail("usage",
                      fmt::format("{} belongs to a secret of the policy, and the environment has it", variable),
                      "remove it from --env: what is in the environment can be read in /proc");
  return {};
}

// What is decided, read and refused before anything is made.
struct Prepared {
  RunOptions options;
  std::string name;
  policy::Image rules;  // without the paths, which only the sandbox's own mounts tell
  Launch launch;
  RefusedCalls calls;
  std::unique_ptr<NotDumpable> not_dumpable;  // while secrets are in this process
  std::vector<LoadedSecret> secrets;
  std::array<std::uint64_t, 3> stdio_inode{};
  Fd workspace;  // open if there is one of its own
};

// The sandbox's hooks let pass the socket by which the filter's listener comes, as one of stdio. Where all of stdio are
// sockets nobody is told.
Result<void> tell_refused_calls(Prepared& ready, const policy::Policy& policy) {
  const auto free = std::ranges::find(ready.stdio_inode, std::uint64_t{0});
  if (free == ready.stdio_inode.end()) return {};
  auto calls = RefusedCalls::make(ready.launch, policy.launch.seccomp);
  if (!calls) return tl::unexpected<Error>(calls.error());
  ready.calls = std::move(*calls);
  *free = ready.calls.child_inode();
  return {};
}

Result<Prepared> prepare(const policy::Policy& policy, const RunOptions& asked) {
  Prepared ready;
  ready.options = asked;
  if (asked.argv.empty()) return fail("usage", "no command was given", "sbpf run -- COMMAND");
  ready.name = asked.name.empty() ? make_up_name("run") : asked.name;
  auto rules = policy::compile_rules(policy, 1, policy::empty_view(policy));
  if (!rules) return tl::unexpected<Error>(rules.error());
  ready.rules = std::move(*rules);
  auto filters = seccomp_filters(policy.launch.seccomp, policy.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  ready.launch = Launch{privileges_of(policy), std::move(*filters)};
  if (asked.user) ready.launch.privileges.user = asked.user;
  if (auto free = check_environment(asked, policy); !free) return tl::unexpected<Error>(free.error());
  if (!policy.secrets.empty()) ready.not_dumpable = std::make_unique<NotDumpable>();
  auto secrets = read_secrets(policy.secrets);  // what is missing stops it here; stdin is read before the lock is taken
  if (!secrets) return tl::unexpected<Error>(secrets.error());
  ready.secrets = std::move(*secrets);
  auto stdio = inspect_stdio(ready.rules, {0, 1, 2});
  if (!stdio) return tl::unexpected<Error>(stdio.error());
  ready.stdio_inode = *stdio;
  if (auto told = tell_refused_calls(ready, policy); !told) return tl::unexpected<Error>(told.error());
  if (auto returns = NamespaceStay::check_way_back(); !returns)
    return tl::unexpected<Error>(explain_failure(returns.error()));
  if (!asked.workspace) return ready;
  auto workspace = open_workspace(*asked.workspace);
  if (!workspace) return tl::unexpected<Error>(workspace.error());
  if (auto usable = check_workspace(policy, asked); !usable) return tl::unexpected<Error>(usable.error());
  ready.workspace = std::move(*workspace);
  return ready;
}

// Hands the secrets over where the program will find them. This thread is in the sandbox's places.
Result<HandedSecrets> hand_over(Prepared& ready) {
  const auto& user = ready.launch.privileges.user;
  auto handed = place_secrets(std::move(ready.secrets), user ? user->uid : ::geteuid(), user ? user->gid : ::getegid());
  if (!handed) return handed;
  ready.not_dumpable.reset();  // they are gone from this process (I10)
  ready.options.env.insert(ready.options.env.end(), handed->env.begin(), handed->env.end());
  for (const Fd& fd : handed->fds) ready.options.inherited.push_back(fd.get());
  return handed;
}

// What it has beside its cgroup when the program starts.
struct Running {
  NetworkNamespace network;  // open if one was made for it
  std::optional<NetworkHelpers> helpers;
  Fd mountinfo;  // as it was before the paths were looked up
  WalkedPaths walked_paths;
  std::unique_ptr<Supervisor> supervisor;
  std::optional<NamespaceStay> places;  // where this thread is
  Spawned program;
};

// A network of its own, where the policy says so, and who serves the sandbox's network from outside.
Result<void> make_network(Running& running, const Prepared& ready, const policy::Policy& policy,
                          std::uint64_t cgroup_id) {
  Result<NetworkSockets> sockets;
  if (wants_own_network(policy)) {
    const bool has_ipv6 = reaches_any_ipv6(policy.network);
    auto made = make_network_namespace([&]() -> Result<void> {
      sockets = listen_in_its_own(policy.network, has_ipv6);
      return sockets ? Result<void>() : tl::unexpected<Error>(sockets.error());
    });
    if (!made) return tl::unexpected<Error>(explain_failure(made.error()));
    running.network = std::move(*made);
  } else {
    sockets = listen_in_the_hosts(policy.network);
    if (!sockets) return tl::unexpected<Error>(sockets.error());
  }
  const policy::User self{::geteuid(), ::getegid(), {}};
  auto helpers = start_network_helpers(
      policy, {ready.name, cgroup_id, ready.rules.header().host_names_id, ready.launch.privileges.user.value_or(self)},
      std::move(*sockets));
  if (!helpers) return tl::unexpected<Error>(helpers.error());
  running.helpers.emplace(std::move(*helpers));
  return {};
}

// From the cgroup to the program's process.
Result<Running> start(BringUp& up, Prepared& ready, const policy::Policy& policy) {
  Running running;
  Kernel& kernel = up.kernel();
  const Cgroup& cgroup = up.cgroup();
  // Before the thread goes where the program will be: the helpers stay outside.
  if (auto made = make_network(running, ready, policy, cgroup.id()); !made) return tl::unexpected<Error>(made.error());
  // From here to the program's start this thread is where the program will be.
  // An audit changes nothing, here as well.
  const auto own = policy.mode == policy::Mode::audit ? std::set<std::string>() : policy::private_places(policy);
  auto places = NamespaceStay::in_private_places(running.network.fd, ready.workspace, own);
  if (!places) return tl::unexpected<Error>(explain_failure(places.error()));
  running.places.emplace(std::move(*places));
  ready.workspace.reset();  // it would keep the mount busy
  auto handed = hand_over(ready);
  if (!handed) return tl::unexpected<Error>(handed.error());
  running.mountinfo = Fd(::open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC));
  auto image = compile_here(kernel, policy, 1, ready.options.workspace ? kWorkspace : "", &running.walked_paths);
  if (!image) return tl::unexpected<Error>(image.error());
  const SandboxSpec spec{ready.name,
                         0,
                         ready.stdio_inode,
                         running.helpers->resolver ? &running.helpers->resolver->for_sandbox : nullptr,
                         running.network.cookie,
                         running.network.fd ? policy::relayed_id(policy.network) : 0};
  if (auto set_up = up.set_up(cgroup, spec, *image); !set_up) return tl::unexpected<Error>(set_up.error());
  const auto status = up.prove(cgroup, true, [&](const Status& now) { return may_start(now, policy.mode); });
  if (!status) return tl::unexpected<Error>(status.error());
  const auto record = find_record(kernel, cgroup.id());
  if (!record) return fail("sandbox_setup", "the sandbox's record is gone");
  running.walked_paths.mounts = mount_namespace("thread-self");
  if (!up.was_swapped()) keep_policy_text(cgroup.id(), policy, running.walked_paths);
  up.keep_programs();
  running.supervisor = std::make_unique<Supervisor>(kernel, cgroup, *record, *status, ready.options);
  if (ready.options.on_active) ready.options.on_active(*status);
  auto program = spawn(cgroup, ready.launch, ready.options);
  ready.calls.child_started();
  handed->fds.clear();  // what the program did not read of them goes with it
  if (!program) return tl::unexpected<Error>(program.error());
  running.program = std::move(*program);
  running.supervisor->tell_calls(ready.calls);
  if (auto labelled = find_escaped_tasks(kernel, cgroup.id()); !labelled)
    return tl::unexpected<Error>(labelled.error());
  return running;
}

// Until the program has ended. Needs no lock, and holds none. Errors: those of NamespaceStay::back().
Result<RunResult> watch_over(Running& running, const policy::Policy& policy) {
  if (auto returned = running.places->back(); !returned) return tl::unexpected<Error>(returned.error());
  running.network.fd.reset();  // it would outlive the program
  Supervisor& supervisor = *running.supervisor;
  supervisor.follow_mounts(std::move(running.mountinfo), {policy, std::move(running.walked_paths)});
  if (running.helpers->resolver) supervisor.serve_resolver(*running.helpers->resolver);
  if (running.helpers->relay) supervisor.watch_relay(*running.helpers->relay);
  auto result = supervisor.wait(running.program);
  running.helpers->relay.reset();  // passes on what the program sent; nobody is to wait for the host lock meanwhile
  return result;
}

}  // namespace

Result<void> check_workspace(const policy::Policy& policy, const RunOptions& options) {
  if (!options.workspace || options.workspace->empty()) return {};  // an empty one cannot be opened
  std::set<std::string> places = policy::private_places(policy);
  if (places.contains(kWorkspace))
    return fail("usage", fmt::format("--workspace: the policy {} makes {} private", policy.name, kWorkspace),
                "leave one of them out");
  // By it the sandbox would have the host's in their stead.
  places.merge(places_made_anew());
  std::string top = std::filesystem::absolute(*options.workspace).lexically_normal();
  if (top.size() > 1 && top.ends_with('/')) top.pop_back();
  for (const std::string& place : places)
    if (path_below(place, top))
      return fail(
          "usage",
          fmt::format("--workspace: {} has {} in it, of which the sandbox has its own", *options.workspace, place),
          "name a directory of the job alone");
  return {};
}

Result<RunResult> run(const policy::Policy& policy, const RunOptions& options) {
  auto ready = prepare(policy, options);
  if (!ready) return tl::unexpected<Error>(ready.error());
  auto begun = BringUp::begin();
  if (!begun) return tl::unexpected<Error>(begun.error());
  BringUp& up = **begun;
  const auto others = collect_some_garbage(up.kernel(), ready->name);
  if (auto free = check_new_name(others, ready->name); !free) return tl::unexpected<Error>(free.error());
  if (auto made = up.make_cgroup(ready->name, policy.limits); !made) return tl::unexpected<Error>(made.error());
  auto running = start(up, *ready, policy);
  if (!running) return tl::unexpected<Error>(running.error());
  up.release_lock();

  auto result = watch_over(*running, policy);
  up.lock_for_rollback(options);
  return result;
}

}  // namespace sbpf::agent
