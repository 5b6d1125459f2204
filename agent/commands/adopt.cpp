// SPDX-License-Identifier: Apache-2.0
// `sbpf adopt`: what `run` does for root, done by the service for a user: a new sandbox, and that user's process in it.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <limits>
#include <optional>

#include "agent/agent.h"
#include "agent/commands/adopt_parts.h"
#include "agent/dns/resolver_process.h"
#include "agent/files/fs_view.h"
#include "agent/files/namespaces.h"
#include "agent/files/private_places.h"
#include "agent/host/network_namespace.h"
#include "agent/kernel/guard.h"
#include "agent/launch/bring_up.h"
#include "agent/launch/held_process.h"
#include "agent/launch/network_helpers.h"
#include "agent/launch/stdio.h"
#include "agent/sandbox/escaped_tasks.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/policy_text.h"
#include "agent/verify/verify.h"
#include "base/file.h"
#include "base/mounts.h"
#include "policy/filesystem.h"
#include "policy/loopback.h"

namespace sbpf::agent {
Result<void> check_outside(const HeldProcess& process, const Kernel& kernel) {
  auto root = root_cgroup();
  auto mount = cgroup2_mount();
  auto cgroup = process.cgroup();
  if (!root || !mount) return tl::unexpected<Error>(root ? mount.error() : root.error());
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  std::string place = *mount + *cgroup;
  bool inside = (place + "/").starts_with(root->path() + "/");
  // The number of a cgroup's directory is its id.
  for (; !inside && place.size() > mount->size(); place.resize(place.rfind('/'))) {
    struct stat info {};
    inside = ::stat(place.c_str(), &info) != 0 || find_record(kernel, info.st_ino);
  }
  if (inside)
    return fail("process_unfit", "the process is in a sandbox", "a process stays in the sandbox that it is in");
  return {};
}

namespace {

template <typename Number>
void lower(std::optional<Number>& limit, std::optional<std::uint64_t> other) {
  if (other)
    limit = static_cast<Number>(std::min<std::uint64_t>(limit.value_or(std::numeric_limits<Number>::max()), *other));
}

// The number in a file of a cgroup; nothing where there is no limit, or no controller.
std::optional<std::uint64_t> limit_in(const std::string& cgroup, const char* file) {
  std::ifstream in(cgroup + "/" + file);
  std::uint64_t number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

// The policy's limits, and no more than those of the cgroups that the process comes from, which it leaves: a user's
// slice has some, and a sandbox is not a way around them.
policy::Limits limits_within(policy::Limits limits, const std::string& mount, std::string cgroup) {
  for (; !cgroup.empty() && cgroup != "/"; cgroup.resize(cgroup.rfind('/'))) {
    const std::string path = mount + cgroup;
    lower(limits.processes, limit_in(path, "pids.max"));
    lower(limits.memory_bytes, limit_in(path, "memory.max"));
    std::ifstream cpu(path + "/cpu.max");
    if (std::uint64_t quota = 0, period = 0; cpu >> quota >> period && period > 0)
      lower(limits.cpu_millis, quota * 1000 / period);
  }
  return limits;
}

// Was the process brought to a network of its own, as the policy says? One that is in the host's, or in one that others
// are in, has of loopback what the lists say. Host names are resolved in the host's, or in one of its own. Errors:
// "process_unfit".
Result<bool> has_own_network(const policy::Policy& policy, const HeldProcess& process) {
  if (process.has_our_network()) return false;
  const auto own = wants_own_network(policy) ? process.is_alone_in("net") : Result<bool>(false);
  if (!own || *own || policy.network.hosts.empty()) return own;
  return fail("process_unfit", "the process is in another network namespace, where no resolver of sbpfd's is",
              "start it in the host's, or use a policy without host names");
}

// What the sandbox has beside its cgroup: helpers, which are this process's children, and a network of its own.
struct Beside {
  NetworkHelpers helpers;
  std::uint64_t network = 0;  // the cookie of its own; 0: it has the host's
};

// A place of the sandbox's own is one only as long as nobody else is in the mount namespace.
Result<void> check_places(const policy::Policy& policy, const HeldProcess& process) {
  const std::vector<Mount> mounts = parse_mounts(read_file(fmt::format("/proc/{}/mountinfo", process.pid())));
  const std::set<std::string> places = policy::private_places(policy);
  if (std::ranges::none_of(mounts, [&](const Mount& m) { return is_private_place(m) && places.contains(m.point); }))
    return {};
  const auto alone = process.is_alone_in("mnt");
  if (!alone) return tl::unexpected<Error>(alone.error());
  if (*alone) return {};
  return fail("process_unfit", "the process shares its private places with others",
              "start it by `sbpf run`, or with sbpf-enter for this run alone");
}

// `own`: the process is in a network of its own.
Result<Beside> make_network(const Cgroup& cgroup, const HeldProcess& process, bool own, const policy::Policy& policy,
                            const policy::Image& rules, const AdoptOptions& options) {
  Result<NetworkSockets> sockets;
  Result<std::uint64_t> cookie = 0;
  if (own) {
    const bool has_ipv6 = reaches_any_ipv6(policy.network);
    cookie = in_network_of(process.pid(), [&]() -> Result<void> {
      sockets = listen_in_its_own(policy.network, has_ipv6);
      return sockets ? Result<void>() : tl::unexpected<Error>(sockets.error());
    });
    if (!cookie) return tl::unexpected<Error>(cookie.error());
  } else {
    sockets = listen_in_the_hosts(policy.network);
    if (!sockets) return tl::unexpected<Error>(sockets.error());
  }
  auto helpers = start_network_helpers(
      policy, {options.name, cgroup.id(), rules.header().host_names_id, {options.uid, options.gid, {}}},
      std::move(*sockets));
  if (!helpers) return tl::unexpected<Error>(helpers.error());
  return Beside{std::move(*helpers), *cookie};
}

// Until nothing runs in the cgroup any more, or nobody is left to be served.
void serve_until_empty(Kernel& kernel, const Cgroup& cgroup, const NetworkHelpers& helpers) {
  const Fd events(::openat(cgroup.fd(), "cgroup.events", O_RDONLY | O_CLOEXEC));
  // A read is what the next poll compares with.
  const auto populated = [&] {
    std::array<char, 128> text{};
    const bool read = ::pread(events.get(), text.data(), text.size() - 1, 0) > 0;
    return read && std::string_view(text.data()).find("populated 1") != std::string_view::npos;
  };
  const auto& [resolver, relay] = helpers;
  std::array<pollfd, 4> waiting{{{resolver ? resolver->told.get() : -1, POLLIN, 0},
                                 {resolver ? resolver->process.pidfd.get() : -1, POLLIN, 0},
                                 {relay ? relay->process.pidfd.get() : -1, POLLIN, 0},
                                 {events.get(), POLLPRI, 0}}};
  // The sockets of a relay that ended are held as long as somebody could bind in their place.
  while (populated() && (waiting[1].fd >= 0 || relay)) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    if (waiting[1].revents != 0) waiting[0].fd = waiting[1].fd = -1;
    if (waiting[2].revents != 0) {
      waiting[2].fd = -1;
      relay->refuse();
    }
    if (waiting[0].revents == 0) continue;
    kernel.renew();
    relay_announcements(kernel, resolver->told);
  }
}

}  // namespace

Result<void> check_free(const std::vector<sbpf_sandbox>& others, const std::string& name) {
  if (std::ranges::none_of(others, [&](const sbpf_sandbox& other) { return name == other.name; })) return {};
  return fail("sandbox_exists", fmt::format("a sandbox named {} exists", name), "choose another name");
}

Owner owner_of(const AdoptOptions& options) { return {options.uid, options.gid, options.parent}; }

bool needs_helpers(const policy::Policy& policy) {
  return !policy.network.hosts.empty() || policy::relayed_id(policy.network) != 0;
}

Result<void> check_for_user(const policy::Policy& policy, std::uint32_t uid) {
  const auto refuse = [](const std::string& what, std::string hint) {
    return fail("needs_root", fmt::format("{} needs root", what), std::move(hint));
  };
  if (uid != 0 && policy.launch.user && policy.launch.user->uid != uid)
    return refuse("process.user", "leave it out: the program runs as its caller");
  if (uid != 0 && (policy.launch.capabilities.dangerously_all || !policy.launch.capabilities.keep.empty()))
    return refuse("process.capabilities", "leave it out: a program keeps no capability that its caller does not have");
  if (policy.launch.dangerously_allow_new_privileges)
    return refuse("process.dangerously_allow_new_privileges",
                  "leave it out: the program could become another user's in this sandbox");
  if (!policy.secrets.empty())
    return refuse("process.secrets", "hand the program what it needs by its stdin, or start it as root");
  return {};
}

Result<HeldProcess> hold_outside(const AdoptOptions& options, const Kernel& kernel) {
  auto process = HeldProcess::hold(options.pidfd, owner_of(options));
  if (!process) return process;
  if (auto outside = check_outside(*process, kernel); !outside) return tl::unexpected<Error>(outside.error());
  return process;
}

namespace {

// The inodes of its stdio that the sandbox may use.
Result<std::array<std::uint64_t, 3>> stdio_of(const HeldProcess& process, const policy::Image& rules) {
  auto streams = process.stdio();
  if (!streams) return tl::unexpected<Error>(streams.error());
  return inspect_stdio(rules, {(*streams)[0].get(), (*streams)[1].get(), (*streams)[2].get()});
}

Result<policy::Limits> limits_for(const policy::Policy& policy, const HeldProcess& process) {
  auto mount = cgroup2_mount();
  auto from = process.cgroup();
  if (!mount || !from) return tl::unexpected<Error>(mount ? from.error() : mount.error());
  return limits_within(policy.limits, *mount, *from);
}

}  // namespace

Result<void> adopt(const policy::Policy& policy, const AdoptOptions& options) {
  if (auto fit = check_for_user(policy, options.uid); !fit) return tl::unexpected<Error>(fit.error());
  const auto rules = policy::compile_rules(policy, 1, policy::empty_view(policy));
  if (!rules) return tl::unexpected<Error>(rules.error());
  // Refused before the lock is waited for, and before anything is made.
  if (auto first = HeldProcess::hold(options.pidfd, owner_of(options)); !first)
    return tl::unexpected<Error>(first.error());
  auto begun = BringUp::begin();
  if (!begun) return tl::unexpected<Error>(begun.error());
  BringUp& up = **begun;
  Kernel& kernel = up.kernel();
  const auto others = collect_some_garbage(kernel, options.name);
  if (auto free = check_free(others, options.name); !free) return free;
  auto process = hold_outside(options, kernel);
  if (!process) return tl::unexpected<Error>(process.error());
  const auto own_network = has_own_network(policy, *process);
  if (!own_network) return tl::unexpected<Error>(own_network.error());
  if (auto own = check_places(policy, *process); !own) return own;
  auto stdio = stdio_of(*process, *rules);
  if (!stdio) return tl::unexpected<Error>(stdio.error());
  // As its own mount namespace has the paths: the service has another one.
  WalkedPaths walked_paths;
  auto image = compile_as_seen_by(process->pid(), options.uid, kernel, policy, 1, &walked_paths);
  if (!image) return tl::unexpected<Error>(image.error());
  auto limits = limits_for(policy, *process);
  if (!limits) return tl::unexpected<Error>(limits.error());
  if (auto made = up.make_cgroup(options.name, *limits); !made) return made;
  const Cgroup& cgroup = up.cgroup();
  const auto beside = make_network(cgroup, *process, *own_network, policy, *rules, options);
  if (!beside) return tl::unexpected<Error>(beside.error());
  const auto& [resolver, relay] = beside->helpers;
  const SandboxSpec spec{options.name,    0,
                         *stdio,          resolver ? &resolver->for_sandbox : nullptr,
                         beside->network, beside->network != 0 ? policy::relayed_id(policy.network) : 0};
  if (auto set_up = up.set_up(cgroup, spec, *image); !set_up) return set_up;
  auto status = up.prove(cgroup, true, [&](const Status& now) { return may_start(now, policy.mode); });
  if (!status) return tl::unexpected<Error>(status.error());
  // Others had the host lock meanwhile.
  if (auto outside = check_outside(*process, kernel); !outside) return outside;
  std::optional<JournalEntry> change(std::in_place, kernel, JournalEntry::set_up, cgroup.id(), options.name);
  // It is alone until here, so a failure before kills nobody.
  if (auto moved = process->move_to(cgroup); !moved) return moved;
  if (auto labelled = find_escaped_tasks(kernel, cgroup.id()); !labelled)
    return tl::unexpected<Error>(labelled.error());
  walked_paths.mounts = mount_namespace(std::to_string(process->pid()));
  if (!up.was_swapped()) keep_policy_text(cgroup.id(), policy, walked_paths);
  up.keep_all();
  change.reset();
  up.release_lock();
  status->processes = 1;
  {
    const HeldProcess released = std::move(*process);  // it goes on
  }
  options.on_adopted(*status);
  if (resolver || relay) serve_until_empty(kernel, cgroup, beside->helpers);
  return {};
}

}  // namespace sbpf::agent
