// SPDX-License-Identifier: Apache-2.0
#include "base/mounts.h"

#include <gtest/gtest.h>

namespace sbpf::agent {
namespace {

TEST(Mounts, fields_and_optional_fields) {
  const auto mounts = parse_mounts(
      "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue\n"
      "37 36 0:25 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n");
  ASSERT_EQ(mounts.size(), 2u);
  EXPECT_EQ(mounts[0].id, 36u);
  EXPECT_EQ(mounts[0].parent, 35u);
  EXPECT_EQ(mounts[0].device, "98:0");
  EXPECT_EQ(mounts[0].root, "/mnt1");
  EXPECT_EQ(mounts[0].point, "/mnt2");
  EXPECT_EQ(mounts[0].type, "ext3");
  EXPECT_EQ(mounts[0].source, "/dev/root");
  EXPECT_EQ(mounts[1].type, "cgroup2");
}

TEST(Mounts, octal_in_paths) {
  const auto mounts = parse_mounts("1 2 8:1 /a\\040b /c\\011d\\134e\\12 rw - ext4 /dev/x rw\n");
  ASSERT_EQ(mounts.size(), 1u);
  EXPECT_EQ(mounts[0].root, "/a b");
  EXPECT_EQ(mounts[0].point, "/c\td\\e\\12");
  EXPECT_EQ(parse_mounts("1 2 8:1 / /c\\040 rw - ext4 /dev/x rw\n").at(0).point, "/c ") << "at the very end";
}

TEST(Mounts, lines_that_are_not_whole_are_left_out) {
  EXPECT_TRUE(parse_mounts("").empty());
  EXPECT_TRUE(
      parse_mounts("36 35 98:0 /mnt1\n\nx y z\n36 35 98:0 / /mnt rw shared:1\n36 35 98:0 / /mnt rw -\n").empty());
}

TEST(Mounts, own_ones_have_a_root) {
  bool root = false;
  for (const Mount& mount : own_mounts()) root = root || mount.point == "/";
  EXPECT_TRUE(root);
}

}  // namespace
}  // namespace sbpf::agent
