// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/event_advice.h"

#include <algorithm>
#include <cstring>

#include "agent/host/system_calls.h"
#include "agent/kernel/map_entries.h"
#include "agent/sandbox/event_parts.h"
#include "agent/sandbox/policy_text.h"
#include "agent/sandbox/sandbox.h"
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

// The name that led there last, by whatever port and protocol; "": none did, or it is too long to be kept whole.
std::string name_of(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Address& address) {
  const Fd map = open_host_names(kernel, cgroup_id);
  if (!map) return "";
  for (const auto& [key, opened] : entries_of<sbpf_rule_key, sbpf_opened>(map.get())) {
    const std::size_t length = ::strnlen(opened.name, sizeof opened.name);
    if (length < sizeof opened.name - 1 && std::equal(address.begin(), address.end(), std::begin(key.addr)))
      return {opened.name, length};
  }
  return "";
}

}  // namespace

std::string EventAdvice::network_advice(const policy::Policy& policy, Event& event) const {
  const policy::NetQuery query = query_of(event);
  const std::string name = query.kind == SBPF_RULE_CONNECT ? name_of(kernel_, cgroup_id_, query.address) : "";
  // Of several names that lead there the last is known, which another's zone may have led there, below a pattern.
  const bool listed = std::ranges::any_of(policy.network.hosts, [&](const auto& rule) { return rule.pattern == name; });
  std::string change = listed ? policy::advice(policy, name, query.proto, query.port) : "";
  event.name = name;
  return change.empty() ? policy::advice(policy, query) : change;
}

const policy::Policy* EventAdvice::policy_at(std::uint32_t generation) {
  if (generation > generation_) {  // that of an older one is gone
    generation_ = generation;
    auto kept = read_policy_text(cgroup_id_);
    policy_ = kept ? std::optional(std::move(kept->policy)) : std::nullopt;
  }
  return generation == generation_ && policy_ ? &*policy_ : nullptr;
}

void advise_on_call(const policy::Policy& policy, Event& event) {
  event.allow = policy::advice_for_call(policy, system_call_name(static_cast<int>(event.raw.task.detail)));
  if (!event.allow.empty()) event.relaxation.clear();
}

void EventAdvice::complete(Event& event) {
  const auto operation = operation_of(event);
  if (event.raw.reason == SBPF_REASON_SYSTEM_CALL) {
    if (const policy::Policy* policy = policy_at(event.raw.generation)) advise_on_call(*policy, event);
    return;
  }
  const bool network = event.raw.reason == SBPF_REASON_NO_RULE;
  if (event.allow.empty() || (!(operation && event.path_is_whole) && !network)) return;
  const policy::Policy* policy = policy_at(event.raw.generation);
  if (policy == nullptr || asked_ >= kMostAsked) return;
  ++asked_;
  std::string change = network ? network_advice(*policy, event) : policy::advice(*policy, *operation, event.path);
  // A rule may lead elsewhere on this host than its path says, and then this knows less than the event.
  if (!change.empty()) event.allow = std::move(change);
}

}  // namespace sbpf::agent
