// SPDX-License-Identifier: Apache-2.0
// How a sandbox stands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/kernel/hooks.h"
#include "agent/kernel/losses.h"
#include "bpf/abi.h"
#include "policy/policy.h"

namespace sbpf::agent {

enum class Isolation { active, degraded, inactive };
const char* to_string(Isolation isolation);

struct Status {
  std::string sandbox;
  std::string cgroup;  // absolute path; empty if the cgroup is gone
  std::uint64_t cgroup_id = 0;
  std::uint64_t instance = 0;  // tells it from others that bore the name, or had the cgroup
  Isolation isolation = Isolation::inactive;
  std::vector<HookStatus> hooks;
  std::vector<Degradation> degraded;
  std::string policy_name;
  std::string policy_sha256;  // hex
  std::uint32_t generation = 0;
  std::uint32_t n_rules = 0;
  policy::Mode mode = policy::Mode::enforce;
  policy::OnLoss on_loss = policy::OnLoss::freeze;
  // Whose loopback it has: "host"; "private"; "closed" but for what the policy lists, where that says private and no
  // network was made for the sandbox.
  std::string loopback = "host";
  std::vector<policy::ProgramTag> trusted_programs;  // of others, that the policy lets run after sbpf's
  bool attached_cgroup = false;                      // made by attach, not by run
  bool kept = false;                                 // its cgroup is kept: agent/sandbox/assigned.h
  std::uint32_t flags = 0;                           // enum sbpf_sandbox_flags
  std::uint64_t processes = 0;
  bool frozen = false;
  std::uint64_t events = 0, repeated = 0, lost_full = 0, lost_rate = 0;
  std::array<std::uint64_t, SBPF_MAX_HOOKS> denied{};
  std::vector<std::string> ended;  // by this `swap` or `attach --evict`: connections that the policy forbids

  std::size_t hooks_attached() const;
};

}  // namespace sbpf::agent
