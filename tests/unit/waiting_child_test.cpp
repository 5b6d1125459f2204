// SPDX-License-Identifier: Apache-2.0
// What a user's waiting child is told, and what it says.
#include "agent/launch/waiting_child.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "agent/host/told_error.h"

namespace sbpf::agent {
namespace {

BeginText example() {
  return {"version: 1\nname: x\n", "{}", {"echo", "", "two\nlines", "\xff"}, {"A=", "B=c d"}, 42, "", ""};
}

TEST(BeginText, ComesThroughWhole) {
  const auto read = begin_text_of(to_text(example()));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->policy, example().policy);
  EXPECT_EQ(read->seccomp, "{}");
  EXPECT_EQ(read->argv, example().argv);
  EXPECT_EQ(read->env, example().env);
  EXPECT_EQ(read->parent, 42);
  EXPECT_TRUE(read->own.empty());
}

TEST(BeginText, HasTheProgramsOwnPolicy) {
  BeginText begin = example();
  begin.own = "version: 1\nname: y\n";
  begin.own_seccomp = "{}";
  const auto read = begin_text_of(to_text(begin));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->own, begin.own);
  EXPECT_EQ(read->own_seccomp, "{}");
  EXPECT_EQ(read->argv, begin.argv);
}

TEST(BeginText, MayHaveNoEnvironmentAndNoProfile) {
  const auto read = begin_text_of(to_text({"p", "", {"true"}, {}, 1, "", ""}));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->argv, std::vector<std::string>{"true"});
  EXPECT_TRUE(read->env.empty());
  EXPECT_TRUE(read->seccomp.empty());
}

TEST(BeginText, WhatIsNoneIsNotTaken) {
  const std::string whole = to_text(example());
  for (std::size_t size = 0; size < whole.size(); size++) {
    const auto part = begin_text_of(whole.substr(0, size));
    if (!part) continue;
    // Cut between two variables: what is left is a text of its own.
    EXPECT_EQ(part->argv, example().argv);
    EXPECT_LT(part->env.size(), example().env.size());
  }
  const auto text = [](std::initializer_list<const char*> parts) {
    std::string all;
    for (const char* part : parts) (all += part) += '\0';
    return all;
  };
  EXPECT_FALSE(begin_text_of(text({"0", "p", "", "", "", "1", "true"})));
  EXPECT_FALSE(begin_text_of(text({"1", "p", "", "", "", "0", "true"})));
  EXPECT_FALSE(begin_text_of(text({"1", "p", "", "", "", "2", "true"})));
  EXPECT_FALSE(begin_text_of(text({"1", "p", "", "", "", "x", "true"})));
  EXPECT_TRUE(begin_text_of(text({"1", "p", "", "", "", "1", "true"})));
}

// What wait_for_word() makes of what a child says before it ends.
Result<void> heard(const std::string& said) {
  int ends[2];
  if (::pipe(ends) != 0) return fail("spawn", "no pipe");
  (void)!::write(ends[1], said.data(), said.size());
  ::close(ends[1]);
  auto word = wait_for_word(ends[0]);
  ::close(ends[0]);
  return word;
}

TEST(ToldError, ReachesTheParentWhole) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  tell_error(ends[1], Error{"private_places", "cannot", "do this\nor that", 1, "", false});
  ::close(ends[1]);
  const auto word = wait_for_word(ends[0]);
  ::close(ends[0]);
  ASSERT_FALSE(word);
  EXPECT_EQ(word.error().code, ErrorCode("private_places"));
  EXPECT_EQ(word.error().message, "cannot");
  EXPECT_EQ(word.error().hint, "do this\nor that");
}

TEST(ToldError, OneZeroByteIsNone) { EXPECT_TRUE(heard(std::string(1, '\0'))); }

TEST(ToldError, AnEndWithoutAWordIsAFailure) {
  for (const std::string said : {"", "usage", "usage\nno hint"}) {
    const auto word = heard(said);
    ASSERT_FALSE(word) << said;
    EXPECT_EQ(word.error().code, ErrorCode("spawn"));
  }
}

}  // namespace
}  // namespace sbpf::agent
