// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

namespace sbpf::agent {
namespace {
constexpr HookKind CGROUP = HookKind::cgroup;
constexpr HookKind LSM = HookKind::lsm;
}  // namespace

const std::vector<Hook>& hooks() {
  static const std::vector<Hook> table = {
#define X(id, name, kind, domain) Hook{SBPF_HOOK_##name, #name, kind, SBPF_DOMAIN_##domain},
      SBPF_HOOKS(X)
#undef X
  };
  return table;
}

const char* domain_name(sbpf_domain domain) {
  switch (domain) {
    case SBPF_DOMAIN_NETWORK:
      return "network";
    case SBPF_DOMAIN_GUARD:
      return "guard";
    case SBPF_DOMAIN_FILESYSTEM:
      return "filesystem";
    case SBPF_DOMAIN_PROCESS:
      return "process";
    case SBPF_DOMAIN_MAX:
      break;
  }
  return "unknown";
}

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

bool Preflight::ok() const {
  for (const Check& check : checks)
    if (!check.ok) return false;
  return !checks.empty();
}

}  // namespace sbpf::agent
