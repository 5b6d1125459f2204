// SPDX-License-Identifier: Apache-2.0
// bpf/decide.h, compiled natively over an image.
#include <cstring>

#include "policy/image.h"

namespace {
const void* sbpf_policy_lookup(void* policy, const sbpf_rule_key* key) {
  const auto& entries = static_cast<sbpf::policy::Image*>(policy)->entries;
  const auto found = entries.find(*key);
  return found == entries.end() ? nullptr : &found->second;
}
}  // namespace

#include "bpf/decide.h"

namespace sbpf::policy {

bool allows(const Image& image, const NetQuery& query, std::uint32_t* rule) {
  sbpf_net_query q{};
  q.kind = static_cast<std::uint8_t>(query.kind);
  q.proto = static_cast<std::uint8_t>(query.proto);
  q.port = query.port;
  std::memcpy(q.addr_be, query.address.data(), query.address.size());
  const bool allowed = sbpf_decide_net(const_cast<Image*>(&image), &q) == SBPF_ALLOW;
  if (rule) *rule = q.rule;
  return allowed;
}

bool is_canary(const NetQuery& query) {
  sbpf_net_query q{};
  q.port = query.port;
  std::memcpy(q.addr_be, query.address.data(), query.address.size());
  return sbpf_is_canary(&q) != 0;
}

sbpf_socket_class classify_socket(int family, int type, int protocol) {
  return static_cast<sbpf_socket_class>(sbpf_classify_socket(family, type, protocol));
}

}  // namespace sbpf::policy
