// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/dns_packet.h"

namespace sbpf::agent::dns {
namespace {

Packet parse(const Bytes& bytes) {
  ldns_pkt* packet = nullptr;
  EXPECT_EQ(ldns_wire2pkt(&packet, bytes.data(), bytes.size()), LDNS_STATUS_OK);
  return Packet(packet);
}

Packet query_for(const char* name, ldns_rr_type type = LDNS_RR_TYPE_A, ldns_rr_class in = LDNS_RR_CLASS_IN) {
  Packet query(ldns_pkt_query_new(ldns_dname_new_frm_str(name), type, in, LDNS_RD));
  ldns_pkt_set_id(query.get(), 4711);
  return query;
}

// An answer to the query, with these records in the answer section.
Bytes answer_to(const ldns_pkt& query, const std::vector<std::string>& records,
                ldns_pkt_rcode code = LDNS_RCODE_NOERROR) {
  Packet answer(ldns_pkt_new());
  ldns_pkt_set_id(answer.get(), ldns_pkt_id(&query));
  ldns_pkt_set_qr(answer.get(), true);
  ldns_pkt_set_rcode(answer.get(), static_cast<std::uint8_t>(code));
  ldns_pkt_push_rr(answer.get(), LDNS_SECTION_QUESTION, ldns_rr_clone(ldns_rr_list_rr(ldns_pkt_question(&query), 0)));
  for (const std::string& text : records) {
    ldns_rr* record = nullptr;
    EXPECT_EQ(ldns_rr_new_frm_str(&record, text.c_str(), 0, nullptr, nullptr), LDNS_STATUS_OK) << text;
    ldns_pkt_push_rr(answer.get(), LDNS_SECTION_ANSWER, record);
  }
  return wire_of(*answer);
}

bool is_public(const policy::Address& address) { return address[12] != 10 && address[12] != 127; }

std::vector<std::string> texts_of(const Bytes& reply) {
  std::vector<std::string> texts;
  const Packet packet = parse(reply);
  const ldns_rr_list* answers = ldns_pkt_answer(packet.get());
  for (std::size_t i = 0; i < ldns_rr_list_rr_count(answers); ++i) {
    char* text = ldns_rr2str(ldns_rr_list_rr(answers, i));
    texts.emplace_back(text);
    std::free(text);
    for (char& c : texts.back()) c = c == '\t' ? ' ' : c;
    while (texts.back().ends_with('\n')) texts.back().pop_back();
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(DnsQuestion, is_read) {
  const auto question = read_question(wire_of(*query_for("Packages.Example.ORG.", LDNS_RR_TYPE_AAAA)));
  ASSERT_TRUE(question);
  EXPECT_EQ(question->name, "packages.example.org");
  EXPECT_EQ(question->type, LDNS_RR_TYPE_AAAA);
  EXPECT_EQ(question->udp_size, kSmallestUdp);
}

TEST(DnsQuestion, takes_the_size_that_edns_says_within_bounds) {
  for (const auto& [said, taken] : {std::pair<int, std::size_t>{4096, kLargestUdp}, {100, kSmallestUdp}, {800, 800}}) {
    const Packet query = query_for("a.");
    ldns_pkt_set_edns_udp_size(query.get(), static_cast<std::uint16_t>(said));
    EXPECT_EQ(read_question(wire_of(*query))->udp_size, taken);
  }
}

TEST(DnsQuestion, that_is_none_is_told) {
  EXPECT_EQ(read_question({}).error(), Code::ok);
  EXPECT_EQ(read_question(Bytes(11, 0)).error(), Code::ok);
  EXPECT_EQ(read_question(Bytes(12, 0)).error(), Code::bad_format);  // asks nothing
  const Packet two = query_for("a.example.");
  ldns_pkt_push_rr(two.get(), LDNS_SECTION_QUESTION, ldns_rr_clone(ldns_rr_list_rr(ldns_pkt_question(two.get()), 0)));
  EXPECT_EQ(read_question(wire_of(*two)).error(), Code::bad_format);
  Bytes cut = wire_of(*query_for("a.example."));
  cut.resize(cut.size() - 3);
  EXPECT_EQ(read_question(cut).error(), Code::bad_format);
  EXPECT_EQ(read_question(wire_of(*query_for("a.", LDNS_RR_TYPE_A, LDNS_RR_CLASS_CH))).error(), Code::refused);
  EXPECT_EQ(read_question(wire_of(*query_for("a\\046b."))).error(), Code::no_such_name);  // a dot within a label
  EXPECT_EQ(read_question(wire_of(*query_for("a\\000."))).error(), Code::no_such_name);
  EXPECT_EQ(read_question(wire_of(*query_for("."))).error(), Code::no_such_name);
  const Packet answer = query_for("a.");
  ldns_pkt_set_qr(answer.get(), true);
  EXPECT_EQ(read_question(wire_of(*answer)).error(), Code::ok);
  const Packet update = query_for("a.");
  ldns_pkt_set_opcode(update.get(), LDNS_PACKET_UPDATE);
  EXPECT_EQ(read_question(wire_of(*update)).error(), Code::not_implemented);
}

TEST(DnsReply, without_content_has_the_question_and_the_code) {
  const Bytes reply = reply_with(wire_of(*query_for("a.example.")), Code::refused);
  const Packet packet = parse(reply);
  EXPECT_EQ(ldns_pkt_id(packet.get()), 4711);
  EXPECT_TRUE(ldns_pkt_qr(packet.get()));
  EXPECT_TRUE(ldns_pkt_ra(packet.get()));
  EXPECT_EQ(ldns_pkt_get_rcode(packet.get()), LDNS_RCODE_REFUSED);
  EXPECT_EQ(ldns_pkt_qdcount(packet.get()), 1);
  EXPECT_EQ(ldns_pkt_ancount(packet.get()), 0);
}

TEST(DnsReply, to_what_cannot_be_read_is_a_header) {
  Bytes cut = wire_of(*query_for("a.example."));
  cut.resize(cut.size() - 3);
  const Bytes reply = reply_with(cut, Code::bad_format);
  ASSERT_EQ(reply.size(), 12u);
  EXPECT_EQ(reply[0] << 8 | reply[1], 4711);
  EXPECT_EQ(reply[2] & 0x80, 0x80);
  EXPECT_EQ(reply[3] & 0x0f, 1);
  EXPECT_TRUE(reply_with(Bytes(5, 0), Code::bad_format).empty());
}

TEST(DnsAnswer, gives_the_addresses_of_the_name) {
  const Packet query = query_for("a.example.");
  const auto filtered = filter_answer(
      wire_of(*query), answer_to(*query, {"a.example. 60 IN A 192.0.2.1", "A.EXAMPLE. 9000 IN A 192.0.2.2"}), 300,
      is_public);
  ASSERT_TRUE(filtered);
  ASSERT_EQ(filtered->learned.size(), 2u);
  EXPECT_EQ(policy::to_string(filtered->learned[0].address), "192.0.2.1");
  EXPECT_EQ(filtered->learned[0].ttl_s, 60u);
  EXPECT_EQ(filtered->learned[1].ttl_s, 9000u);
  const Texts texts = texts_of(filtered->reply);
  EXPECT_EQ(texts[0], "a.example. 60 IN A 192.0.2.1");
  EXPECT_NE(texts[1].find(" 300 IN A 192.0.2.2"), std::string::npos);
}

TEST(DnsAnswer, follows_names_and_leaves_out_what_nobody_asked_for) {
  const Packet query = query_for("a.example.");
  const auto filtered =
      filter_answer(wire_of(*query),
                    answer_to(*query, {"cdn.example.net. 60 IN A 192.0.2.1", "a.example. 60 IN CNAME b.example.",
                                       "b.example. 60 IN CNAME cdn.example.net.", "other.example. 60 IN A 192.0.2.9",
                                       "cdn.example.net. 60 IN TXT \"x\"", "a.example. 60 IN AAAA 2001:db8::1"}),
                    300, is_public);
  ASSERT_TRUE(filtered);
  ASSERT_EQ(filtered->learned.size(), 1u);
  EXPECT_EQ(policy::to_string(filtered->learned[0].address), "192.0.2.1");
  EXPECT_EQ(texts_of(filtered->reply).size(), 3u);
}

TEST(DnsAnswer, with_a_loop_of_names_ends) {
  const Packet query = query_for("a.example.");
  const auto filtered = filter_answer(
      wire_of(*query), answer_to(*query, {"a.example. 60 IN CNAME b.example.", "b.example. 60 IN CNAME a.example."}),
      300, is_public);
  ASSERT_TRUE(filtered);
  EXPECT_TRUE(filtered->learned.empty());
}

// a.example. leads through so many names to an address.
Texts led_through(int names) {
  Texts records;
  for (int i = 0; i < names; ++i)
    records.push_back((i == 0 ? "a.example." : "n" + std::to_string(i) + ".example.") + " 60 IN CNAME n" +
                      std::to_string(i + 1) + ".example.");
  records.push_back("n" + std::to_string(names) + ".example. 60 IN A 192.0.2.1");
  return records;
}

TEST(DnsAnswer, leads_through_so_many_names) {
  const Packet query = query_for("a.example.");
  const auto filtered = filter_answer(wire_of(*query), answer_to(*query, led_through(kLongestChain)), 300, is_public);
  ASSERT_TRUE(filtered);
  EXPECT_EQ(filtered->learned.size(), 1u);
  EXPECT_EQ(texts_of(filtered->reply).size(), kLongestChain + 1);
  for (const int names : {static_cast<int>(kLongestChain) + 1, 2700})
    EXPECT_FALSE(filter_answer(wire_of(*query), answer_to(*query, led_through(names)), 300, is_public)) << names;
}

// In the order that is worst for whoever looks for the next name from the beginning each time.
TEST(DnsAnswer, each_record_is_read_once_for_the_chain) {
  constexpr std::size_t kRecords = 2700;
  for (const std::size_t length : {std::size_t{3}, kLongestChain, kRecords}) {
    std::size_t read = 0;
    const auto chain = chain_from("n0", kRecords, [&](std::size_t i) -> std::optional<Alias> {
      ++read;
      const std::size_t from = kRecords - 1 - i;
      if (from >= length) return std::nullopt;
      return Alias{"n" + std::to_string(from), "n" + std::to_string(from + 1)};
    });
    EXPECT_EQ(read, kRecords);
    ASSERT_EQ(chain.has_value(), length <= kLongestChain);
    EXPECT_EQ(chain.value_or(std::vector<std::string>()).size(), length <= kLongestChain ? length + 1 : 0);
  }
}

TEST(DnsAnswer, of_two_aliases_of_a_name_the_first_counts) {
  const std::vector<Alias> aliases = {{"a", "b"}, {"a", "c"}, {"b", ""}, {"c", "d"}};
  const auto chain = chain_from("a", aliases.size(), [&](std::size_t i) { return std::optional(aliases[i]); });
  EXPECT_EQ(chain, (std::vector<std::string>{"a", "b"}));
}

TEST(DnsAnswer, withholds_addresses) {
  const Packet query = query_for("a.example.");
  auto filtered =
      filter_answer(wire_of(*query), answer_to(*query, {"a.example. 60 IN A 10.0.0.1", "a.example. 60 IN A 192.0.2.1"}),
                    300, is_public);
  ASSERT_TRUE(filtered);
  EXPECT_EQ(filtered->learned.size(), 1u);
  EXPECT_EQ(filtered->withheld.size(), 1u);
  EXPECT_EQ(texts_of(filtered->reply), (Texts{"a.example. 60 IN A 192.0.2.1"}));
  filtered = filter_answer(wire_of(*query),
                           answer_to(*query, {"a.example. 60 IN CNAME b.example.", "b.example. 60 IN A 127.0.0.1"}),
                           300, is_public);
  ASSERT_TRUE(filtered);
  EXPECT_TRUE(filtered->learned.empty());
  EXPECT_EQ(ldns_pkt_get_rcode(parse(filtered->reply).get()),
            LDNS_RCODE_NOERROR);  // it may have addresses of the other family
  EXPECT_TRUE(texts_of(filtered->reply).empty());
}

TEST(DnsAnswer, of_other_types_is_empty) {
  for (const ldns_rr_type type : {LDNS_RR_TYPE_TXT, LDNS_RR_TYPE_MX, static_cast<ldns_rr_type>(65)}) {
    const Packet query = query_for("a.example.", type);
    const auto filtered =
        filter_answer(wire_of(*query), answer_to(*query, {"a.example. 60 IN TXT \"data\""}), 300, is_public);
    ASSERT_TRUE(filtered);
    EXPECT_TRUE(texts_of(filtered->reply).empty());
    EXPECT_EQ(ldns_pkt_get_rcode(parse(filtered->reply).get()), LDNS_RCODE_NOERROR);
  }
}

TEST(DnsAnswer, that_says_no_says_no) {
  const Packet query = query_for("a.example.");
  const auto filtered = filter_answer(wire_of(*query), answer_to(*query, {}, LDNS_RCODE_NXDOMAIN), 300, is_public);
  ASSERT_TRUE(filtered);
  EXPECT_EQ(ldns_pkt_get_rcode(parse(filtered->reply).get()), LDNS_RCODE_NXDOMAIN);
}

TEST(DnsAnswer, to_another_query_is_not_believed) {
  const Packet query = query_for("a.example.");
  const Texts records = {"a.example. 60 IN A 192.0.2.1"};
  const auto believed = [&](const Bytes& answer) {
    return filter_answer(wire_of(*query), answer, 300, is_public).has_value();
  };
  EXPECT_TRUE(believed(answer_to(*query, records)));
  const Packet other_id = query_for("a.example.");
  ldns_pkt_set_id(other_id.get(), 1);
  EXPECT_FALSE(believed(answer_to(*other_id, records)));
  EXPECT_FALSE(believed(answer_to(*query_for("b.example."), records)));
  EXPECT_FALSE(believed(answer_to(*query_for("a.example.", LDNS_RR_TYPE_AAAA), records)));
  EXPECT_FALSE(believed(wire_of(*query)));  // no answer at all
  EXPECT_FALSE(believed({}));
  EXPECT_FALSE(believed(answer_to(*query, Texts(4100, "a. 60 IN A 1.2.3.4"))));
}

TEST(DnsAnswer, that_is_too_large_for_udp_says_so) {
  const Packet query = query_for("a.example.");
  Texts records;
  for (int i = 0; i < 100; ++i) records.push_back("a.example. 60 IN A 192.0.2." + std::to_string(i));
  const auto filtered = filter_answer(wire_of(*query), answer_to(*query, records), 300, is_public);
  ASSERT_TRUE(filtered);
  EXPECT_EQ(filtered->learned.size(), 100u);
  const Bytes head = fit_udp(filtered->reply, 512);
  ASSERT_LE(head.size(), 512u);
  EXPECT_TRUE(ldns_pkt_tc(parse(head).get()));
  EXPECT_TRUE(texts_of(head).empty());
  EXPECT_EQ(fit_udp(filtered->reply, 65535), filtered->reply);
}

}  // namespace
}  // namespace sbpf::agent::dns
