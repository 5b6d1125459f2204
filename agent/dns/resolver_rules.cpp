// SPDX-License-Identifier: Apache-2.0
#include "agent/dns/resolver_rules.h"

#include <bpf/bpf.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "agent/host/bpf_info.h"
#include "agent/kernel/map_entries.h"
#include "base/clock.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kMostUpstreams = 3;   // as the C library
constexpr std::uint32_t kMostParts = 1024;  // of twice the largest policy, and what else there is
constexpr std::uint64_t kNsPerSecond = 1000000000;
constexpr std::uint32_t kShortestS = 60;                   // an answer opens for so long at least
constexpr std::uint64_t kLongestNs = 3600 * kNsPerSecond;  // and with uses for so long at most

// {0, 0}: which are in use. {number, 0}: the head of these; from {number, 1} on: their text.
struct Key {
  std::uint32_t number, part;
};
struct Part {
  char bytes[3968];  // with what the kernel adds, a page
};
struct Head {
  std::uint32_t bytes, first, n_upstreams;
  policy::Address upstream[kMostUpstreams];
};

tl::unexpected<Error> resolver_rules_error(const char* what) {
  const int error = errno;
  return fail("resolver", SystemError{error}, "cannot {} the rules of the sandbox's host names", what);
}

template <typename T>
bool write_part(int map, Key key, const T& value) {
  static_assert(sizeof(T) <= sizeof(Part));
  Part part{};
  std::memcpy(part.bytes, &value, sizeof value);
  return bpf_map_update_elem(map, &key, &part, BPF_ANY) == 0;
}

template <typename T>
bool read_part(int map, Key key, T& value) {
  Part part{};
  if (bpf_map_lookup_elem(map, &key, &part) != 0) return false;
  std::memcpy(&value, part.bytes, sizeof value);
  return true;
}

void forget_others(int map, std::uint32_t number) {
  std::vector<Key> others;
  Key key{}, next{};
  for (void* previous = nullptr; bpf_map_get_next_key(map, previous, &next) == 0; previous = &key) {
    if (next.number != 0 && next.number != number) others.push_back(next);
    key = next;
  }
  for (const Key& other : others) (void)bpf_map_delete_elem(map, &other);
}

std::vector<dns::Upstream> upstreams_for(const policy::Policy& policy) {
  if (policy.network.resolver) return {{*policy.network.resolver, SBPF_DNS_PORT}};
  return upstreams_of(read_file("/etc/resolv.conf"));
}

// What a resolver needs of a policy, as a policy: what is said of its network, and whether it is enforced.
std::string text_of_network(const policy::Policy& policy) {
  policy::Policy part;
  part.name = policy.name;
  part.mode = policy.mode;
  part.network = policy.network;
  return policy::canonical(part);
}

// Whether there was any.
bool forget_past(int opened, std::uint64_t now) {
  bool any = false;
  for (const auto& [key, entry] : entries_of<sbpf_rule_key, sbpf_opened>(opened))
    if (entry.until_ns < now) any = bpf_map_delete_elem(opened, &key) == 0 || any;
  return any;
}

// The same ports, and to nobody else: then a rule's number decides nothing.
bool alike(const sbpf_rule& a, const sbpf_rule& b) {
  const auto same = [](const sbpf_port_range& x, const sbpf_port_range& y) {
    return x.first == y.first && x.last == y.last && ((x.rule | y.rule) & SBPF_RULE_PROXIED) == 0;
  };
  return a.n_ranges == b.n_ranges && std::equal(a.range, a.range + a.n_ranges, b.range, same);
}

bool enter(int opened, const sbpf_rule_key& key, sbpf_opened entry) {
  const std::uint64_t now = boottime_ns();
  sbpf_opened before{};
  // Two names may lead to one address; with ranges of ports they share an entry, which then lasts as long as the
  // longer.
  if (bpf_map_lookup_elem(opened, &key, &before) == 0 && before.host_names_id == entry.host_names_id &&
      before.until_ns >= now) {
    if (!policy::join_rules(entry.rule, before.rule)) return false;
    entry.until_ns = std::max(entry.until_ns, before.until_ns);
    if (alike(entry.rule, before.rule)) entry.also = before.also;  // a swap is under way
  }
  if (bpf_map_update_elem(opened, &key, &entry, BPF_ANY) == 0) return true;
  return errno == E2BIG && forget_past(opened, now) && bpf_map_update_elem(opened, &key, &entry, BPF_ANY) == 0;
}

}  // namespace

Fd make_resolver_rules() {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
  return Fd(bpf_map_create(BPF_MAP_TYPE_HASH, "sbpf_resolver", sizeof(Key), sizeof(Part), kMostParts, &options));
}

Fd to_read_resolver_rules(const Fd& map) {
  const auto info = map_info(map.get());
  if (!info) return Fd();
  LIBBPF_OPTS(bpf_get_fd_by_id_opts, options, .open_flags = BPF_F_RDONLY);
  return Fd(bpf_map_get_fd_by_id_opts(info->id, &options));
}

Result<void> put_resolver_rules(int map, const policy::Policy& policy, std::uint32_t number) {
  const auto upstreams = upstreams_for(policy);
  if (upstreams.empty())
    return fail("no_resolver", "the policy has host names, and /etc/resolv.conf names nobody who answers for them",
                "add to the policy: network: {dns: {resolver: ADDRESS}}");
  forget_others(map, resolver_rules_in_use(map));
  const std::string text = text_of_network(policy);
  Head head{static_cast<std::uint32_t>(text.size()),
            policy::first_of_hosts(policy),
            static_cast<std::uint32_t>(upstreams.size()),
            {}};
  for (std::size_t i = 0; i < upstreams.size(); ++i) head.upstream[i] = upstreams[i].address;
  if (!write_part(map, {number, 0}, head)) return resolver_rules_error("write");
  for (std::uint32_t part = 1; (part - 1) * sizeof(Part) < text.size(); ++part) {
    Part next{};
    const std::size_t from = (part - 1) * sizeof(Part);
    std::memcpy(next.bytes, text.data() + from, std::min(sizeof next.bytes, text.size() - from));
    if (!write_part(map, {number, part}, next)) return resolver_rules_error("write");
  }
  return {};
}

Result<void> use_resolver_rules(int map, std::uint32_t number) {
  if (!write_part(map, {0, 0}, number)) return resolver_rules_error("change");
  return {};
}

std::uint32_t resolver_rules_in_use(int map) {
  std::uint32_t number = 0;
  return read_part(map, {0, 0}, number) ? number : 0;
}

ResolverRules read_resolver_rules(int map) {
  ResolverRules rules;
  const std::uint32_t number = resolver_rules_in_use(map);
  Head head{};
  if (number == 0 || !read_part(map, {number, 0}, head)) return rules;
  std::string text;
  for (std::uint32_t part = 1; text.size() < head.bytes; ++part) {
    Part next{};
    if (!read_part(map, {number, part}, next)) return rules;
    text.append(next.bytes, std::min<std::size_t>(sizeof next.bytes, head.bytes - text.size()));
  }
  auto policy = policy::parse(text, "the resolver's rules", nullptr);
  if (!policy) return rules;  // half of it, as another one writes
  rules.policy = std::move(*policy);
  rules.first = head.first;
  for (std::uint32_t i = 0; i < head.n_upstreams && i < kMostUpstreams; ++i)
    rules.upstreams.push_back({head.upstream[i], SBPF_DNS_PORT});
  rules.number = number;
  return rules;
}

std::vector<dns::Upstream> upstreams_of(const std::string& resolv_conf) {
  std::vector<dns::Upstream> upstreams;
  std::istringstream lines(resolv_conf);
  for (std::string line; std::getline(lines, line) && upstreams.size() < kMostUpstreams;) {
    std::istringstream words(line);
    std::string keyword, value;
    if (!(words >> keyword >> value) || keyword != "nameserver") continue;
    if (const auto address = policy::parse_address(value)) upstreams.push_back({*address, SBPF_DNS_PORT});
  }
  return upstreams;
}

bool open_name(int opened, const ResolverRules& rules, std::size_t host, const std::string& name,
               const dns::Learned& learned) {
  const auto entries = policy::opened_entries(rules.policy.network.hosts.at(host),
                                              rules.first + static_cast<std::uint32_t>(host), learned.address);
  if (!entries) return false;
  const std::uint64_t now = boottime_ns(), seconds = std::clamp(learned.ttl_s, kShortestS, dns::Limits{}.longest_ttl_s);
  for (const auto& [key, rule] : *entries) {
    sbpf_opened entry{now + seconds * kNsPerSecond, now + kLongestNs, rules.number, rules.number, rule, {}};
    const std::size_t kept = std::min(name.size(), sizeof entry.name - 1);
    name.copy(entry.name, kept, name.size() - kept);
    if (!enter(opened, key, entry)) return false;
  }
  return true;
}

CarriedHostNames::CarriedHostNames(int opened, const policy::Policy& policy, std::uint32_t from, std::uint32_t to)
    : opened_(opened), from_(from), to_(to) {
  const std::uint64_t now = boottime_ns();
  const std::uint32_t first = policy::first_of_hosts(policy);
  for (const auto& [old_key, entry] : entries_of<sbpf_rule_key, sbpf_opened>(opened)) {
    const std::string name(entry.name, ::strnlen(entry.name, sizeof entry.name));
    if ((entry.host_names_id != from && entry.also != from) || name.size() + 1 >= sizeof entry.name) continue;
    policy::Address address{};
    std::copy(std::begin(old_key.addr), std::end(old_key.addr), address.begin());
    for (std::size_t host = 0; host < policy.network.hosts.size(); ++host) {
      if (!policy::host_matches(policy.network.hosts[host].pattern, name)) continue;
      const auto entries =
          policy::opened_entries(policy.network.hosts[host], first + static_cast<std::uint32_t>(host), address);
      if (!entries) continue;
      for (const auto& [key, rule] : *entries) carry(entry.until_ns < now ? past_ : wanted_, key, rule, entry);
    }
  }
}

void CarriedHostNames::carry(Opened& to, const sbpf_rule_key& key, const sbpf_rule& rule,
                             const sbpf_opened& entry) const {
  const auto [at, added] = to.try_emplace(key, entry);
  sbpf_opened& wanted = at->second;
  if (added)
    wanted.rule = rule;
  else if (!policy::join_rules(wanted.rule, rule))
    return;
  wanted.host_names_id = wanted.also = to_;
  wanted.until_ns = std::max(wanted.until_ns, entry.until_ns);
  wanted.last_ns = std::max(wanted.last_ns, entry.last_ns);
}

void CarriedHostNames::before() const {
  for (const auto& [key, wanted] : wanted_) {
    sbpf_opened entry{};
    if (bpf_map_lookup_elem(opened_, &key, &entry) != 0 || (entry.host_names_id != from_ && entry.also != from_)) {
      entry = wanted;
    } else if (alike(entry.rule, wanted.rule)) {
      entry.host_names_id = from_;
      entry.also = wanted.host_names_id;
    }
    (void)bpf_map_update_elem(opened_, &key, &entry, BPF_ANY);
  }
}

void CarriedHostNames::after() const {
  for (const Opened* all : {&past_, &wanted_})
    for (const auto& [key, wanted] : *all) {
      sbpf_opened entry{};
      const bool newer = bpf_map_lookup_elem(opened_, &key, &entry) == 0 && entry.host_names_id == to_ &&
                         entry.until_ns >= wanted.until_ns;
      if (!newer) (void)bpf_map_update_elem(opened_, &key, &wanted, BPF_ANY);
    }
}

void CarriedHostNames::add_to(policy::Image& image) const {
  for (const Opened* all : {&past_, &wanted_})
    for (const auto& [key, wanted] : *all) policy::add_rule(image, key, wanted.rule);
}

}  // namespace sbpf::agent
