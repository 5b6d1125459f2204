// SPDX-License-Identifier: Apache-2.0
// Images of policies that name no files, so that nothing has to be looked up.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "policy/filesystem.h"
#include "policy/image.h"

namespace sbpf::policy {

inline Result<Image> compile(const Policy& policy, std::uint32_t generation) {
  return compile(policy, generation, empty_view(policy));
}

// Of the text of a policy but for its first two lines: version and name. Its place is in "image.yaml".
inline Policy policy_of(const std::string& body, const std::string& name = "image") {
  const auto policy = parse("version: 1\nname: " + name + "\n" + body, "image.yaml", nullptr);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return policy.value();
}

inline Image image_of(const std::string& body, std::uint32_t generation = 1) {
  return compile(policy_of(body + "\n"), generation).value();
}

}  // namespace sbpf::policy
