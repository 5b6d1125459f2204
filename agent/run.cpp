// SPDX-License-Identifier: Apache-2.0
// `sbpf run`: one flat list of steps; any failure undoes all before it, and nothing ran.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include "agent/agent.h"
#include "agent/events.h"
#include "agent/fs_view.h"
#include "agent/guard.h"
#include "agent/host.h"
#include "agent/limits.h"
#include "agent/names.h"
#include "agent/places.h"
#include "agent/seccomp_ready.h"
#include "agent/secrets.h"
#include "agent/spawn.h"
#include "agent/streams.h"
#include "agent/strays.h"
#include "agent/supervise.h"
#include "agent/undo.h"
#include "agent/verify.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace {

constexpr auto kPatienceAtTheEnd = std::chrono::seconds(30);

std::string make_name() {
  std::random_device random;
  return "run-" + std::to_string(::getpid()) + "-" + std::to_string(random() % 100000);
}

std::array<std::uint8_t, 32> identity_of(const policy::Image& image) {
  return std::to_array(image.slot<sbpf_policy_id>(SBPF_SLOT_ID).policy_sha256);
}

// Publishes the policy again where its paths or the mounts changed. A failure leaves the old generation, which denies what
// it does not know. False: another one has the host lock, and it is to be tried again.
bool refresh_filesystem(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy) {
  auto lock = lock_host(std::chrono::milliseconds(0));
  if (!lock) return lock.error().code != "locked";
  auto now = read_policy(kernel, cgroup.id());
  if (!now) return true;
  if (identity_of(*now) != policy::sha256(policy)) return true;  // swapped for another one since
  auto fresh = compile_for(kernel, cgroup, policy, now->header().generation + 1);
  if (fresh && policy::image_sha256(fresh->entries) != policy::image_sha256(now->entries))
    (void)publish(kernel, cgroup.id(), *fresh);
  return true;
}

// A variable of the caller's by the name of a secret would be the secret, or hide where it is.
Result<void> check_environment(const RunOptions& options, const policy::Policy& policy) {
  for (const policy::Secret& secret : policy.secrets)
    for (const std::string& variable : {secret.name, secret.name + "_FILE", secret.name + "_FD"})
      for (const std::string& entry : options.env)
        if (entry.rfind(variable + "=", 0) == 0)
          return fail("usage", variable + " belongs to a secret of the policy, and the environment has it",
                      "remove it from --env: what is in the environment can be read in /proc");
  return {};
}

}  // namespace

Result<RunResult> run(const policy::Policy& policy, const RunOptions& asked) {
  RunOptions options = asked;
  if (options.argv.empty()) return fail("usage", "no command was given", "sbpf run -- COMMAND");
  const std::string name = options.name.empty() ? make_name() : options.name;
  const auto checked = policy::compile_rules(policy, 1, policy::empty_view(policy));
  if (!checked) return tl::unexpected<Error>(checked.error());
  auto filters = seccomp_filters(policy.launch.seccomp, policy.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  Launch launch{privileges_of(policy), std::move(*filters)};
  if (options.user) launch.privileges.user = options.user;
  if (auto free = check_environment(options, policy); !free) return tl::unexpected<Error>(free.error());
  std::unique_ptr<NotDumpable> not_dumpable;
  if (!policy.secrets.empty()) not_dumpable = std::make_unique<NotDumpable>();
  auto secrets = read_secrets(policy.secrets);  // what is missing stops it here; stdin is read before the lock is taken
  if (!secrets) return tl::unexpected<Error>(secrets.error());
  auto stdio = inspect_stdio(*checked, {0, 1, 2});
  if (!stdio) return tl::unexpected<Error>(stdio.error());

  auto lock = lock_host_to_load();
  if (!lock) return tl::unexpected<Error>(explain_failure(lock.error()));
  const bool loaded_before = Kernel::is_pinned();
  auto kernel = ready_kernel();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  Undo undo(*kernel, loaded_before);
  const auto others = collect_some_garbage(*kernel, name);
  auto root = root_cgroup();
  if (!root) return tl::unexpected<Error>(root.error());
  if (auto free = check_new_name(others, name); !free) return tl::unexpected<Error>(free.error());
  auto cgroup = Cgroup::create(root->path() + "/" + name);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  undo.has(*cgroup, name);
  if (auto limited = apply_limits(*cgroup, policy.limits); !limited) return tl::unexpected<Error>(limited.error());

  // Before the thread goes where the program will be: the resolver stays outside.
  std::optional<ResolverProcess> resolver;
  if (!policy.network.hosts.empty()) {
    auto started = start_resolver(policy, name, cgroup->id(), checked->header().names);
    if (!started) return tl::unexpected<Error>(started.error());
    resolver.emplace(std::move(*started));
  }
  // From here to the program's start this thread is where the program will be.
  auto places = Stay::in_private_places();
  if (!places) return tl::unexpected<Error>(explain_failure(places.error()));
  const auto& user = launch.privileges.user;
  auto handed = place_secrets(std::move(*secrets), user ? user->uid : ::geteuid(), user ? user->gid : ::getegid());
  if (!handed) return tl::unexpected<Error>(handed.error());
  not_dumpable.reset();  // they are gone from this process (I10)
  options.env.insert(options.env.end(), handed->env.begin(), handed->env.end());
  for (const Fd& fd : handed->fds) options.inherited.push_back(fd.get());
  Fd mountinfo(::open("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC));  // before the paths are looked up
  auto image = compile_here(*kernel, policy, 1);
  if (!image) return tl::unexpected<Error>(image.error());
  SandboxSpec spec{name, 0, *stdio, resolver ? &resolver->names : nullptr};
  std::vector<Fd> links;
  if (auto up = set_up(*kernel, *cgroup, spec, *image, true, links); !up)
    return tl::unexpected<Error>(explain_failure(up.error()));
  links.clear();  // the pins hold them
  const auto record = find_record(*kernel, cgroup->id());
  if (!record) return fail("sandbox_setup", "the sandbox's record is gone", "");
  Status status = read_status(*kernel, *record, true);
  if (!may_start(status, policy.mode)) {
    const std::string reason = why_not_active(status);
    return tl::unexpected<Error>(explain_failure(
        {"isolation_not_active", "isolation could not be verified: " + reason, "run `sbpf preflight`", 0, "", false}));
  }
  undo.keep_programs();
  Supervisor supervisor(*kernel, *cgroup, *record, status, options);
  if (options.on_active) options.on_active(status);
  Fd pidfd;
  auto pid = spawn(*cgroup, launch, options, pidfd);
  handed->fds.clear();  // what the program did not read of them goes with it
  if (!pid) return tl::unexpected<Error>(pid.error());
  if (auto returned = places->back(); !returned) return tl::unexpected<Error>(returned.error());
  if (auto labelled = find_strays(*kernel, cgroup->id()); !labelled) return tl::unexpected<Error>(labelled.error());
  if (options.on_started) options.on_started();
  lock->reset();  // from here on the cgroup is populated, so no one collects it

  // What is mounted later is denied until the policy reaches it.
  if (policy::has_paths(policy))
    supervisor.on_mounts(std::move(mountinfo), [&] { return refresh_filesystem(*kernel, *cgroup, policy); });
  if (resolver) supervisor.serve_names(*resolver);
  RunResult result = supervisor.wait(*pid, pidfd);
  // For the undoing: in the place of the first, as what is declared here ends before that. Nothing runs in it any more: where
  // another one keeps the lock, the next command collects it.
  if (auto again = lock_host(kPatienceAtTheEnd)) {
    *lock = std::move(*again);
  } else {
    undo.keep_all();
    if (options.on_warning) options.on_warning("the sandbox is over, and its empty cgroup is left to the next command: " + again.error().message);
  }
  return result;
}

}  // namespace sbpf::agent
