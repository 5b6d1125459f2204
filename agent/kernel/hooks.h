// SPDX-License-Identifier: Apache-2.0
// The hook table: all programs, and those that a kernel and a sandbox have. The list is SBPF_HOOKS in bpf/hooks.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/abi.h"

namespace sbpf::agent {

enum class HookKind {
  cgroup,
  dns,    // of a cgroup as well, where a resolver serves the sandbox: puts addresses right, and refuses nothing
  flows,  // likewise, where the policy has flows recorded: sees, and refuses nothing
  lsm,
  trace,  // sees, and refuses nothing
  root    // of the root cgroup
};

struct Hook {
  sbpf_hook id;
  const char* name;
  HookKind kind;
  sbpf_domain domain;
  bool optional;  // not every supported kernel has it

  bool per_sandbox() const { return kind == HookKind::cgroup || kind == HookKind::dns || kind == HookKind::flows; }
  // Does a sandbox with these flags (enum sbpf_sandbox_flags) have it?
  bool used_with(std::uint32_t flags) const {
    if (kind == HookKind::dns) return (flags & SBPF_SANDBOX_HOST_NAMES) != 0;
    return kind != HookKind::flows || (flags & SBPF_SANDBOX_FLOWS) != 0;
  }
};

// All hooks of this version, in id order: from SBPF_HOOKS (bpf/hooks.h).
const std::vector<Hook>& all_hooks();
// Those of them that the running kernel has; all of them, until a Kernel was loaded or opened.
const std::vector<Hook>& hooks();
// Those of them that a sandbox with these flags has.
std::vector<Hook> hooks_of(std::uint32_t flags);
// Keeps the optional hooks that are present. Called by Kernel alone, once it knows.
void set_hooks_present(const std::function<bool(const Hook&)>& is_present);
const char* domain_name(sbpf_domain domain);  // "network", "guard"

// The state of one hook.
struct HookStatus {
  const Hook* hook = nullptr;
  std::uint32_t prog_id = 0;
  std::string prog_tag;  // 16 hex digits
  std::uint32_t link_id = 0;
  bool attached = false;  // link read back: right target, right program, right cgroup
  std::string canary;     // "denied", "not denied", "not run"
  std::string reason;     // why attached is false; empty otherwise
  bool unclear = false;   // not attached, because it cannot be told: `reason` is why
};

// The LSM hook of ours that this kernel function calls; nothing: none.
std::optional<sbpf_hook> hook_called_by(std::string_view function);

}  // namespace sbpf::agent
