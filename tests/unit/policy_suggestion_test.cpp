// SPDX-License-Identifier: Apache-2.0
// The line that would allow what was denied: it may be pasted into a policy, and part of it is a sandbox's to choose.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/image.h"

namespace sbpf::policy {
namespace {

// Names of files and hosts are a sandbox's to choose: they are made of what means something to YAML, to a policy, to a
// terminal.
std::string hostile_name() {
  static const std::vector<std::string> kPieces = {"x",
                                                   "], default: write, deny: [",
                                                   "\"",
                                                   "'",
                                                   "\\",
                                                   "\\x2f",
                                                   "\n",
                                                   "#",
                                                   ": ",
                                                   ", ",
                                                   "}",
                                                   "{",
                                                   "]",
                                                   "[",
                                                   "${HOME}",
                                                   "~",
                                                   "*",
                                                   "/../",
                                                   "//",
                                                   "&a",
                                                   "!!",
                                                   "| ",
                                                   "> ",
                                                   "%",
                                                   "\xc2\x9b",
                                                   "\xe2\x80\xa8",
                                                   "\xff",
                                                   "\t",
                                                   "- ",
                                                   "?",
                                                   "null",
                                                   "é",
                                                   "\xed\xa0\x80",
                                                   " ",
                                                   ".",
                                                   "@"};
  std::string name;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) name += *rc::gen::elementOf(kPieces);
  return name;
}

// A whole policy with the line in it; of one that says nothing, what it says.
Policy with_line(const std::string& line) { return parse("version: 1\nname: n\n" + line + "\n", "f", nullptr).value(); }

TEST(Suggestion, allows_one_path_whatever_its_name) {
  int given = 0, tries = 0;
  EXPECT_TRUE(rc::check("what is suggested for a path names that path, and nothing else", [&] {
    const std::string path = "/" + hostile_name();
    for (const PathUse use : {PathUse::read, PathUse::write, PathUse::exec, PathUse::unix_peer}) {
      const std::string line = suggestion(use, path);
      ++tries;
      if (line.empty()) continue;
      ++given;
      RC_ASSERT(line.find('\n') == std::string::npos);
      Policy policy = with_line(line);
      if (use == PathUse::exec) {
        RC_ASSERT(policy.exec.rules.size() == 1u && policy.exec.rules[0].path == path && policy.exec.rules[0].allow);
        policy.exec = {};
      } else if (use == PathUse::unix_peer) {
        RC_ASSERT(policy.network.unix_peers.size() == 1u && policy.network.unix_peers[0].peer == path);
        policy.network.unix_peers.clear();
      } else {
        const auto& rules = policy.filesystem.rules;
        RC_ASSERT(rules.size() == 1u && rules[0].path == path && policy.filesystem.fallback == FsDefault::deny);
        RC_ASSERT(rules[0].access == (use == PathUse::read ? FsAccess::read : FsAccess::write));
        policy.filesystem = {};
      }
      RC_ASSERT(canonical(policy) == canonical(with_line("")));
    }
  }));
  EXPECT_GT(given, tries / 10);
  EXPECT_LT(given, tries);
}

TEST(Suggestion, allows_one_host_whatever_its_name) {
  EXPECT_NE(host_suggestion("a.example.org"), "");
  EXPECT_EQ(host_suggestion("*.example.org"), "");
  EXPECT_TRUE(rc::check("what is suggested for a host names that host, and nothing else", [] {
    const std::string name = *rc::gen::elementOf(std::vector<std::string>{"a.", ""}) + hostile_name() + ".org";
    const std::string line = host_suggestion(name);
    if (line.empty()) return;
    Policy policy = with_line(line);
    RC_ASSERT(policy.network.hosts.size() == 1u && policy.network.hosts[0].pattern.find('*') == std::string::npos);
    policy.network.hosts.clear();
    RC_ASSERT(canonical(policy) == canonical(with_line("")));
  }));
}

TEST(Suggestion, allows_one_interface_whatever_its_name) {
  EXPECT_NE(interface_suggestion("eth0"), "");
  EXPECT_EQ(interface_suggestion(""), "");
  EXPECT_TRUE(rc::check("what is suggested for an interface names that one, and nothing else", [] {
    const std::string name = *rc::gen::elementOf(std::vector<std::string>{"eth", ""}) + hostile_name();
    const std::string line = interface_suggestion(name);
    if (line.empty()) return;
    Policy policy = with_line(line);
    RC_ASSERT(policy.network.interfaces == std::vector<std::string>{name});
    policy.network.interfaces.clear();
    RC_ASSERT(canonical(policy) == canonical(with_line("")));
  }));
}

}  // namespace
}  // namespace sbpf::policy
