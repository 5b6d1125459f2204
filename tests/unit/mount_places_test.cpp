// SPDX-License-Identifier: Apache-2.0
#include "agent/host/mount_places.h"

#include <gtest/gtest.h>

namespace sbpf::agent {
namespace {

std::uint32_t on(const std::vector<Mount>& mounts, const std::string& path) {
  const Mount* mount = mount_of(mounts, path);
  return mount ? mount->id : 0;
}

TEST(MountPlaces, a_path_lies_on_the_mount_that_is_entered_last) {
  const std::vector<Mount> mounts{
      {1, 1, "8:1", "/", "/", "ext4"}, {2, 1, "0:2", "/", "/a", "tmpfs"}, {3, 2, "0:3", "/", "/a/b", "tmpfs"}};
  EXPECT_EQ(on(mounts, "/"), 1u);
  EXPECT_EQ(on(mounts, "/ab"), 1u) << "another name";
  EXPECT_EQ(on(mounts, "/a"), 2u);
  EXPECT_EQ(on(mounts, "/a/c/b"), 2u);
  EXPECT_EQ(on(mounts, "/a/b/c"), 3u);
  EXPECT_EQ(on({}, "/a"), 0u);
}

TEST(MountPlaces, of_its_own_is_what_the_host_does_not_have_at_that_point) {
  const std::vector<Mount> host{{1, 1, "8:1", "/", "/", "ext4"}, {2, 1, "0:2", "/", "/tmp", "tmpfs"}};
  std::vector<Mount> box = host;
  box.push_back({3, 2, "0:3", "/", "/tmp", "tmpfs"});
  box.push_back({4, 1, "8:1", "/srv/a", "/workspace", "ext4"});
  box.push_back({5, 1, "0:2", "/", "/var/tmp", "tmpfs"});
  std::vector<std::uint32_t> ids;
  for (const Mount& mount : mounts_of_its_own(box, host)) ids.push_back(static_cast<std::uint32_t>(mount.id));
  EXPECT_EQ(ids, (std::vector<std::uint32_t>{3, 4, 5}));
  EXPECT_TRUE(mounts_of_its_own(host, host).empty());
}

TEST(MountPlaces, what_lies_on_top_counts_and_not_what_came_last) {
  // 3 was made at /b, then 4 at /a over 2, and 3 moved over it.
  const std::vector<Mount> mounts{{1, 0, "8:1", "/", "/", "ext4"},
                                  {2, 1, "0:2", "/", "/a", "tmpfs"},
                                  {3, 4, "0:3", "/", "/a", "tmpfs"},
                                  {4, 2, "0:4", "/", "/a", "tmpfs"}};
  EXPECT_EQ(on(mounts, "/a/x"), 3u);
}

TEST(MountPlaces, what_is_hidden_is_not_entered) {
  // /a was mounted over /a/b.
  const std::vector<Mount> mounts{
      {1, 1, "8:1", "/", "/", "ext4"}, {2, 1, "0:2", "/", "/a/b", "tmpfs"}, {3, 1, "0:3", "/", "/a", "tmpfs"}};
  EXPECT_EQ(on(mounts, "/a/b/c"), 3u);
}

TEST(MountPlaces, without_the_mount_of_the_root) {
  // As a process that changed its root has it.
  const std::vector<Mount> mounts{{5, 1, "0:2", "/", "/a", "tmpfs"}, {6, 5, "0:3", "/", "/a/b", "tmpfs"}};
  EXPECT_EQ(on(mounts, "/a/b"), 6u);
  EXPECT_EQ(on(mounts, "/c"), 0u);
}

TEST(MountPlaces, ids_that_go_in_a_circle_have_no_bottom) {
  const std::vector<Mount> mounts{{1, 2, "0:1", "/", "/", "tmpfs"}, {2, 1, "0:2", "/", "/", "tmpfs"}};
  EXPECT_EQ(on(mounts, "/a"), 0u);
}

TEST(MountPlaces, other_places_are_those_of_the_same_filesystem_that_have_it) {
  const std::vector<Mount> mounts{{1, 1, "8:1", "/", "/", "ext4"},
                                  {2, 1, "8:1", "/w", "/m", "ext4"},
                                  {3, 1, "8:1", "/x", "/n", "ext4"},
                                  {4, 1, "0:9", "/w", "/o", "tmpfs"}};
  const auto others = other_places(mounts, mounts[0], "/w/f");
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].path, "/m/f");
  EXPECT_EQ(others[0].point, "/m");
  EXPECT_EQ(other_places(mounts, mounts[1], "/m").at(0).path, "/w");
  EXPECT_TRUE(is_part_of_another(mounts, mounts[1]));
  EXPECT_FALSE(is_part_of_another(mounts, mounts[3]));
}

}  // namespace
}  // namespace sbpf::agent
