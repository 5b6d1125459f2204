// SPDX-License-Identifier: Apache-2.0
#include "agent/host/privileges.h"

#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sbpf::agent {
namespace {

constexpr unsigned kMostCapabilities = 64;

std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }

struct CapabilitySets {
  std::uint64_t effective = 0, permitted = 0, inheritable = 0;
  bool operator==(const CapabilitySets&) const = default;
};

int read_sets(CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return errno;
  const auto join = [](std::uint32_t low, std::uint32_t high) { return low | std::uint64_t{high} << 32; };
  sets = {join(data[0].effective, data[1].effective), join(data[0].permitted, data[1].permitted),
          join(data[0].inheritable, data[1].inheritable)};
  return 0;
}

int write_sets(const CapabilitySets& sets) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const auto half = [&sets](unsigned shift) {
    const auto part = [shift](std::uint64_t set) { return static_cast<std::uint32_t>(set >> shift); };
    return __user_cap_data_struct{part(sets.effective), part(sets.permitted), part(sets.inheritable)};
  };
  const std::array<__user_cap_data_struct, 2> data{half(0), half(32)};
  return ::syscall(SYS_capset, &header, data.data()) == 0 ? 0 : errno;
}

// 1, 0, or negative past the kernel's last capability.
int in_bounding(unsigned number) { return ::prctl(PR_CAPBSET_READ, number, 0, 0, 0); }
int in_ambient(unsigned number) { return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, number, 0, 0); }

// The sets as they must be in the end. With keep_all they are what sbpf's process had, which the child still has.
// Ambient capabilities need inheritable ones; root needs neither.
int wanted_sets(const Privileges& privileges, CapabilitySets& sets) {
  std::uint64_t keep = privileges.keep;
  if (privileges.keep_all) {
    CapabilitySets now;
    if (const int error = read_sets(now); error != 0) return error;
    keep = now.permitted;
  }
  sets = {keep, keep, ::getuid() == 0 ? 0 : keep};
  return 0;
}

}  // namespace

Privileges privileges_of(const policy::Policy& policy) {
  Privileges privileges;
  const policy::Limits& limits = policy.limits;
  const auto limit = [&privileges](__rlimit_resource resource, const std::optional<std::uint64_t>& value) {
    if (value) privileges.limits.emplace_back(resource, *value);
  };
  limit(RLIMIT_NOFILE, limits.open_files);
  limit(RLIMIT_FSIZE, limits.file_size);
  limit(RLIMIT_STACK, limits.stack);
  limit(RLIMIT_MEMLOCK, limits.locked_memory);
  // 1 stands for none: it also stops the kernel from piping a core to the host's handler, which 0 does not.
  limit(RLIMIT_CORE, std::max<std::uint64_t>(limits.core.value_or(0), 1));
  privileges.user = policy.launch.user;
  privileges.keep_all = policy.launch.capabilities.dangerously_all;
  for (const unsigned number : policy.launch.capabilities.keep) privileges.keep |= bit(number);
  privileges.no_new_privs = !policy.launch.dangerously_allow_new_privileges;
  return privileges;
}

int set_limits(const Privileges& privileges) {
  for (const auto& [resource, value] : privileges.limits) {
    rlimit both{value, value};
    // "No core" is 1; who may not raise a limit of 0 has none either.
    if (rlimit now{}; privileges.as_user && resource == RLIMIT_CORE && ::getrlimit(resource, &now) == 0)
      both.rlim_cur = both.rlim_max = std::min(value, now.rlim_max);
    if (::setrlimit(resource, &both) != 0) return errno;
  }
  return 0;
}

int drop_bounding(const Privileges& privileges) {
  if (privileges.keep_all || privileges.as_user) return 0;
  for (unsigned number = 0; number < kMostCapabilities && in_bounding(number) >= 0; number++)
    if ((privileges.keep & bit(number)) == 0 && in_bounding(number) == 1 &&
        ::prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0)
      return errno;
  return 0;
}

int set_user(const Privileges& privileges) {
  if (!privileges.user || privileges.as_user) return 0;
  const policy::User& user = *privileges.user;
  // Or what is to be kept would go with root; exec takes this back.
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return errno;
  if (::setgroups(user.groups.size(), user.groups.data()) != 0) return errno;
  if (::setresgid(user.gid, user.gid, user.gid) != 0) return errno;
  if (::setresuid(user.uid, user.uid, user.uid) != 0) return errno;
  return 0;
}

int set_capabilities(const Privileges& privileges) {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) return errno;
  CapabilitySets sets;
  if (const int error = wanted_sets(privileges, sets); error != 0) return error;
  if (const int error = write_sets(sets); error != 0) return error;
  if (::getuid() == 0) return 0;  // root's come back at exec, within the bounding set
  for (unsigned number = 0; number < kMostCapabilities; number++)
    if ((sets.permitted & bit(number)) != 0 && ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0) != 0)
      return errno;
  return 0;
}

int set_no_new_privs(const Privileges& privileges) {
  if (!privileges.no_new_privs) return 0;
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

int verify_privileges(const Privileges& privileges) {
  for (const auto& [resource, value] : privileges.limits) {
    rlimit now{};
    if (::getrlimit(resource, &now) != 0) return errno;
    const bool less = privileges.as_user && resource == RLIMIT_CORE && now.rlim_max < value;
    if (now.rlim_cur != now.rlim_max || (now.rlim_max != value && !less)) return EBADE;
  }
  CapabilitySets now, wanted;
  if (const int error = read_sets(now); error != 0) return error;
  if (const int error = wanted_sets(privileges, wanted); error != 0) return error;
  if (now != wanted) return EBADE;
  const bool root = ::getuid() == 0;
  for (unsigned number = 0; number < kMostCapabilities && in_bounding(number) >= 0; number++) {
    const bool kept = (wanted.permitted & bit(number)) != 0;
    if (!privileges.keep_all && !privileges.as_user && in_bounding(number) != (kept ? 1 : 0)) return EBADE;
    if (in_ambient(number) != (kept && !root ? 1 : 0)) return EBADE;
  }
  if (privileges.no_new_privs && ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return EBADE;
  if (!privileges.user) return 0;
  const policy::User& user = *privileges.user;
  uid_t uids[3];
  gid_t gids[3];
  if (::getresuid(&uids[0], &uids[1], &uids[2]) != 0 || ::getresgid(&gids[0], &gids[1], &gids[2]) != 0) return errno;
  for (int i = 0; i < 3; i++)
    if (uids[i] != user.uid || gids[i] != user.gid) return EBADE;
  static std::array<gid_t, NGROUPS_MAX> groups;  // sorted by the kernel; static, as the child allocates nothing
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  if (count != static_cast<int>(user.groups.size())) return EBADE;
  const auto has = [count](gid_t group) { return std::binary_search(groups.begin(), groups.begin() + count, group); };
  return std::ranges::all_of(user.groups, has) ? 0 : EBADE;
}

}  // namespace sbpf::agent
