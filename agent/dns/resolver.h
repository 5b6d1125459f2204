// SPDX-License-Identifier: Apache-2.0
// The resolver of one sandbox: answers for the names of its policy, and opens their addresses to the sandbox before it
// returns them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/dns/message.h"
#include "base/fd.h"

namespace sbpf::agent::dns {

struct Upstream {
  policy::Address address{};
  std::uint16_t port = 53;  // host byte order
};

// The outcome of a query; for events.
enum class Outcome {
  answered,
  refused_name,
  refused_rate,  // dropped before it was read
  refused_new_names,
  withheld,  // all or some of it
  failed
};

struct Told {
  std::string name;  // empty if it was not read
  std::uint16_t type = 0;
  Outcome outcome = Outcome::failed;
  std::vector<policy::Address> addresses;  // that were answered, or withheld
  bool audit = false;                      // nothing was refused
};

struct Limits {
  unsigned queries_per_second = 50;  // with as many in reserve as come in four seconds
  unsigned pending = 256;            // at a time
  unsigned tcp_clients = 32;
  // Of names below one pattern with a *: more would be a channel for whoever answers for that zone.
  unsigned new_names_per_hour = 500;
  std::uint32_t longest_ttl_s = 300;         // as the sandbox is told
  std::chrono::milliseconds patience{2000};  // with an upstream, before the next is asked
};

// The rules by which queries are answered. One query is answered by the same rules from its beginning to its end.
struct Rules {
  std::vector<policy::HostRule> hosts;
  std::vector<Upstream> upstreams;  // asked in this order; not empty
  // Refuses nothing: queries that would be refused are logged, and answered as the upstream says.
  bool audit = false;
  // May an answer lead there? Private, local and metadata addresses may not, but where the policy lists them.
  std::function<bool(const policy::Address&)> may_have;
  // Opens the way to an address for a name, by rules that are elements of `hosts`. On false the query is answered with
  // a failure.
  std::function<bool(const std::vector<const policy::HostRule*>& rules, const std::string& name,
                     const Learned& learned)>
      learn;
};

struct Options {
  // The rules in use; null: there are none, and queries are answered with a failure. Called for each query, so it
  // should return the same object if nothing has changed.
  std::function<std::shared_ptr<const Rules>()> rules;
  Limits limits;
  std::function<void(const Told&)> tell;
};

// Of one address: both bound to it, `tcp` listens.
struct Listener {
  Fd udp, tcp;
};

// Serves until `stop` becomes readable.
void serve(const Options& options, std::vector<Listener> listeners, const Fd& stop);

}  // namespace sbpf::agent::dns
