// SPDX-License-Identifier: Apache-2.0
// What would allow a denied operation under the very policy that denied it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/kernel/kernel.h"
#include "agent/sandbox/events.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Puts into an event of a system call what the policy says of it.
void advise_on_call(const policy::Policy& policy, Event& event);

// Of one sandbox. It is only words: what it cannot do leaves an event with the line that explain_event() gave it, which
// knows no policy.
class EventAdvice {
 public:
  // `kernel` outlives this.
  EventAdvice(const Kernel& kernel, std::uint64_t cgroup_id) : kernel_(kernel), cgroup_id_(cgroup_id) {}

  // Puts what policy::advice() says in the place of event.allow, as far as the policy in force is kept
  // (read_policy_text()) and denies the operation by its rules. Where a host's name led to the address of a connect,
  // event.name has it; if the policy lists that very name, the advice is a rule for it: tomorrow it leads elsewhere.
  void complete(Event& event);

 private:
  const policy::Policy* policy_at(std::uint32_t generation);

  std::string network_advice(const policy::Policy& policy, Event& event) const;

  const Kernel& kernel_;
  std::uint64_t cgroup_id_;
  std::uint32_t generation_ = 0;  // which policy_ is of; 0: none was read
  std::optional<policy::Policy> policy_;
  unsigned asked_ = 0;
};

}  // namespace sbpf::agent
