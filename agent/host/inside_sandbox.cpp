// SPDX-License-Identifier: Apache-2.0
#include "agent/host/inside_sandbox.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <cerrno>

#include "base/file.h"
#include "base/proc_cgroup.h"

namespace sbpf::agent {
namespace {

constexpr std::string_view kOurs = "/sbpf/";

// "" where the process is in no cgroup below sbpf's own.
std::string sandbox_in(std::string_view cgroups) {
  const std::string_view path = unified_cgroup(cgroups);
  if (!path.starts_with(kOurs)) return "";
  const std::string_view name = path.substr(kOurs.size());
  return std::string(name.substr(0, name.find('/')));
}

}  // namespace

Inside inside_of(std::string_view cgroups, int bpf_errno, bool privileged, bool filtered) {
  if (bpf_errno != EPERM && bpf_errno != ENOSYS) return {Seen::absent};
  if (std::string name = sandbox_in(cgroups); !name.empty()) return {Seen::there, std::move(name)};
  return {Seen::unknown, "", privileged && !filtered};
}

Inside inside() {
  errno = 0;
  ::syscall(SYS_bpf, 0x7fff, nullptr, 0);
  const int bpf_errno = errno;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  ::syscall(SYS_capget, &header, data.data());
  const bool privileged = (data[0].effective >> CAP_SYS_ADMIN & 1u) != 0;
  const bool filtered = read_file("/proc/self/status").find("Seccomp:\t2") != std::string::npos;
  return inside_of(read_file("/proc/self/cgroup"), bpf_errno, privileged, filtered);
}

Error explained_by(const Inside& inside, Error error) {
  if (inside.seen == Seen::there) {
    error.message = fmt::format("this is the inside of sandbox {}, where nothing of sbpf's can be seen or changed ({})",
                                inside.sandbox, error.message);
    error.hint = "run sbpf outside of the sandbox";
  } else if (inside.refused_to_root) {
    error.hint =
        "bpf(2) is refused to root here: by another tool, or this is the inside of a sandbox that `attach` made, which cannot be told" +
        (error.hint.empty() ? "" : "; else: " + error.hint);
  }
  return error;
}

}  // namespace sbpf::agent
