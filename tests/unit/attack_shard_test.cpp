// SPDX-License-Identifier: Apache-2.0
// attack_test --shard I/N: the harness trusts that the shards of a corpus add up to the corpus.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/attack/driver/shard.h"

namespace attack::driver {
namespace {

TEST(AttackShard, SharesAreDisjointCompleteAndEven) {
  for (const std::size_t size : {0U, 1U, 2U, 7U, 300U}) {
    std::vector<std::size_t> all(size);
    std::iota(all.begin(), all.end(), std::size_t{0});
    for (unsigned count = 1; count <= 9; count++) {
      std::vector<std::size_t> sum;
      for (unsigned index = 0; index < count; index++) {
        const auto share = share_of(all, {index, count});
        EXPECT_GE(share.size(), size / count);
        EXPECT_LE(share.size(), size / count + 1);
        EXPECT_TRUE(std::is_sorted(share.begin(), share.end()));
        sum.insert(sum.end(), share.begin(), share.end());
      }
      std::sort(sum.begin(), sum.end());
      EXPECT_EQ(sum, all) << count << " shares of " << size;
    }
  }
}

TEST(AttackShard, NothingSaidIsTheWhole) {
  const std::vector<int> all = {3, 1, 2};
  EXPECT_EQ(share_of(all, Shard{}), all);
  EXPECT_EQ(share_of(all, *parse_shard("0/1")), all);
}

TEST(AttackShard, TextIsReadExactly) {
  const auto shard = parse_shard("2/13");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->index, 2U);
  EXPECT_EQ(shard->count, 13U);
  for (const char* wrong : {"", "/", "1", "1/", "/2", "2/2", "3/2", "0/0", "-1/2", "+0/2", "0/2x", "0 /2", "a/b",
                            "0/2/3", "0/99999999999999999999"})
    EXPECT_FALSE(parse_shard(wrong)) << wrong;
}

}  // namespace
}  // namespace attack::driver
