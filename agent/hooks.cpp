// SPDX-License-Identifier: Apache-2.0
#include "agent/agent.h"

namespace sbpf::agent {
namespace {
constexpr auto CGROUP = std::pair{HookKind::cgroup, false};
constexpr auto LSM = std::pair{HookKind::lsm, false};
constexpr auto TRACE = std::pair{HookKind::trace, false};
constexpr auto LSM_IF = std::pair{HookKind::lsm, true};

std::vector<Hook>& present() {
  static std::vector<Hook> table = all_hooks();
  return table;
}
}  // namespace

const std::vector<Hook>& all_hooks() {
  static const std::vector<Hook> table = {
#define X(id, name, kind, domain) Hook{SBPF_HOOK_##name, #name, kind.first, SBPF_DOMAIN_##domain, kind.second},
      SBPF_HOOKS(X)
#undef X
  };
  return table;
}

const std::vector<Hook>& hooks() { return present(); }

void set_hooks_present(const std::function<bool(const Hook&)>& is_present) {
  present().clear();
  for (const Hook& hook : all_hooks())
    if (!hook.optional || is_present(hook)) present().push_back(hook);
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
