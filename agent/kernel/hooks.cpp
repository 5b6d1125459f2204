// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/hooks.h"

#include <linux/bpf.h>

#include <algorithm>
#include <utility>

#include "agent/kernel/kernel.h"

namespace sbpf::agent {
namespace {
constexpr auto CGROUP = std::pair{HookKind::cgroup, false};
constexpr auto DNS = std::pair{HookKind::dns, false};
constexpr auto FLOWS = std::pair{HookKind::flows, false};
constexpr auto LSM = std::pair{HookKind::lsm, false};
constexpr auto TRACE = std::pair{HookKind::trace, false};
constexpr auto ROOT = std::pair{HookKind::root, false};
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

std::vector<Hook> hooks_of(std::uint32_t flags) {
  std::vector<Hook> table = present();
  std::erase_if(table, [flags](const Hook& hook) { return !hook.used_with(flags); });
  return table;
}

void set_hooks_present(const std::function<bool(const Hook&)>& is_present) {
  present().clear();
  for (const Hook& hook : all_hooks())
    if (!hook.optional || is_present(hook)) present().push_back(hook);
}

int cgroup_attach_type(const Hook& hook) {
  switch (hook.id) {
    case SBPF_HOOK_connect4:
      return BPF_CGROUP_INET4_CONNECT;
    case SBPF_HOOK_connect6:
      return BPF_CGROUP_INET6_CONNECT;
    case SBPF_HOOK_sendmsg4:
      return BPF_CGROUP_UDP4_SENDMSG;
    case SBPF_HOOK_sendmsg6:
      return BPF_CGROUP_UDP6_SENDMSG;
    case SBPF_HOOK_bind4:
      return BPF_CGROUP_INET4_BIND;
    case SBPF_HOOK_bind6:
      return BPF_CGROUP_INET6_BIND;
    case SBPF_HOOK_sock_create:
      return BPF_CGROUP_INET_SOCK_CREATE;
    case SBPF_HOOK_recvmsg4:
      return BPF_CGROUP_UDP4_RECVMSG;
    case SBPF_HOOK_recvmsg6:
      return BPF_CGROUP_UDP6_RECVMSG;
    case SBPF_HOOK_getpeername4:
      return BPF_CGROUP_INET4_GETPEERNAME;
    case SBPF_HOOK_getpeername6:
      return BPF_CGROUP_INET6_GETPEERNAME;
    case SBPF_HOOK_sock_ops:
      return BPF_CGROUP_SOCK_OPS;
    case SBPF_HOOK_sysctl:
      return BPF_CGROUP_SYSCTL;
    default:
      return -1;  // LSM hooks; a cgroup hook missing here fails its attach, and so every run
  }
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

// Most are called security_HOOK. security/security.c
std::optional<sbpf_hook> hook_called_by(std::string_view function) {
  constexpr std::string_view kPrefix = "security_";
  if (function == "security_create_user_ns") return SBPF_HOOK_userns_create;
  if (function == "security_bprm_check") return SBPF_HOOK_bprm_check_security;
  if (!function.starts_with(kPrefix)) return std::nullopt;
  const auto found = std::ranges::find_if(hooks(), [&](const Hook& hook) {
    return hook.kind == HookKind::lsm && function.substr(kPrefix.size()) == hook.name;
  });
  return found == hooks().end() ? std::nullopt : std::optional(found->id);
}

}  // namespace sbpf::agent
