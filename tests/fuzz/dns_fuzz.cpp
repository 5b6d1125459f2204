// SPDX-License-Identifier: Apache-2.0
// Any bytes as a query, and the rest of them as an answer to one. Violations abort:
//   - a question whose name has what no host's name has;
//   - a reply that cannot be read, is to another query, or has addresses that may not be had;
//   - an answer that opens what it does not tell.
// Input: a byte with the length of the query, the query, the answer.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/dns/message.h"

namespace {

using namespace sbpf::agent::dns;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

bool is_reply_to(const Bytes& reply, BytesView query) {
  return reply.size() >= 12 && std::memcmp(reply.data(), query.data(), 2) == 0 && (reply[2] & 0x80) != 0;
}

// Of an answer that is a query's in all but its number and the sign that it is one.
Bytes made_to_fit(BytesView query, BytesView answer) {
  Bytes fitting(answer.begin(), answer.end());
  if (fitting.size() < 12 || query.size() < 12) return fitting;
  fitting[0] = query[0];
  fitting[1] = query[1];
  fitting[2] |= 0x80;
  return fitting;
}

void check_answer(BytesView query, BytesView answer) {
  const auto filtered = filter_answer(query, answer, 300, sbpf::policy::is_public);
  if (!filtered) return;
  require(is_reply_to(filtered->reply, query), "a reply is to its query");
  for (const Learned& learned : filtered->learned)
    require(sbpf::policy::is_public(learned.address), "only public addresses are opened");
  for (const std::size_t size : {kSmallestUdp, kLargestUdp}) {
    const Bytes cut = fit_udp(filtered->reply, size);
    require(cut.size() <= size && is_reply_to(cut, query), "a reply fits");
  }
  // What goes to the sandbox, read as it will be.
  const auto again = filter_answer(query, filtered->reply, 300, [](const sbpf::policy::Address&) { return true; });
  require(again.has_value(), "a reply can be read");
  require(again->learned.size() == filtered->learned.size(), "what is told is what is opened");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const BytesView all(data + 1, size - 1);
  const BytesView query = all.first(std::min<std::size_t>(data[0], all.size())), answer = all.subspan(query.size());
  const auto question = read_question(query);
  if (question) {
    require(!question->name.empty() && question->name.size() <= 255, "a question has a name");
    require(std::all_of(question->name.begin(), question->name.end(),
                        [](char c) {
                          return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                        }),
            "a name is plain");
    require(question->udp_size >= kSmallestUdp && question->udp_size <= kLargestUdp, "a size is within bounds");
  }
  if (const Bytes refusal = reply_with(query, Code::refused); !refusal.empty())
    require(is_reply_to(refusal, query), "a refusal is to its query");
  check_answer(query, answer);
  check_answer(query, made_to_fit(query, answer));
  return 0;
}
