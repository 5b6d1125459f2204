// SPDX-License-Identifier: Apache-2.0
// The words of the policy language, and diagnostics as people read them.
#include <fmt/core.h>

#include "policy/policy.h"

namespace sbpf::policy {

std::string_view to_string(sbpf_socket_class c) {
  switch (c) {
    case SBPF_SOCKET_NORMAL:
      return "normal";
    case SBPF_SOCKET_MPTCP:
      return "mptcp";
    case SBPF_SOCKET_UDPLITE:
      return "udplite";
    case SBPF_SOCKET_SCTP:
      return "sctp";
    case SBPF_SOCKET_PING:
      return "ping";
    case SBPF_SOCKET_RAW:
      return "raw";
    case SBPF_SOCKET_PACKET:
      return "packet";
    case SBPF_SOCKET_VSOCK:
      return "vsock";
    case SBPF_SOCKET_ALG:
      return "alg";
    case SBPF_SOCKET_NETLINK:
      return "netlink";
    case SBPF_SOCKET_SMC:
      return "smc";
    case SBPF_SOCKET_TUN:
      return "tun";
    case SBPF_SOCKET_OTHER:
      return "other";
    case SBPF_SOCKET_CLASS_MAX:
      break;
  }
  return "unknown";
}

std::string_view to_string(Mode mode) {
  switch (mode) {
    case Mode::enforce:
      return "enforce";
    case Mode::audit:
      return "audit";
  }
  return "unknown";
}

std::string_view to_string(OnLoss on_loss) {
  switch (on_loss) {
    case OnLoss::freeze:
      return "freeze";
    case OnLoss::kill:
      return "kill";
    case OnLoss::alert:
      return "alert";
  }
  return "unknown";
}

std::string_view to_string(Loopback loopback) {
  switch (loopback) {
    case Loopback::host:
      return "host";
    case Loopback::private_namespace:
      return "private";
  }
  return "unknown";
}

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::any:
      return "any";
    case Protocol::tcp:
      return "tcp";
    case Protocol::udp:
      return "udp";
  }
  return "unknown";
}

std::string_view to_string(FsAccess access) {
  switch (access) {
    case FsAccess::read:
      return "read";
    case FsAccess::write:
      return "write";
    case FsAccess::deny:
      return "deny";
    case FsAccess::private_place:
      return "private";
    case FsAccess::protect:
      return "protect";
  }
  return "unknown";
}

std::string_view to_string(FsDefault fallback) {
  switch (fallback) {
    case FsDefault::deny:
      return "deny";
    case FsDefault::read:
      return "read";
    case FsDefault::write:
      return "write";
  }
  return "unknown";
}

std::string format(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics) {
    text += fmt::format("{}:{}:{}: ", d.where.file, d.where.line, d.where.column);
    if (!d.key.empty()) text += d.key + ": ";
    text += d.message + "\n";
    if (!d.hint.empty()) text += "  hint: " + d.hint + "\n";
  }
  return text;
}

std::string_view to_string(Secret::Form form) {
  switch (form) {
    case Secret::Form::file:
      return "file";
    case Secret::Form::fd:
      return "fd";
  }
  return "";
}

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

}  // namespace sbpf::policy
