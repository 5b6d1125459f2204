// SPDX-License-Identifier: Apache-2.0
// The words of process.kernel.
#include <algorithm>
#include <array>

#include "bpf/capabilities.h"
#include "policy/policy.h"

namespace sbpf::policy {
namespace {

// By number, as in linux/capability.h.
constexpr std::array<std::string_view, SBPF_CAP_COUNT> kCapabilities = {
    "chown",          "dac_override",  "dac_read_search", "fowner",           "fsetid",       "kill",
    "setgid",         "setuid",        "setpcap",         "linux_immutable",  "net_bind_service", "net_broadcast",
    "net_admin",      "net_raw",       "ipc_lock",        "ipc_owner",        "sys_module",   "sys_rawio",
    "sys_chroot",     "sys_ptrace",    "sys_pacct",       "sys_admin",        "sys_boot",     "sys_nice",
    "sys_resource",   "sys_time",      "sys_tty_config",  "mknod",            "lease",        "audit_write",
    "audit_control",  "setfcap",       "mac_override",    "mac_admin",        "syslog",       "wake_alarm",
    "block_suspend",  "audit_read",    "perfmon",         "bpf",              "checkpoint_restore"};

}  // namespace

std::string_view to_string(sbpf_kernel_interface interface) {
  switch (interface) {
    case SBPF_KERNEL_PERF:
      return "perf";
    case SBPF_KERNEL_KEYRINGS:
      return "keyrings";
    case SBPF_KERNEL_USER_NAMESPACES:
      return "user_namespaces";
    case SBPF_KERNEL_USERFAULTFD:
      return "userfaultfd";
    case SBPF_KERNEL_MODULE_REQUESTS:
      return "module_requests";
    case SBPF_KERNEL_IO_URING:
      return "io_uring";
    case SBPF_KERNEL_MAX:
      break;
  }
  return "unknown";
}

bool closed_by_default(sbpf_kernel_interface interface) { return interface != SBPF_KERNEL_IO_URING; }

std::string capability_name(std::uint32_t number) {
  return number < kCapabilities.size() ? std::string(kCapabilities[number]) : "capability " + std::to_string(number);
}

std::optional<std::uint8_t> capability_number(std::string_view name) {
  const auto found = std::find(kCapabilities.begin(), kCapabilities.end(), name);
  if (found == kCapabilities.end()) return std::nullopt;
  return static_cast<std::uint8_t>(found - kCapabilities.begin());
}

}  // namespace sbpf::policy
