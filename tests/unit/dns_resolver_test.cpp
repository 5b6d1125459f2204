// SPDX-License-Identifier: Apache-2.0
// The resolver between a client and a fake upstream, all on loopback.
#include "tests/unit/dns_upstream.h"

namespace sbpf::agent::dns {
namespace {

class Resolver : public testing::Test {
 protected:
  Resolver() {
    rules_->hosts = {{"a.example", {{443, 443}}, policy::Protocol::any, {}},
                     {"*.b.example", {{443, 443}}, policy::Protocol::any, {}}};
    rules_->upstreams = {{*policy::parse_address("127.0.0.1"), upstream_.port()}};
    rules_->may_have = policy::is_public;
    rules_->learn = [this](const auto& rules, const std::string& name, const Learned& learned) {
      std::lock_guard lock(mutex_);
      EXPECT_FALSE(name.empty());
      learned_.push_back(policy::to_string(learned.address) + " for " + rules.front()->pattern);
      return learns_;
    };
    options_.rules = [this] {
      std::lock_guard lock(mutex_);
      return rules_;
    };
    options_.tell = [this](const Told& told) {
      std::lock_guard lock(mutex_);
      told_.push_back(told);
    };
  }
  ~Resolver() override {
    if (thread_.joinable()) {
      stop_.reset();
      thread_.join();
    }
  }
  void start() {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    stop_ = Fd(ends[1]);
    port_ = listeners_.port;
    thread_ = std::thread([this, end = ends[0]] {
      Fd stop(end);
      std::vector<Listener> listeners;
      listeners.push_back({std::move(listeners_.udp), std::move(listeners_.tcp)});
      serve(options_, std::move(listeners), stop);
    });
  }
  static Bytes query(const char* name, ldns_rr_type type = LDNS_RR_TYPE_A, std::uint16_t edns = 0) {
    Packet packet(ldns_pkt_query_new(ldns_dname_new_frm_str(name), type, LDNS_RR_CLASS_IN, LDNS_RD));
    ldns_pkt_set_id(packet.get(), 4711);
    if (edns != 0) ldns_pkt_set_edns_udp_size(packet.get(), edns);
    return wire_of(*packet);
  }
  Packet ask(const Bytes& question, int ms = 5000) {
    const Fd client = connected(SOCK_DGRAM, port_);
    EXPECT_EQ(::send(client.get(), question.data(), question.size(), 0), static_cast<ssize_t>(question.size()));
    const Bytes reply = read_some(client, ms);
    return reply.empty() ? nullptr : parse(reply);
  }
  std::vector<std::string> learned() {
    std::lock_guard lock(mutex_);
    return learned_;
  }
  Outcome last() {
    std::lock_guard lock(mutex_);
    return told_.empty() ? Outcome::failed : told_.back().outcome;
  }

  bool told(Outcome outcome) {
    std::lock_guard lock(mutex_);
    return std::any_of(told_.begin(), told_.end(), [&](const Told& one) { return one.outcome == outcome; });
  }

  Upstream4Test upstream_;
  Listeners listeners_;
  void replace(std::shared_ptr<Rules> rules) {
    std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
  }

  Options options_;
  std::shared_ptr<Rules> rules_ = std::make_shared<Rules>();
  std::uint16_t port_ = 0;
  bool learns_ = true;

 private:
  std::mutex mutex_;
  std::vector<std::string> learned_;
  std::vector<Told> told_;
  Fd stop_;
  std::thread thread_;
};

TEST_F(Resolver, answers_for_an_allowed_name_once_it_was_learned) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  start();
  const Packet reply = ask(query("A.Example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_id(reply.get()), 4711);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(learned(), (std::vector<std::string>{"1.2.3.4 for a.example"}));
  EXPECT_EQ(last(), Outcome::answered);
}

TEST_F(Resolver, refuses_other_names_without_asking_anyone) {
  start();
  for (const char* name : {"c.example.", "x.a.example.", "b.example.", "x.y.b.example."}) {
    const Packet reply = ask(query(name));
    ASSERT_TRUE(reply);
    EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_NXDOMAIN);
    EXPECT_EQ(last(), Outcome::refused_name);
  }
  EXPECT_EQ(upstream_.asked, 0);
  EXPECT_TRUE(learned().empty());
}

TEST_F(Resolver, answers_for_other_types_without_asking_anyone) {
  start();
  for (const ldns_rr_type type : {LDNS_RR_TYPE_TXT, LDNS_RR_TYPE_MX, static_cast<ldns_rr_type>(65), LDNS_RR_TYPE_ANY}) {
    const Packet reply = ask(query("a.example.", type));
    ASSERT_TRUE(reply);
    EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_NOERROR);
    EXPECT_EQ(ldns_pkt_ancount(reply.get()), 0);
  }
  EXPECT_EQ(upstream_.asked, 0);
}

TEST_F(Resolver, sends_on_the_question_and_nothing_else) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  start();
  Bytes loud = query("A.eXAMPLE.", LDNS_RR_TYPE_A, 4096);
  loud[3] |= 0x30;            // AD, CD
  loud[loud.size() - 1] = 9;  // an EDNS option of five bytes
  loud.insert(loud.end(), {0xff, 0xfe, 0, 5, 's', 'p', 'e', 'a', 'k'});
  const Packet reply = ask(loud);
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(upstream_.last(), query_for({"a.example", LDNS_RR_TYPE_A, 0},
                                        static_cast<std::uint16_t>(upstream_.last()[0] << 8 | upstream_.last()[1])));
}

TEST_F(Resolver, withholds_private_addresses) {
  upstream_.records["a.example."] = {"a.example. 60 IN CNAME p.example.", "p.example. 60 IN A 127.0.0.1"};
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_NOERROR);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 0);
  EXPECT_TRUE(learned().empty());
  EXPECT_EQ(last(), Outcome::withheld);
}

TEST_F(Resolver, fails_what_cannot_be_learned) {
  learns_ = false;
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_SERVFAIL);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 0);
}

TEST_F(Resolver, waits_past_answers_that_are_not_to_its_question) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  upstream_.wrong_id_first = upstream_.garbage_first = true;
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
}

TEST_F(Resolver, asks_the_next_upstream_when_one_is_silent) {
  Upstream4Test mute;
  mute.silent = true;
  options_.limits.patience = std::chrono::milliseconds(100);
  rules_->upstreams.insert(rules_->upstreams.begin(), {*policy::parse_address("127.0.0.1"), mute.port()});
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(mute.asked, 1);
}

TEST_F(Resolver, fails_without_rules) {
  rules_.reset();
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_SERVFAIL);
  EXPECT_EQ(upstream_.asked, 0);
}

TEST_F(Resolver, answers_by_the_rules_that_hold_when_the_answer_is_there) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  upstream_.when_asked = [this] {
    auto others = std::make_shared<Rules>(*rules_);
    others->hosts = {{"b.example", {{443, 443}}, policy::Protocol::any, {}}};
    replace(std::move(others));
  };
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_NXDOMAIN);
  EXPECT_EQ(last(), Outcome::refused_name);
  EXPECT_TRUE(learned().empty());
  EXPECT_EQ(upstream_.asked, 1);
}

TEST_F(Resolver, asks_again_when_the_rules_are_replaced_meanwhile) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  upstream_.when_asked = [this] {
    if (upstream_.asked == 1) replace(std::make_shared<Rules>(*rules_));
  };
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(learned().size(), 1u);
  EXPECT_EQ(upstream_.asked, 2);
}

TEST_F(Resolver, asks_again_when_the_rules_are_replaced_while_it_opens) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  std::atomic<int> opened{0};
  rules_->learn = [&](const auto&, const std::string&, const Learned&) {
    if (opened++ == 0) replace(std::make_shared<Rules>(*rules_));
    return true;
  };
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(opened, 2);
  EXPECT_EQ(upstream_.asked, 2);
}

TEST_F(Resolver, fails_when_no_upstream_answers) {
  upstream_.silent = true;
  options_.limits.patience = std::chrono::milliseconds(100);
  start();
  const Packet reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_get_rcode(reply.get()), LDNS_RCODE_SERVFAIL);
  EXPECT_EQ(last(), Outcome::failed);
}

TEST_F(Resolver, takes_large_answers_by_tcp_and_gives_them_by_tcp) {
  for (int i = 0; i < 250; ++i)
    upstream_.records["a.example."].push_back("a.example. 60 IN A 1.2.3." + std::to_string(i));
  start();
  const Packet cut = ask(query("a.example.", LDNS_RR_TYPE_A, 4096));
  ASSERT_TRUE(cut);
  EXPECT_TRUE(ldns_pkt_tc(cut.get()));
  EXPECT_EQ(ldns_pkt_ancount(cut.get()), 0);
  EXPECT_EQ(upstream_.asked_tcp, 1);
  const Fd client = connected(SOCK_STREAM, port_);
  for (int i = 0; i < 2; ++i) {  // two on one connection
    write_message(client, query("a.example."));
    const Packet whole = parse(read_message(client));
    ASSERT_TRUE(whole);
    EXPECT_EQ(ldns_pkt_ancount(whole.get()), 250);
  }
}

TEST_F(Resolver, that_only_audits_answers_all_and_tells) {
  rules_->audit = true;
  upstream_.records["c.example."] = {"c.example. 60 IN A 10.0.0.1"};
  upstream_.records["a.example."] = {"a.example. 60 IN A 127.0.0.1"};
  start();
  Packet reply = ask(query("c.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(last(), Outcome::refused_name);
  reply = ask(query("a.example."));
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
  EXPECT_EQ(last(), Outcome::withheld);
  EXPECT_TRUE(learned().empty());
}

TEST_F(Resolver, admits_so_many_new_names_below_a_star_and_known_ones_on) {
  options_.limits.new_names_per_hour = 3;
  start();
  const auto code = [&](const std::string& name) {
    const Packet reply = ask(query(name.c_str()));
    return reply ? static_cast<int>(ldns_pkt_get_rcode(reply.get())) : -1;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(code("n" + std::to_string(i) + ".b.example."), LDNS_RCODE_NOERROR);
  EXPECT_EQ(code("n3.b.example."), LDNS_RCODE_NXDOMAIN);
  EXPECT_EQ(last(), Outcome::refused_new_names);
  EXPECT_EQ(code("N1.b.example."), LDNS_RCODE_NOERROR);
  EXPECT_EQ(code("a.example."), LDNS_RCODE_NOERROR);
  EXPECT_EQ(upstream_.asked, 5);
}

// Sends each, and counts the replies that come.
int replies_to(const std::vector<Bytes>& queries, std::uint16_t port) {
  const Fd client = connected(SOCK_DGRAM, port);
  for (const Bytes& query : queries)
    EXPECT_EQ(::send(client.get(), query.data(), query.size(), 0), static_cast<ssize_t>(query.size()));
  int replies = 0;
  while (!read_some(client, 300).empty()) ++replies;
  return replies;
}

// Four in reserve, and perhaps one that came to it meanwhile.
bool are_in_reserve(int queries) { return queries == 4 || queries == 5; }

TEST_F(Resolver, drops_what_comes_too_fast) {
  options_.limits.queries_per_second = 1;
  start();
  const int replies = replies_to(std::vector<Bytes>(20, query("a.example.")), port_);
  EXPECT_TRUE(are_in_reserve(replies)) << replies;
  EXPECT_EQ(upstream_.asked, replies);
  EXPECT_TRUE(told(Outcome::refused_rate));
}

// It is dropped before it is read: what is no query, and what is refused, count as well.
TEST_F(Resolver, counts_whatever_comes) {
  options_.limits.queries_per_second = 1;
  start();
  std::vector<Bytes> queries{Bytes(12, 0), query("c.example."), Bytes(12, 0), query("c.example.")};
  queries.resize(20, query("a.example."));
  const int replies = replies_to(queries, port_);
  EXPECT_TRUE(are_in_reserve(replies)) << replies;
  EXPECT_LE(upstream_.asked, 1);
}

TEST_F(Resolver, closes_connections_that_ask_too_fast) {
  options_.limits.queries_per_second = 1;
  start();
  const Fd client = connected(SOCK_STREAM, port_);
  Bytes all;
  const Bytes one = query("a.example.");
  for (int i = 0; i < 20; ++i) {
    all.insert(all.end(), {0, static_cast<std::uint8_t>(one.size())});
    all.insert(all.end(), one.begin(), one.end());
  }
  EXPECT_EQ(::write(client.get(), all.data(), all.size()), static_cast<ssize_t>(all.size()));
  Bytes replies;  // several may come at once
  for (Bytes more = read_some(client); !more.empty(); more = read_some(client))
    replies.insert(replies.end(), more.begin(), more.end());
  int answered = 0;
  for (std::size_t at = 0; at + 1 < replies.size(); ++answered)
    at += 2u + static_cast<std::size_t>(replies[at] << 8 | replies[at + 1]);
  EXPECT_TRUE(are_in_reserve(answered)) << answered;
  EXPECT_EQ(upstream_.asked, answered);
}

TEST_F(Resolver, that_only_audits_drops_nothing) {
  rules_->audit = true;
  options_.limits.queries_per_second = 1;
  start();
  EXPECT_EQ(replies_to(std::vector<Bytes>(8, query("a.example.")), port_), 8);
}

TEST_F(Resolver, lives_through_malformed_packets) {
  upstream_.records["a.example."] = {"a.example. 60 IN A 1.2.3.4"};
  start();
  const Bytes good = query("a.example.", LDNS_RR_TYPE_A, 1232);
  for (std::size_t i = 0; i < good.size(); ++i) {
    Bytes bad(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i));
    (void)ask(bad, 1);
    bad = good;
    bad[i] ^= 0xff;
    (void)ask(bad, 1);
  }
  const Fd stream = connected(SOCK_STREAM, port_);
  const Bytes short_frame{0, 5, 1, 2};
  EXPECT_EQ(::write(stream.get(), short_frame.data(), short_frame.size()), 4);
  const Packet reply = ask(good);
  ASSERT_TRUE(reply);
  EXPECT_EQ(ldns_pkt_ancount(reply.get()), 1);
}

}  // namespace
}  // namespace sbpf::agent::dns
