// SPDX-License-Identifier: Apache-2.0
// The rules of a sandbox's resolver, in a map that it reads and others write; and the endpoints that it opened, over a
// swap.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/dns/resolver.h"
#include "base/result.h"
#include "policy/image.h"

namespace sbpf::agent {

// A map for the rules of one resolver. -1 inside, with errno, if there is none to be had.
Fd make_resolver_rules();

// The same map, read-only. Errors: as above.
Fd to_read_resolver_rules(const Fd& map);

// Writes a second set of rules into the map: a policy's host names, and their upstream servers. The set in use stays;
// an unused set is overwritten. `number` is policy_header.host_names_id, not 0. Errors: "no_resolver" (nobody to ask),
// "resolver" with errno.
Result<void> put_resolver_rules(int map, const policy::Policy& policy, std::uint32_t number);

// Makes the resolver answer by these rules, which are already in the map, from its next query on. Errors: "resolver"
// with errno.
Result<void> use_resolver_rules(int map, std::uint32_t number);

// 0: none are.
std::uint32_t resolver_rules_in_use(int map);

struct ResolverRules {
  policy::Policy policy;     // its mode and network
  std::uint32_t number = 0;  // policy_header.host_names_id
  std::uint32_t first = 0;   // the number of the first host's rule
  std::vector<dns::Upstream> upstreams;
};

// Those in use. `number` is 0 in what is returned if they cannot be read, as while another one writes. Opens no file.
ResolverRules read_resolver_rules(int map);

// Those of a resolv.conf's text, in order, at most three; addresses with a zone are left out.
std::vector<dns::Upstream> upstreams_of(const std::string& resolv_conf);

// The endpoints that an answer opens, in the map of its sandbox. Errors of both: errno; nothing is open that was not
// before. `name` leads to what `learned` says, by the rule of network.hosts[host]. An address that is not public opens
// nothing.
bool open_name(int opened, const ResolverRules& rules, std::size_t host, const std::string& name,
               const dns::Learned& learned);

// The endpoints that a name opened stay open over a swap, for as long as they would have, if the new policy has a rule
// for the name: the ports of that rule count. Names that are too long for an entry cannot be carried over; the next
// answer opens their endpoints.
class CarriedHostNames {
 public:
  // `from` and `to` are the policy_header.host_names_id of the old and the new policy.
  CarriedHostNames(int opened, const policy::Policy& policy, std::uint32_t from, std::uint32_t to);
  // Before the new policy is published: opens for both what both allow.
  void before() const;
  // After that, and after the resolver goes by it: as the new policy has it.
  void after() const;
  // The same as rules of the new policy's image, for connections that are under way: also of what is past. In the map a
  // carried entry may be missing for a moment: an answer that the resolver was about to enter under the old policy
  // overwrites it, until it is asked for again.
  void add_to(policy::Image& image) const;

 private:
  using Opened = std::map<sbpf_rule_key, sbpf_opened, policy::KeyLess>;
  void carry(Opened& to, const sbpf_rule_key& key, const sbpf_rule& rule, const sbpf_opened& entry) const;

  int opened_;
  std::uint32_t from_, to_;
  Opened wanted_, past_;  // past: opens nothing more, and a connection made before may go on
};

}  // namespace sbpf::agent
