// SPDX-License-Identifier: Apache-2.0
// DNS messages between a sandbox and its resolver: the question, and the part of an answer that the sandbox may have.
// Pure; both sides' bytes are hostile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent::dns {

using Bytes = std::vector<std::uint8_t>;
using BytesView = std::span<const std::uint8_t>;

enum class Code : std::uint8_t {
  ok = 0,
  bad_format = 1,
  failure = 2,
  no_such_name = 3,
  not_implemented = 4,
  refused = 5
};

inline constexpr std::size_t kSmallestUdp = 512;  // what any client takes
inline constexpr std::size_t kLargestUdp = 1232;  // what no path fragments

struct Question {
  std::string name;  // lower case, no dot at its end; letters, digits, '-', '_' and dots alone
  std::uint16_t type = 0;
  std::size_t udp_size = kSmallestUdp;  // that the client takes, at most kLargestUdp
};

// The question of a query. The code to answer with if it is not one plain question of class IN for a host's name.
// Code::ok in the error: it deserves no answer at all (it is no query).
tl::expected<Question, Code> read_question(BytesView query);

// A query for only this question: anything else in the client's query is dropped.
Bytes query_for(const Question& question, std::uint16_t id);

// Is it a type of addresses? Nothing else has content for a sandbox.
bool asks_for_address(const Question& question);

// An answer without content. Empty if the query has no header to answer.
Bytes reply_with(BytesView query, Code code);

// A CNAME: one name stands for another.
struct Alias {
  std::string owner, target;  // "": a name that no host has
};

// The names that `name` leads to by these, itself first. `alias` gives the i-th record, or nothing where that is no
// CNAME; each is asked for once. Of several with one owner the first counts. Nothing: they are more than kLongestChain.
inline constexpr std::size_t kLongestChain = 16;
std::optional<std::vector<std::string>> chain_from(const std::string& name, std::size_t records,
                                                   const std::function<std::optional<Alias>(std::size_t)>& alias);

struct Learned {
  policy::Address address{};
  std::uint32_t ttl_s = 0;  // as the server said
};

struct Filtered {
  Bytes reply;                            // for TCP; fit_udp() makes it fit a datagram
  std::vector<Learned> learned;           // the addresses in the reply
  std::vector<policy::Address> withheld;  // addresses that were taken out
};

// The part of an upstream's answer that belongs to the question: the chain of CNAMEs from its name, and the A or AAAA
// records at the end of it whose address `may_have`. TTLs are at most `longest_ttl_s`. Other types and all other
// content are left out: a client that asks for HTTPS or SVCB finds that there is none. If every address was withheld,
// the reply says that the name has none. Error: it is no answer to this query; nothing of it is to be believed.
Result<Filtered> filter_answer(BytesView query, BytesView answer, std::uint32_t longest_ttl_s,
                               const std::function<bool(const policy::Address&)>& may_have);

// The reply, or where it is larger than `size` only its head, with the sign to ask again by TCP.
Bytes fit_udp(const Bytes& reply, std::size_t size);

}  // namespace sbpf::agent::dns
