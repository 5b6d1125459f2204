// SPDX-License-Identifier: Apache-2.0
// The words of process.kernel.
#include "policy/policy.h"

namespace sbpf::policy {
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
