// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/event_advice.h"

#include "agent/sandbox/event_parts.h"
#include "agent/sandbox/policy_text.h"
#include "policy/advice.h"

namespace sbpf::agent {
namespace {

// A program inside can make as many kinds of denials as it likes, and this reads the policy again for each: some 2 ms.
constexpr unsigned kMostAsked = 32;

std::optional<policy::FsOperation> operation_of(const Event& event) {
  switch (static_cast<sbpf_reason>(event.raw.reason)) {
    case SBPF_REASON_FS_RULE:
    case SBPF_REASON_FS_DEFAULT:
    case SBPF_REASON_EXEC_DEFAULT:
    case SBPF_REASON_EXEC_WRITABLE:
      if (event.wanted == "exec") return policy::FsOperation::exec;
      return event.wanted == "read" ? policy::FsOperation::read : policy::FsOperation::write;
    default:
      return std::nullopt;
  }
}

}  // namespace

const policy::Policy* EventAdvice::policy_at(std::uint32_t generation) {
  if (generation > generation_) {  // that of an older one is gone
    generation_ = generation;
    auto kept = read_policy_text(cgroup_id_);
    policy_ = kept ? std::optional(std::move(kept->policy)) : std::nullopt;
  }
  return generation == generation_ && policy_ ? &*policy_ : nullptr;
}

void EventAdvice::complete(Event& event) {
  const auto operation = operation_of(event);
  const auto query = event.raw.reason == SBPF_REASON_NO_RULE ? std::optional(query_of(event)) : std::nullopt;
  if (event.allow.empty() || (!(operation && event.path_is_whole) && !query)) return;
  const policy::Policy* policy = policy_at(event.raw.generation);
  if (policy == nullptr || asked_ >= kMostAsked) return;
  ++asked_;
  std::string change = query ? policy::advice(*policy, *query) : policy::advice(*policy, *operation, event.path);
  // A rule may lead elsewhere on this host than its path says, and then this knows less than the event.
  if (!change.empty()) event.allow = std::move(change);
}

}  // namespace sbpf::agent
