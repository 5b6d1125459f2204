// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "agent/commands/watch_canary.h"

namespace sbpf::agent {
namespace {

TEST(WatchCanary, OneThatBeganBeforeARepairSaysNothingOfNow) {
  CanaryAnswer answer;
  answer.started_ns = 1'000;
  EXPECT_TRUE(answer.is_of_before(1'001));
  EXPECT_FALSE(answer.is_of_before(1'000));
  EXPECT_FALSE(answer.is_of_before(0));  // nothing was ever repaired
}

}  // namespace
}  // namespace sbpf::agent
