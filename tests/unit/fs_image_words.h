// SPDX-License-Identifier: Apache-2.0
// The filesystem entries of an image in words, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "policy/filesystem.h"
#include "tests/unit/fs_host.h"

namespace sbpf::policy {

using fs_host::Host;

constexpr __u32 kRead = SBPF_FS_READ;
constexpr __u32 kWrite = SBPF_FS_READ | SBPF_FS_WRITE;

inline Policy policy_of(const std::string& filesystem) {
  const auto policy = parse("version: 1\nname: files\nfilesystem:\n" + filesystem, "p.yaml", nullptr);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return policy.value();
}

// Answers in words: "3 rw named holds rule:1", so that a test shows what it expects.
inline std::string words(const sbpf_rule& value) {
  sbpf_fs_node node;
  std::memcpy(&node, &value, sizeof node);
  std::string text = std::to_string(node.node) + (node.rights == kWrite  ? " rw"
                                                  : node.rights == kRead ? " r"
                                                  : node.rights == 0     ? " -"
                                                                         : " ?");
  if (node.flags & SBPF_FS_NAMED) text += " named";
  if (node.flags & SBPF_FS_HOLDS) text += " holds";
  if (node.flags & SBPF_FS_RULE) text += " ruled";
  EXPECT_EQ(node.pad, 0u);
  return text + (node.rule == kNoRule ? " default" : " by " + std::to_string(node.rule));
}

inline std::string at(const Image& image, const sbpf_rule_key& key) {
  const auto found = image.entries.find(key);
  return found == image.entries.end() ? "none" : words(found->second);
}
inline std::string inode(const Image& image, const Host& host, const std::string& path) {
  return at(image, fs_inode_key(host.inodes.at(path)));
}
inline Image compiled(const Policy& policy, const FsView& view) {
  const auto image = compile(policy, 1, view);
  EXPECT_TRUE(image) << (image ? "" : image.error().message);
  return image ? *image : Image{};
}

}  // namespace sbpf::policy
