// SPDX-License-Identifier: Apache-2.0
// Why an endpoint is allowed or not, and what would allow it.
#include <algorithm>

#include "policy/entry_text.h"
#include "policy/image.h"
#include "policy/values.h"

namespace sbpf::policy {
namespace {

const Endpoint* numbered(const Policy& policy, std::uint32_t rule) {
  const auto& connect = policy.network.connect;
  const auto& bind = policy.network.bind;
  if (rule < connect.size()) return &connect[rule];
  if (rule - connect.size() < bind.size()) return &bind[rule - connect.size()];
  return nullptr;
}

// The entry that allowed the query. The image's number is right but for ranges that compile() had to join: then the
// first entry that covers the query is it.
const Endpoint* deciding(const Policy& policy, const NetQuery& query, std::uint32_t rule) {
  const Endpoint* entry = numbered(policy, rule);
  if (entry && covers(*entry, query)) return entry;
  const auto& list = query.kind == SBPF_RULE_BIND ? policy.network.bind : policy.network.connect;
  const auto found = std::find_if(list.begin(), list.end(), [&](const Endpoint& e) { return covers(e, query); });
  return found == list.end() ? nullptr : &*found;
}

bool covers(const HostRule& rule, const std::string& name, sbpf_proto proto, std::uint16_t port) {
  if (rule.protocol == Protocol::tcp && proto != SBPF_PROTO_TCP) return false;
  if (rule.protocol == Protocol::udp && proto != SBPF_PROTO_UDP) return false;
  return host_matches(rule.pattern, name) && has_port(rule.ports, port);
}

}  // namespace

bool has_port(const std::vector<PortRange>& ports, std::uint16_t port) {
  return std::ranges::any_of(ports,
                             [port](const PortRange& range) { return range.first <= port && port <= range.last; });
}

bool covers(const Endpoint& entry, const NetQuery& query) {
  if (entry.protocol == Protocol::tcp && query.proto != SBPF_PROTO_TCP) return false;
  if (entry.protocol == Protocol::udp && query.proto != SBPF_PROTO_UDP) return false;
  for (unsigned bit = 0; bit < entry.prefix; ++bit) {
    const unsigned mask = 0x80u >> (bit % 8);
    if ((entry.address[bit / 8] & mask) != (query.address[bit / 8] & mask)) return false;
  }
  return has_port(entry.ports, query.port);
}

std::string rule_text(const Policy& policy, std::uint32_t rule) {
  const Endpoint* entry = numbered(policy, rule);
  if (!entry) {
    const std::size_t of_file = rule - policy.network.connect.size() - policy.network.bind.size();
    if (of_file < policy.filesystem.rules.size()) return internal::entry_text(policy.filesystem.rules[of_file]);
    const std::size_t of_program = of_file - policy.filesystem.rules.size();
    if (of_program < policy.exec.rules.size()) return internal::entry_text(policy.exec.rules[of_program]);
    const std::size_t of_name = of_program - policy.exec.rules.size();
    return of_name < policy.network.hosts.size()
               ? "network.connect: " + internal::entry_text(policy.network.hosts[of_name])
               : "";
  }
  const char* list = rule < policy.network.connect.size() ? "network.connect: " : "network.bind: ";
  return list + internal::entry_text(*entry);
}

std::string suggestion(const NetQuery& query) {
  Endpoint entry;
  entry.address = query.address;
  entry.ports = {PortRange{query.port, query.port}};
  const char* list = nullptr;
  switch (query.kind) {
    case SBPF_RULE_CONNECT:
      list = "connect";
      break;
    case SBPF_RULE_BIND:
      list = "bind";
      break;
    case SBPF_RULE_HEADER:
    case SBPF_RULE_FS_INODE:
    case SBPF_RULE_FS_NAME:
    case SBPF_RULE_UNIX:
    case SBPF_RULE_VIA:
    case SBPF_RULE_INTERFACE:
    case SBPF_RULE_KIND_MAX:
      return "";
  }
  switch (query.proto) {
    case SBPF_PROTO_TCP:
      entry.protocol = Protocol::tcp;
      break;
    case SBPF_PROTO_UDP:
      entry.protocol = Protocol::udp;
      break;
    case SBPF_PROTO_NONE:
      return "";
  }
  // No entry can name port 0 as a destination, or the endpoint that every policy denies.
  if (query.kind == SBPF_RULE_CONNECT && query.port == 0) return "";
  if (is_canary(query)) return "";
  const char* floor = is_metadata(query) ? "dangerously_allow_metadata: true, " : "";
  return std::string("network: {") + floor + list + ": [" + internal::entry_text(entry) + "]}";
}

Explanation explain(const Policy& policy, const Image& image, const NetQuery& query) {
  Explanation answer;
  answer.audit_only = policy.mode == Mode::audit;
  std::uint32_t rule = 0;
  NetQuery decided = query;
  decided.in_own_netns = policy.network.loopback == Loopback::private_namespace;
  answer.allowed = allows(image, decided, &rule, &decided.address);
  if (!answer.allowed) answer.narrowed = narrowed(image, query, &rule);
  if (answer.narrowed) {
    answer.allowed = true;
    decided.address = *answer.narrowed;
  }
  if (!answer.allowed) {
    answer.suggestion = suggestion(decided);
  } else if (policy.network.dangerously_allow_all) {
    answer.rule = "dangerously_allow_all";
  } else if (rule == kOwnLoopback) {
    answer.rule = "loopback: private";
  } else if (const Endpoint* entry = deciding(policy, decided, rule)) {
    answer.rule = internal::entry_text(*entry);
    answer.where = entry->where;
  }
  return answer;
}

Explanation explain_host(const Policy& policy, const std::string& name, sbpf_proto proto, std::uint16_t port) {
  Explanation answer;
  answer.audit_only = policy.mode == Mode::audit;
  const auto& hosts = policy.network.hosts;
  const auto rule =
      std::find_if(hosts.begin(), hosts.end(), [&](const HostRule& r) { return covers(r, name, proto, port); });
  answer.allowed = rule != hosts.end() || policy.network.dangerously_allow_all;
  if (rule != hosts.end()) {
    answer.rule = internal::entry_text(*rule);
    answer.where = rule->where;
  } else if (answer.allowed) {
    answer.rule = "dangerously_allow_all";
  } else {
    const HostRule missing{name, {PortRange{port, port}}, proto == SBPF_PROTO_TCP ? Protocol::tcp : Protocol::udp, {}};
    answer.suggestion = fmt::format("network: {{connect: [{}]}}", internal::entry_text(missing));
  }
  return answer;
}

std::string interface_suggestion(std::string_view name) {
  const auto parsed = internal::parse_interface(name);
  return parsed ? "network: {interfaces: [\"" + *parsed + "\"]}" : "";
}

std::string host_suggestion(std::string_view name) {
  const auto pattern = internal::parse_host_pattern(name);
  if (!pattern || name.find('*') != std::string_view::npos || is_nobodys(name)) return "";
  return "network: {connect: [" +
         internal::entry_text(HostRule{*pattern, {PortRange{443, 443}}, Protocol::tcp, {}, {}}) + "]}";
}

}  // namespace sbpf::policy
