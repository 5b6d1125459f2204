// SPDX-License-Identifier: Apache-2.0
// tests/decide/table.h against the compiled image, and the explanation of each row.
#include <gtest/gtest.h>

#include <set>

#include "policy/image.h"
#include "tests/decide/table.h"
#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

using decide_table::Op;
using decide_table::Proto;
using decide_table::Row;

class DecideTable : public testing::TestWithParam<Row> {};

NetQuery query_of(const Row& row) {
  NetQuery query;
  query.kind = row.op == Op::bind ? SBPF_RULE_BIND : SBPF_RULE_CONNECT;
  query.proto = row.proto == Proto::udp ? SBPF_PROTO_UDP : SBPF_PROTO_TCP;
  query.address = parse_address(row.address).value();
  query.port = row.port;
  return query;
}

TEST_P(DecideTable, verdict) {
  const Row& row = GetParam();
  const auto policy = parse(row.policy, row.name, nullptr);
  ASSERT_TRUE(policy) << format(policy.error());
  const auto image = compile(*policy, 1);
  ASSERT_TRUE(image) << image.error().message;
  const NetQuery query = query_of(row);
  EXPECT_EQ(allows(*image, query), row.allowed && row.narrowed == nullptr);
  const auto wanted = row.narrowed ? std::optional(parse_address(row.narrowed).value()) : std::nullopt;
  if (!allows(*image, query)) {
    EXPECT_EQ(narrowed(*image, query), wanted);
  }

  const Explanation why = explain(*policy, *image, query);
  EXPECT_EQ(why.allowed, row.allowed);
  EXPECT_EQ(why.narrowed.has_value(), row.narrowed != nullptr);
  EXPECT_EQ(why.audit_only, policy->mode == Mode::audit);
  EXPECT_EQ(!why.rule.empty(), row.allowed);
  EXPECT_EQ(why.where.has_value(), row.allowed && !policy->network.dangerously_allow_all);
  if (row.allowed) {
    EXPECT_EQ(why.suggestion, "");
  }
}

// The suggestion, appended to a policy without network rules, allows the endpoint and not its neighbour.
TEST_P(DecideTable, suggestion_allows_what_was_denied) {
  const Row& row = GetParam();
  const NetQuery query = query_of(row);
  if (row.op == Op::connect && row.port == 0) {
    EXPECT_EQ(suggestion(query), "");
    return;
  }
  const auto policy = parse("version: 1\nname: suggested\n" + suggestion(query) + "\n", row.name, nullptr);
  ASSERT_TRUE(policy) << format(policy.error());
  const auto image = compile(*policy, 1);
  ASSERT_TRUE(image);
  EXPECT_TRUE(allows(*image, query));
  NetQuery neighbour = query;
  neighbour.port = static_cast<std::uint16_t>(query.port ^ 1);
  EXPECT_FALSE(allows(*image, neighbour));
}

INSTANTIATE_TEST_SUITE_P(rows, DecideTable, testing::ValuesIn(decide_table::kRows),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(DecideTableItself, names_are_unique) {
  std::set<std::string> names;
  for (const Row& row : decide_table::kRows) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_GE(names.size(), 60u);
}

TEST(DecideCanary, is_denied_whatever_the_policy) {
  for (const char* text : {"0.83.66.80", "100::5342:5046"}) {
    NetQuery query;
    query.address = parse_address(text).value();
    query.port = SBPF_CANARY_PORT;
    const auto policy = parse(decide_table::kAll, "all", nullptr);
    ASSERT_TRUE(policy);
    const auto image = compile(*policy, 1);
    ASSERT_TRUE(image);
    EXPECT_FALSE(allows(*image, query)) << text;
    EXPECT_EQ(explain(*policy, *image, query).suggestion, "") << "nothing can allow it";
    query.address.back() ^= 1;
    EXPECT_TRUE(allows(*image, query)) << "the neighbour of " << text;
    query.address.back() ^= 1;
    query.port++;
    EXPECT_TRUE(allows(*image, query)) << text;
  }
}

TEST(DecideImpossible, an_image_without_header_denies) {
  Image image;
  EXPECT_FALSE(allows(image, NetQuery{}));
}

}  // namespace
}  // namespace sbpf::policy
