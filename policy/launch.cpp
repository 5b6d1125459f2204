// SPDX-License-Identifier: Apache-2.0
#include "policy/launch.h"

#include <algorithm>
#include <iterator>

#include "bpf/capabilities.h"

namespace sbpf::policy {
namespace {

// By number (linux/capability.h).
constexpr std::string_view kCapabilities[SBPF_CAP_COUNT] = {"CHOWN",
                                                            "DAC_OVERRIDE",
                                                            "DAC_READ_SEARCH",
                                                            "FOWNER",
                                                            "FSETID",
                                                            "KILL",
                                                            "SETGID",
                                                            "SETUID",
                                                            "SETPCAP",
                                                            "LINUX_IMMUTABLE",
                                                            "NET_BIND_SERVICE",
                                                            "NET_BROADCAST",
                                                            "NET_ADMIN",
                                                            "NET_RAW",
                                                            "IPC_LOCK",
                                                            "IPC_OWNER",
                                                            "SYS_MODULE",
                                                            "SYS_RAWIO",
                                                            "SYS_CHROOT",
                                                            "SYS_PTRACE",
                                                            "SYS_PACCT",
                                                            "SYS_ADMIN",
                                                            "SYS_BOOT",
                                                            "SYS_NICE",
                                                            "SYS_RESOURCE",
                                                            "SYS_TIME",
                                                            "SYS_TTY_CONFIG",
                                                            "MKNOD",
                                                            "LEASE",
                                                            "AUDIT_WRITE",
                                                            "AUDIT_CONTROL",
                                                            "SETFCAP",
                                                            "MAC_OVERRIDE",
                                                            "MAC_ADMIN",
                                                            "SYSLOG",
                                                            "WAKE_ALARM",
                                                            "BLOCK_SUSPEND",
                                                            "AUDIT_READ",
                                                            "PERFMON",
                                                            "BPF",
                                                            "CHECKPOINT_RESTORE"};

}  // namespace

std::optional<unsigned> capability_number(std::string_view name) {
  if (name.starts_with("CAP_")) name.remove_prefix(4);
  const auto* found = std::find(std::begin(kCapabilities), std::end(kCapabilities), name);
  if (found == std::end(kCapabilities)) return std::nullopt;
  return static_cast<unsigned>(found - std::begin(kCapabilities));
}

std::string capability_name(unsigned number) {
  return number < std::size(kCapabilities) ? std::string(kCapabilities[number]) : std::to_string(number);
}

std::string_view to_string(SeccompKind kind) {
  switch (kind) {
    case SeccompKind::builtin_default:
      return "default";
    case SeccompKind::builtin_strict:
      return "strict";
    case SeccompKind::dangerously_unconfined:
      return "dangerously_unconfined";
    case SeccompKind::file:
      return "";
  }
  return "";
}

}  // namespace sbpf::policy
