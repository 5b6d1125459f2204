// SPDX-License-Identifier: Apache-2.0
// The image, byte by byte: keys, slots, limits.
#include "policy/image.h"

#include <gtest/gtest.h>

#include <cstddef>

#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

sbpf_rule_key key_of(sbpf_rule_kind kind, sbpf_proto proto, const char* address, int prefix, sbpf_port_match match,
                     int port) {
  sbpf_rule_key key;
  std::memset(&key, 0, sizeof key);
  key.kind = static_cast<__u8>(kind);
  key.proto = static_cast<__u8>(proto);
  key.prefix_len = static_cast<__u8>(prefix);
  key.match = static_cast<__u8>(match);
  key.port = static_cast<__u16>(port);
  const Address bytes = parse_address(address).value();
  std::memcpy(key.addr, bytes.data(), bytes.size());
  return key;
}

template <typename Slot>
Slot slot_of(const Image& image, sbpf_header_slot slot) {
  sbpf_rule_key key;
  std::memset(&key, 0, sizeof key);
  key.port = static_cast<__u16>(slot);
  Slot value;
  std::memcpy(&value, &image.entries.at(key), sizeof value);
  return value;
}

std::size_t rules_of(const Image& image) { return image.entries.size() - SBPF_SLOT_MAX; }

TEST(Image, renumbered_is_the_same_under_another_generation) {
  const auto image = compile(policy_of("network: {connect: [{address: 127.0.0.53, ports: [53]}]}"), 7).value();
  const Image again = image.renumbered(9);
  EXPECT_EQ(image.header().generation, 7u);
  EXPECT_EQ(again.header().generation, 9u);
  EXPECT_EQ(image_sha256(again.entries), image_sha256(image.entries));
  EXPECT_EQ(std::memcmp(again.header().image_sha256, image.header().image_sha256, sizeof again.header().image_sha256),
            0);
  EXPECT_EQ(again.entries.size(), image.entries.size());
}

TEST(Image, single_ports_are_exact_keys_and_any_is_two_protocols) {
  const auto image = compile(policy_of("network: {connect: [{address: 127.0.0.53, ports: [53]}]}"), 7).value();
  EXPECT_EQ(rules_of(image), 2u);
  for (const sbpf_proto proto : {SBPF_PROTO_TCP, SBPF_PROTO_UDP}) {
    const sbpf_rule& rule = image.entries.at(key_of(SBPF_RULE_CONNECT, proto, "127.0.0.53", 128, SBPF_PORT_EXACT, 53));
    EXPECT_EQ(rule.n_ranges, 1u);
    EXPECT_EQ(rule.range[0].first, 53);
    EXPECT_EQ(rule.range[0].last, 53);
    EXPECT_EQ(rule.range[0].rule, 0u);
  }
  EXPECT_EQ(image.header().n_rules, 2u);
  EXPECT_EQ(image.header().generation, 7u);
  EXPECT_EQ(image.header().n_connect_prefixes, 0) << "exact /128 keys need no entry in the list of prefixes";
}

TEST(Image, ranges_expand_up_to_the_limit) {
  const auto small =
      compile(policy_of("network: {bind: [{address: 127.0.0.1, ports: [100-115], protocol: tcp}]}"), 1).value();
  EXPECT_EQ(rules_of(small), 16u);
  const auto large =
      compile(policy_of("network: {bind: [{address: 127.0.0.1, ports: [100-116], protocol: tcp}]}"), 1).value();
  EXPECT_EQ(rules_of(large), 1u);
  const sbpf_rule& rule =
      large.entries.at(key_of(SBPF_RULE_BIND, SBPF_PROTO_TCP, "127.0.0.1", 128, SBPF_PORT_RANGES, 0));
  EXPECT_EQ(rule.n_ranges, 1u);
  EXPECT_EQ(rule.range[0].first, 100);
  EXPECT_EQ(rule.range[0].last, 116);
  EXPECT_EQ(large.header().n_bind_prefixes, 1) << "range keys at /128 are found through the list";
  EXPECT_EQ(slot_of<sbpf_prefixes>(large, SBPF_SLOT_BIND_PREFIXES).len[0], 128);
}

TEST(Image, ranges_of_several_rules_do_not_overlap) {
  const Policy policy = policy_of(
      "network:\n  connect:\n"
      "    - {address: 127.0.0.1, ports: [100-200, 400-500], protocol: tcp}\n"
      "    - {address: 127.0.0.1, ports: [150-300], protocol: tcp}\n"
      "    - {address: 127.0.0.1, ports: [250-300], protocol: tcp}\n"
      "    - {address: 127.0.0.1, ports: [410-440], protocol: any}\n");
  const auto image = compile(policy, 1).value();
  const sbpf_rule& rule =
      image.entries.at(key_of(SBPF_RULE_CONNECT, SBPF_PROTO_TCP, "127.0.0.1", 128, SBPF_PORT_RANGES, 0));
  ASSERT_EQ(rule.n_ranges, 3u);
  for (std::uint32_t i = 1; i < rule.n_ranges; ++i) EXPECT_GT(rule.range[i].first, rule.range[i - 1].last);
  for (const int port : {100, 200, 201, 300, 400, 440, 500}) {
    NetQuery query{SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("127.0.0.1").value(),
                   static_cast<std::uint16_t>(port)};
    EXPECT_TRUE(allows(image, query)) << port;
    EXPECT_NE(explain(policy, image, query).rule, "");
  }
}

TEST(Image, a_port_that_two_ranges_end_and_begin_with_is_of_the_first) {
  const Policy policy = policy_of(
      "network:\n  connect:\n"
      "    - {address: 127.0.0.1, ports: [100-200], protocol: tcp}\n"
      "    - {address: 127.0.0.1, ports: [200-300], protocol: tcp}\n"
      "    - {address: 127.0.0.1, ports: [300-400], protocol: tcp}\n");
  const auto image = compile(policy, 1).value();
  const auto rule_at = [&](int port) {
    std::uint32_t rule = kNoRule;
    allows(image,
           {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("127.0.0.1").value(), static_cast<std::uint16_t>(port)},
           &rule);
    return rule;
  };
  EXPECT_EQ(rule_at(200), 0u);
  EXPECT_EQ(rule_at(300), 1u);
  EXPECT_EQ(rule_at(400), 2u);
}

TEST(Image, prefixes_are_listed_longest_first) {
  const auto image = compile(policy_of("network:\n  connect:\n"
                                       "    - {cidr: 10.0.0.0/8, ports: [1], protocol: tcp}\n"
                                       "    - {cidr: \"2001:db8::/32\", ports: [1], protocol: tcp}\n"
                                       "    - {cidr: 10.1.0.0/16, ports: [1], protocol: tcp}\n"
                                       "    - {cidr: 10.2.0.0/16, ports: [1], protocol: tcp}\n"
                                       "    - {address: 10.0.0.1, ports: [1], protocol: tcp}\n"),
                             1)
                         .value();
  EXPECT_EQ(image.header().n_connect_prefixes, 3);
  const auto prefixes = slot_of<sbpf_prefixes>(image, SBPF_SLOT_CONNECT_PREFIXES);
  EXPECT_EQ(prefixes.len[0], 112);
  EXPECT_EQ(prefixes.len[1], 104);
  EXPECT_EQ(prefixes.len[2], 32);
  EXPECT_EQ(prefixes.len[3], 0);
}

TEST(Image, added_rules_stand_beside_its_own) {
  auto image =
      compile(
          policy_of("network: {connect: [{address: 1.1.1.1, ports: [1-99, 443]}, {address: 2.2.2.2, ports: [1]}]}\n"),
          1)
          .value();
  const auto allows_port = [&](const char* address, int port) {
    return allows(
        image, NetQuery{SBPF_RULE_CONNECT, SBPF_PROTO_TCP, *parse_address(address), static_cast<std::uint16_t>(port)});
  };
  const HostRule host{"a.example", {{200, 299}, {443, 443}}, Protocol::tcp, {}, {}};
  for (const char* address : {"1.1.1.1", "3.3.3.3"}) {
    const Entries opened = opened_entries(host, 2, *parse_address(address)).value();
    for (const auto& [key, rule] : opened) add_rule(image, key, rule);
  }
  for (const int port : {1, 99, 200, 299, 443}) EXPECT_TRUE(allows_port("1.1.1.1", port)) << port;
  for (const int port : {200, 299, 443}) EXPECT_TRUE(allows_port("3.3.3.3", port)) << port;
  for (const int port : {100, 199, 300}) EXPECT_FALSE(allows_port("1.1.1.1", port)) << port;
  EXPECT_FALSE(allows_port("3.3.3.3", 1));
  EXPECT_FALSE(allows_port("2.2.2.2", 443));
}

// Ranges at a length that the policy itself has none of are found through its list of lengths.
TEST(Image, an_added_range_is_found_by_its_length) {
  auto image = compile(policy_of("network: {connect: [{cidr: 10.0.0.0/8, ports: [443]}]}\n"), 1).value();
  const HostRule host{"a.example", {{200, 299}}, Protocol::tcp, {}, {}};
  const Entries opened = opened_entries(host, 2, *parse_address("3.3.3.3")).value();
  for (const auto& [key, rule] : opened) add_rule(image, key, rule);
  const auto allows_tcp = [&](const char* address, std::uint16_t port) {
    return allows(image, {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, *parse_address(address), port});
  };
  EXPECT_EQ(image.header().n_connect_prefixes, 2);
  EXPECT_EQ(slot_of<sbpf_prefixes>(image, SBPF_SLOT_CONNECT_PREFIXES).len[0], 128);
  EXPECT_TRUE(allows_tcp("3.3.3.3", 250));
  EXPECT_TRUE(allows_tcp("10.1.2.3", 443)) << "what was there before";
}

TEST(Image, header_slots_say_what_the_policy_says) {
  const Policy policy = policy_of("mode: audit\non_loss: kill\nnetwork: {dangerously_allow_sockets: [ping, vsock]}\n");
  const auto image = compile(policy, 3).value();
  EXPECT_EQ(image.header().flags, static_cast<__u32>(SBPF_POLICY_AUDIT));
  EXPECT_EQ(image.header().sockets, 1u << SBPF_SOCKET_PING | 1u << SBPF_SOCKET_VSOCK);
  const auto id = slot_of<sbpf_policy_id>(image, SBPF_SLOT_ID);
  EXPECT_EQ(id.on_loss, SBPF_ON_LOSS_KILL);
  const auto digest = sha256(policy);
  EXPECT_EQ(std::memcmp(id.policy_sha256, digest.data(), digest.size()), 0);
  EXPECT_STREQ(slot_of<sbpf_policy_name>(image, SBPF_SLOT_NAME).name, "image");
  const auto all = compile(policy_of("network: {dangerously_allow_all: true}"), 1).value();
  EXPECT_EQ(all.header().flags, static_cast<__u32>(SBPF_POLICY_NET_ALLOW_ALL));
}

TEST(Image, limits_are_those_of_the_policy) {
  const auto limits = [](const std::string& text) {
    const auto image = compile(policy_of(text), 1).value();
    return limits_of(slot_of<sbpf_policy_process>(image, SBPF_SLOT_PROCESS));
  };
  const Limits all = limits("process: {limits: {processes: 7, memory: 5GiB, cpu: 1.5, open_files: 9}}");
  EXPECT_EQ(all.processes, 7u);
  EXPECT_EQ(all.memory_bytes, std::uint64_t{5} << 30);
  EXPECT_EQ(all.cpu_millis, 1500u);
  const Limits none = limits("mode: audit");
  EXPECT_FALSE(none.processes || none.memory_bytes || none.cpu_millis);
}

TEST(Image, digest_covers_every_entry_but_the_header) {
  auto image = compile(policy_of("network: {connect: [{cidr: 10.0.0.0/8, ports: [1-100]}]}"), 1).value();
  const auto digest = image_sha256(image.entries);
  const sbpf_policy_header header = image.header();
  EXPECT_EQ(std::memcmp(header.image_sha256, digest.data(), digest.size()), 0);
  for (auto& [key, value] : image.entries) {
    const bool is_header = key.kind == SBPF_RULE_HEADER && key.port == SBPF_SLOT_HEADER;
    value.pad ^= 1;  // one bit of any value
    EXPECT_EQ(image_sha256(image.entries) == digest, is_header) << "kind " << int{key.kind} << " slot " << key.port;
    value.pad ^= 1;
  }
  const auto later = compile(policy_of("network: {connect: [{cidr: 10.0.0.0/8, ports: [1-100]}]}"), 2).value();
  EXPECT_EQ(image_sha256(later.entries), digest) << "the generation is not content";
}

TEST(Image, padding_is_zero_and_unused_ranges_are_empty) {
  const auto image = compile(policy_of("network: {connect: [{cidr: 10.0.0.0/8, ports: [1-100, 7000]}]}"), 1).value();
  for (const auto& [key, value] : image.entries) {
    EXPECT_EQ(key.pad, 0);
    if (key.kind == SBPF_RULE_HEADER) continue;
    EXPECT_EQ(value.pad, 0u);
    for (std::uint32_t i = value.n_ranges; i < SBPF_MAX_RANGES; ++i) {
      EXPECT_EQ(value.range[i].first, 1);
      EXPECT_EQ(value.range[i].last, 0);
      EXPECT_EQ(value.range[i].rule, 0u);
    }
  }
}

TEST(ImageLimits, ranges_of_one_destination) {
  std::string ports = "100-199";
  for (int i = 1; i < SBPF_MAX_RANGES; ++i)
    ports += ", " + std::to_string(100 + i * 200) + "-" + std::to_string(199 + i * 200);
  EXPECT_TRUE(compile(policy_of("network: {connect: [{address: 127.0.0.1, ports: [" + ports + "]}]}"), 1));
  const auto image =
      compile(policy_of("network: {connect: [{address: 127.0.0.1, ports: [" + ports + ", 9000-9100]}]}"), 1);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code.text(), "too_many_ranges");
  EXPECT_NE(image.error().message.find("image.yaml:3:21"), std::string::npos) << image.error().message;
}

TEST(ImageLimits, touching_ranges_of_many_rules_are_joined_when_they_must) {
  std::string body = "network:\n  connect:\n";
  for (int i = 0; i < 2 * SBPF_MAX_RANGES; ++i)
    body += "    - {address: 127.0.0.1, ports: [" + std::to_string(1000 + 20 * i) + "-" +
            std::to_string(1019 + 20 * i) + "], protocol: tcp}\n";
  const Policy policy = policy_of(body);
  const auto image = compile(policy, 1);
  ASSERT_TRUE(image) << image.error().message;
  const NetQuery last{SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("127.0.0.1").value(), 1319};
  EXPECT_TRUE(allows(*image, last));
  const Explanation why = explain(policy, *image, last);
  EXPECT_EQ(why.rule, "{address: 127.0.0.1, ports: [1300-1319], protocol: tcp}");
  EXPECT_EQ(why.where->line, 5 + 15);
}

// Joined is what touches, and goes to the same place: no port between two ranges, and none that leads elsewhere.
TEST(ImageLimits, joined_ranges_take_in_no_other_port_and_no_other_place) {
  std::string body = "network:\n  connect:\n";
  const auto add = [&body](int first, int last, const char* via) {
    body += "    - {address: 127.0.0.1, ports: [" + std::to_string(first) + "-" + std::to_string(last) +
            "], protocol: tcp" + via + "}\n";
  };
  for (int i = 0; i < SBPF_MAX_RANGES; ++i) add(1000 + 20 * i, 1019 + 20 * i, "");
  const int end = 1000 + 20 * SBPF_MAX_RANGES;
  add(end, end + 19, ", via: {address: 127.0.0.2, port: 3128}");
  add(end + 21, end + 40, ", via: {address: 127.0.0.2, port: 3128}");
  const auto image = compile(policy_of(body), 1);
  ASSERT_TRUE(image) << image.error().message;
  const auto proxy_of = [&](int port) -> std::optional<std::uint16_t> {
    std::uint32_t rule = kNoRule;
    if (!allows(
            *image,
            {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("127.0.0.1").value(), static_cast<std::uint16_t>(port)},
            &rule))
      return std::nullopt;
    const auto via = via_of(*image, rule);
    return via ? via->port : std::uint16_t{0};
  };
  EXPECT_EQ(proxy_of(end - 1), 0);
  EXPECT_EQ(proxy_of(end), 3128);
  EXPECT_EQ(proxy_of(end + 20), std::nullopt) << "between two ranges";
  EXPECT_EQ(proxy_of(end + 21), 3128);
}

TEST(ImageLimits, joined_ranges_leave_out_a_single_port_between_them) {
  std::string body = "network:\n  connect:\n";
  for (int i = 0; i < SBPF_MAX_RANGES; ++i)
    body += "    - {address: 127.0.0.1, ports: [" + std::to_string(1000 + 20 * i) + "-" +
            std::to_string(1019 + 20 * i) + "]}\n";
  const int gap = 1000 + 20 * SBPF_MAX_RANGES;
  body += "    - {address: 127.0.0.1, ports: [" + std::to_string(gap + 1) + "-" + std::to_string(gap + 20) + "]}\n";
  const auto image = compile(policy_of(body), 1);
  ASSERT_TRUE(image) << image.error().message;
  for (const int port : {gap - 1, gap, gap + 1})
    EXPECT_EQ(allows(*image, {SBPF_RULE_CONNECT, SBPF_PROTO_TCP, parse_address("127.0.0.1").value(),
                              static_cast<std::uint16_t>(port)}),
              port != gap)
        << port;
}

TEST(ImageLimits, prefix_lengths) {
  std::string body = "network:\n  connect:\n";
  for (int length = 33; length < 33 + SBPF_MAX_PREFIXES; ++length)
    body += "    - {cidr: \"2000::/" + std::to_string(length) + "\", ports: [1]}\n";
  EXPECT_TRUE(compile(policy_of(body), 1));
  const auto image = compile(policy_of(body + "    - {cidr: \"2000::/3\", ports: [1]}\n"), 1);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code.text(), "too_many_prefixes");
  EXPECT_NE(image.error().message.find("2000::/3"), std::string::npos) << image.error().message;
}

TEST(ImageLimits, rules) {
  Policy policy = policy_of("network: none");
  Endpoint entry;
  for (std::uint16_t port = 1; port < 65535; port = static_cast<std::uint16_t>(port + 2))
    entry.ports.push_back({port, port});
  for (std::uint8_t host = 1; host <= 4; ++host) {  // 4 hosts, 32,767 ports, 2 protocols: 262,136 keys
    entry.address = parse_address("10.0.0.0").value();
    entry.address[15] = host;
    policy.network.connect.push_back(entry);
  }
  EXPECT_TRUE(compile(policy, 1));
  entry.address[15] = 5;
  policy.network.bind.push_back(entry);
  const auto image = compile(policy, 1);
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code.text(), "too_many_rules");
  EXPECT_NE(image.error().message.find("10.0.0.5"), std::string::npos) << image.error().message;
}

}  // namespace
}  // namespace sbpf::policy
