// SPDX-License-Identifier: Apache-2.0
#include "agent/dns/message.h"

#include <ldns/ldns.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

namespace sbpf::agent::dns {
namespace {

constexpr std::size_t kHeader = 12, kMostRecords = 4096;

struct FreePacket {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};
using Packet = std::unique_ptr<ldns_pkt, FreePacket>;

Packet parse(BytesView bytes) {
  ldns_pkt* packet = nullptr;
  if (bytes.size() < kHeader || ldns_wire2pkt(&packet, bytes.data(), bytes.size()) != LDNS_STATUS_OK) return nullptr;
  return Packet(packet);
}

Bytes wire_of(const ldns_pkt& packet) {
  std::uint8_t* out = nullptr;
  std::size_t size = 0;
  if (ldns_pkt2wire(&out, &packet, &size) != LDNS_STATUS_OK) return {};
  Bytes bytes(out, out + size);
  std::free(out);
  return bytes;
}

// Lower case and without a dot at its end; "" if it has a character that no host's name has: two names that only an
// escape tells apart must not look alike.
std::string name_of(const ldns_rdf* owner) {
  char* text = ldns_rdf2str(owner);
  if (!text) return {};
  std::string name(text);
  std::free(text);
  if (name.ends_with('.')) name.pop_back();
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    if (!plain) return {};
  }
  return name;
}

const ldns_rr* only_question(const ldns_pkt& packet) {
  return ldns_pkt_qdcount(&packet) == 1 ? ldns_rr_list_rr(ldns_pkt_question(&packet), 0) : nullptr;
}

// A reply to the query, without records.
Packet empty_reply(const ldns_pkt& query, Code code) {
  Packet reply(ldns_pkt_new());
  if (!reply) return nullptr;
  ldns_pkt_set_id(reply.get(), ldns_pkt_id(&query));
  ldns_pkt_set_qr(reply.get(), true);
  ldns_pkt_set_rd(reply.get(), ldns_pkt_rd(&query));
  ldns_pkt_set_ra(reply.get(), true);
  ldns_pkt_set_opcode(reply.get(), ldns_pkt_get_opcode(&query));
  ldns_pkt_set_rcode(reply.get(), static_cast<std::uint8_t>(code));
  if (const ldns_rr* question = only_question(query))
    ldns_pkt_push_rr(reply.get(), LDNS_SECTION_QUESTION, ldns_rr_clone(question));
  if (ldns_pkt_edns(&query)) ldns_pkt_set_edns_udp_size(reply.get(), kLargestUdp);
  return reply;
}

policy::Address address_of(const ldns_rr& record) {
  return policy::address_from(ldns_rdf_data(ldns_rr_rdf(&record, 0)),
                              ldns_rr_get_type(&record) == LDNS_RR_TYPE_A ? 4 : 16);
}

bool holds_address(const ldns_rr& record, ldns_rr_type type) {
  const std::size_t size = type == LDNS_RR_TYPE_A ? 4 : 16;
  return ldns_rr_get_type(&record) == type && ldns_rr_rd_count(&record) == 1 &&
         ldns_rdf_size(ldns_rr_rdf(&record, 0)) == size;
}

std::optional<Alias> alias_of(const ldns_rr& record) {
  if (ldns_rr_get_type(&record) != LDNS_RR_TYPE_CNAME || ldns_rr_rd_count(&record) != 1) return std::nullopt;
  return Alias{name_of(ldns_rr_owner(&record)), name_of(ldns_rr_rdf(&record, 0))};
}

tl::unexpected<Error> no_answer(const char* why) {
  return fail("dns_answer", fmt::format("the server's answer {}", why));
}

}  // namespace

tl::expected<Question, Code> read_question(BytesView query) {
  const Packet packet = parse(query);
  if (!packet) return tl::unexpected(query.size() < kHeader ? Code::ok : Code::bad_format);
  if (ldns_pkt_qr(packet.get())) return tl::unexpected(Code::ok);
  if (ldns_pkt_get_opcode(packet.get()) != LDNS_PACKET_QUERY) return tl::unexpected(Code::not_implemented);
  const ldns_rr* question = only_question(*packet);
  if (!question || ldns_pkt_ancount(packet.get()) != 0) return tl::unexpected(Code::bad_format);
  if (ldns_rr_get_class(question) != LDNS_RR_CLASS_IN) return tl::unexpected(Code::refused);
  Question asked;
  asked.name = name_of(ldns_rr_owner(question));
  asked.type = static_cast<std::uint16_t>(ldns_rr_get_type(question));
  if (asked.name.empty()) return tl::unexpected(Code::no_such_name);
  if (ldns_pkt_edns(packet.get()))
    asked.udp_size = std::clamp<std::size_t>(ldns_pkt_edns_udp_size(packet.get()), kSmallestUdp, kLargestUdp);
  return asked;
}

Bytes query_for(const Question& question, std::uint16_t id) {
  ldns_rdf* name = ldns_dname_new_frm_str((question.name + ".").c_str());
  if (!name) return {};
  const Packet query(ldns_pkt_query_new(name, static_cast<ldns_rr_type>(question.type), LDNS_RR_CLASS_IN, LDNS_RD));
  if (!query) {
    ldns_rdf_deep_free(name);
    return {};
  }
  ldns_pkt_set_id(query.get(), id);
  ldns_pkt_set_edns_udp_size(query.get(), kLargestUdp);
  return wire_of(*query);
}

bool asks_for_address(const Question& question) {
  return question.type == LDNS_RR_TYPE_A || question.type == LDNS_RR_TYPE_AAAA;
}

std::optional<std::vector<std::string>> chain_from(const std::string& name, std::size_t records,
                                                   const std::function<std::optional<Alias>(std::size_t)>& alias) {
  std::map<std::string, std::string> targets;  // no hash, whose collisions the server could choose
  for (std::size_t i = 0; i < records; ++i)
    if (auto found = alias(i)) targets.try_emplace(std::move(found->owner), std::move(found->target));
  std::vector<std::string> chain{name};
  for (auto next = targets.find(name); next != targets.end(); next = targets.find(chain.back())) {
    if (next->second.empty() || std::find(chain.begin(), chain.end(), next->second) != chain.end()) break;
    if (chain.size() > kLongestChain) return std::nullopt;
    chain.push_back(next->second);
  }
  return chain;
}

Bytes reply_with(BytesView query, Code code) {
  if (const Packet packet = parse(query))
    if (const Packet reply = empty_reply(*packet, code)) return wire_of(*reply);
  if (query.size() < kHeader) return {};
  // What cannot be read is answered by its header alone.
  Bytes reply(query.begin(), query.begin() + kHeader);
  reply[2] = static_cast<std::uint8_t>(0x80 | (reply[2] & 0x79));            // QR; opcode and RD as they came
  reply[3] = static_cast<std::uint8_t>(0x80 | static_cast<unsigned>(code));  // RA
  std::fill(reply.begin() + 4, reply.end(), std::uint8_t{0});
  return reply;
}

Result<Filtered> filter_answer(BytesView query, BytesView answer, std::uint32_t longest_ttl_s,
                               const std::function<bool(const policy::Address&)>& may_have) {
  const Packet asked = parse(query), given = parse(answer);
  if (!asked || !only_question(*asked)) return fail("dns_answer", "the query cannot be read");
  if (!given) return no_answer("cannot be read");
  const ldns_rr *question = only_question(*asked), *echoed = only_question(*given);
  if (!ldns_pkt_qr(given.get()) || ldns_pkt_id(given.get()) != ldns_pkt_id(asked.get()))
    return no_answer("is to another query");
  if (!echoed || ldns_rr_get_type(echoed) != ldns_rr_get_type(question) ||
      ldns_rr_get_class(echoed) != ldns_rr_get_class(question) ||
      name_of(ldns_rr_owner(echoed)) != name_of(ldns_rr_owner(question)))
    return no_answer("is to another question");
  const ldns_rr_list& answers = *ldns_pkt_answer(given.get());
  if (ldns_rr_list_rr_count(&answers) > kMostRecords) return no_answer("has too many records");

  const auto code = static_cast<Code>(ldns_pkt_get_rcode(given.get()));
  Packet reply = empty_reply(*asked, code);
  if (!reply) return fail("dns_answer", "out of memory");
  Filtered filtered;
  const ldns_rr_type type = ldns_rr_get_type(question);
  if (code == Code::ok && (type == LDNS_RR_TYPE_A || type == LDNS_RR_TYPE_AAAA)) {
    const auto chain = chain_from(name_of(ldns_rr_owner(question)), ldns_rr_list_rr_count(&answers),
                                  [&](std::size_t i) { return alias_of(*ldns_rr_list_rr(&answers, i)); });
    if (!chain) return no_answer("leads through too many names");
    for (std::size_t i = 0; i < ldns_rr_list_rr_count(&answers); ++i) {
      const ldns_rr* record = ldns_rr_list_rr(&answers, i);
      if (std::find(chain->begin(), chain->end(), name_of(ldns_rr_owner(record))) == chain->end()) continue;
      const bool is_address = holds_address(*record, type);
      if (!is_address && ldns_rr_get_type(record) != LDNS_RR_TYPE_CNAME) continue;
      if (is_address && !may_have(address_of(*record))) {
        filtered.withheld.push_back(address_of(*record));
        continue;
      }
      ldns_rr* kept = ldns_rr_clone(record);
      if (is_address) filtered.learned.push_back({address_of(*record), ldns_rr_ttl(record)});
      ldns_rr_set_ttl(kept, std::min(ldns_rr_ttl(record), longest_ttl_s));
      ldns_pkt_push_rr(reply.get(), LDNS_SECTION_ANSWER, kept);
    }
    if (filtered.learned.empty() && !filtered.withheld.empty()) reply = empty_reply(*asked, Code::ok);
  }
  filtered.reply = wire_of(*reply);
  if (filtered.reply.empty()) return no_answer("cannot be written");
  return filtered;
}

Bytes fit_udp(const Bytes& reply, std::size_t size) {
  if (reply.size() <= size) return reply;
  const Packet packet = parse(reply);
  if (!packet) return {};
  Packet head = empty_reply(*packet, static_cast<Code>(ldns_pkt_get_rcode(packet.get())));
  if (!head) return {};
  ldns_pkt_set_tc(head.get(), true);
  return wire_of(*head);
}

}  // namespace sbpf::agent::dns
