// SPDX-License-Identifier: Apache-2.0
// Whose process may be put into a sandbox, by what /proc/PID/status says of it; and which policies need no root.
#include <gtest/gtest.h>

#include "agent/agent.h"
#include "agent/launch/held_process.h"

namespace sbpf::agent {
namespace {

constexpr Owner kOwner{1000, 100, 41};

std::string status(const std::string& key = "", const std::string& value = "") {
  std::string text;
  for (const auto& [name, usual] : {std::pair<std::string, std::string>{"Name", "sh"},
                                    {"PPid", "41"},
                                    {"Uid", "1000\t1000\t1000\t1000"},
                                    {"Gid", "100\t100\t100\t100"},
                                    {"Threads", "1"},
                                    {"CapPrm", "0000000000000000"},
                                    {"CapEff", "0000000000000000"},
                                    {"NoNewPrivs", "1"}})
    if (name != key || !value.empty()) text += name + ":\t" + (name == key ? value : usual) + "\n";
  return text;
}

std::string code(const std::string& text, Owner owner = kOwner) {
  auto checked = check_process(text, owner);
  return checked ? "ok" : checked.error().code.str();
}

TEST(Process, ThatIsTheOwnersAndFit) {
  EXPECT_EQ(code(status()), "ok");
  EXPECT_EQ(code(status("CapPrm", "000001ffffffffff"), {1000, 100, 41}), "process_unfit");
}

TEST(Process, EachIdCounts) {
  for (const char* ids : {"0\t1000\t1000\t1000", "1000\t0\t1000\t1000", "1000\t1000\t0\t1000", "1000\t1000\t1000\t0",
                          "1001\t1001\t1001\t1001", "1000x", "-1"})
    EXPECT_EQ(code(status("Uid", ids)), "not_your_process") << ids;
  EXPECT_EQ(code(status("Gid", "100\t100\t0\t100")), "not_your_process");
  EXPECT_EQ(code(status("PPid", "1")), "not_your_process");
}

TEST(Process, ThatCouldBecomeMore) {
  EXPECT_EQ(code(status("NoNewPrivs", "0")), "process_unfit");
  EXPECT_EQ(code(status("Threads", "2")), "process_unfit");
  EXPECT_EQ(code(status("CapEff", "0000000000000001")), "process_unfit");
}

TEST(Process, OfRootKeepsItsCapabilities) {
  std::string text = status("CapPrm", "000001ffffffffff");
  for (std::size_t at; (at = text.find("1000")) != std::string::npos;) text.replace(at, 4, "0");
  EXPECT_EQ(code(text, {0, 100, 41}), "ok");
}

TEST(Process, OfWhomTheKernelDoesNotSayIsRefused) {
  EXPECT_NE(code(""), "ok");
  for (const char* key : {"Uid", "Gid", "PPid", "Threads", "CapPrm", "CapEff", "NoNewPrivs"})
    EXPECT_NE(code(status(key)), "ok") << key;
}

TEST(PolicyOfAUser, NeedsNoRoot) {
  const auto check = [](const std::string& more, std::uint32_t uid = 1000) {
    auto policy = policy::parse("version: 1\nname: x\n" + more, "p.yaml", policy::built_in_profile);
    if (!policy) return policy::format(policy.error());
    auto possible = check_for_user(*policy, uid);
    return possible ? std::string("ok") : possible.error().code.str();
  };
  EXPECT_EQ(check(""), "ok");
  EXPECT_EQ(check("process: {user: {uid: 1000, gid: 1000}}\n"), "ok");
  EXPECT_EQ(check("process: {user: {uid: 1001, gid: 1000}}\n"), "needs_root");
  EXPECT_EQ(check("process: {capabilities: [NET_RAW]}\n"), "needs_root");
  EXPECT_EQ(check("process: {capabilities: dangerously_all}\n"), "needs_root");
  EXPECT_EQ(check("process: {seccomp: dangerously_unconfined, dangerously_allow_new_privileges: true}\n"),
            "needs_root");
  EXPECT_EQ(check("process: {secrets: [{name: A, file: /etc/key}]}\n"), "needs_root");
  EXPECT_EQ(check("network: {connect: [{host: a.example.org, ports: [443], protocol: tcp}]}\n"), "ok");
  EXPECT_EQ(check("process: {capabilities: [NET_RAW], user: {uid: 1, gid: 1}}\n", 0), "ok");
}

}  // namespace
}  // namespace sbpf::agent
