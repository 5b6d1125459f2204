// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/status.h"

namespace sbpf::agent {

const char* to_string(Isolation isolation) {
  switch (isolation) {
    case Isolation::active:
      return "active";
    case Isolation::degraded:
      return "degraded";
    case Isolation::inactive:
      return "inactive";
  }
  return "unknown";
}

std::size_t Status::hooks_attached() const {
  std::size_t n = 0;
  for (const HookStatus& h : hooks) n += h.attached ? 1 : 0;
  return n;
}

}  // namespace sbpf::agent
