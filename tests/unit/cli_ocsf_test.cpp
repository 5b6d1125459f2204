// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/format.h"

namespace sbpf::cli {
namespace {

agent::Event event_of(sbpf_domain domain, sbpf_hook hook, sbpf_reason reason, sbpf_verdict verdict) {
  agent::Event event;
  event.sandbox = "box";
  event.text = "what happened";
  event.raw.domain = static_cast<__u8>(domain);
  event.raw.hook = static_cast<__u8>(hook);
  event.raw.reason = static_cast<__u8>(reason);
  event.raw.verdict = static_cast<__u8>(verdict);
  event.raw.ts_ns = 1'500'000'000;
  event.raw.tgid = 5;
  event.raw.uid = 1000;
  event.raw.sys_errno = verdict == SBPF_DENY ? EPERM : 0;
  std::memcpy(event.raw.comm, "curl", 4);
  return event;
}

Json ocsf(const agent::Event& event) { return event_ocsf(event, 1'700'000'000'000'000'000, "0.1.0"); }

TEST(Ocsf, a_refused_connection) {
  agent::Event event = event_of(SBPF_DOMAIN_NETWORK, SBPF_HOOK_connect4, SBPF_REASON_NO_RULE, SBPF_DENY);
  event.raw.net.family = AF_INET;
  event.raw.net.type = SOCK_STREAM;
  event.raw.net.port = 443;
  const unsigned char address[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  std::memcpy(event.raw.net.addr, address, 16);
  const Json json = ocsf(event);
  EXPECT_EQ(json["class_uid"], 4001);
  EXPECT_EQ(json["category_uid"], 4);
  EXPECT_EQ(json["type_uid"], 400105);
  EXPECT_EQ(json["time"], 1'700'000'001'500);
  EXPECT_EQ(json["action_id"], 2);
  EXPECT_EQ(json["disposition_id"], 2);
  EXPECT_EQ(json["status_id"], 2);
  EXPECT_EQ(json["status_detail"], "EPERM");
  EXPECT_EQ(json["dst_endpoint"]["ip"], "192.0.2.1");
  EXPECT_EQ(json["dst_endpoint"]["port"], 443);
  EXPECT_EQ(json["connection_info"]["protocol_name"], "tcp");
  EXPECT_EQ(json["actor"]["process"]["pid"], 5);
  EXPECT_EQ(json["actor"]["process"]["user"]["uid"], "1000");
  EXPECT_EQ(json["actor"]["process"]["container"]["name"], "box");
  EXPECT_EQ(json["metadata"]["profiles"], Json::array({"host", "security_control"}));
  EXPECT_EQ(json["unmapped"], event_json(event, 1'700'000'000'000'000'000));
}

TEST(Ocsf, a_flow_is_opened_and_closed) {
  agent::Event event = event_of(SBPF_DOMAIN_NETWORK, SBPF_HOOK_sock_ops, SBPF_REASON_FLOW, SBPF_ALLOW);
  event.flow = 7;
  event.name = "a.example";
  EXPECT_EQ(ocsf(event)["type_uid"], 400101);
  EXPECT_EQ(ocsf(event)["action_id"], 1);
  EXPECT_EQ(ocsf(event)["dst_endpoint"]["hostname"], "a.example");
  EXPECT_FALSE(ocsf(event).contains("traffic"));
  event.raw.reason = SBPF_REASON_FLOW_ENDED;
  event.sent = 10;
  event.received = 20;
  EXPECT_EQ(ocsf(event)["type_uid"], 400102);
  EXPECT_EQ(ocsf(event)["traffic"], (Json{{"bytes_out", 10}, {"bytes_in", 20}}));
}

TEST(Ocsf, names_are_of_dns) {
  agent::Event event = event_of(SBPF_DOMAIN_NETWORK, SBPF_HOOK_connect4, SBPF_REASON_NAME, SBPF_DENY);
  event.raw.hook = SBPF_NO_HOOK;
  event.name = "b.example";
  event.raw.net.level = 1;
  EXPECT_EQ(ocsf(event)["type_uid"], 400301);
  EXPECT_EQ(ocsf(event)["query"], (Json{{"hostname", "b.example"}, {"type", "1"}}));
}

TEST(Ocsf, files_and_programs) {
  agent::Event event = event_of(SBPF_DOMAIN_FILESYSTEM, SBPF_HOOK_file_open, SBPF_REASON_FS_RULE, SBPF_AUDIT);
  event.path = "/etc/shadow";
  event.wanted = "read, write";
  EXPECT_EQ(ocsf(event)["type_uid"], 100103);
  EXPECT_EQ(ocsf(event)["action_id"], 3);
  EXPECT_EQ(ocsf(event)["file"]["path"], "/etc/shadow");
  EXPECT_EQ(ocsf(event)["file"]["name"], "shadow");
  event.wanted = "read";
  EXPECT_EQ(ocsf(event)["type_uid"], 100102);
  event.raw.reason = SBPF_REASON_EXEC_RULE;
  EXPECT_EQ(ocsf(event)["type_uid"], 100701);
  EXPECT_EQ(ocsf(event)["process"]["file"]["path"], "/etc/shadow");
}

TEST(Ocsf, what_concerns_others) {
  agent::Event event = event_of(SBPF_DOMAIN_GUARD, SBPF_HOOK_task_kill, SBPF_REASON_GUARD, SBPF_DENY);
  event.raw.task = {1, 9};
  EXPECT_EQ(ocsf(event)["type_uid"], 100702);
  EXPECT_EQ(ocsf(event)["process"]["pid"], 1);
  event.raw.hook = SBPF_HOOK_bpf;
  EXPECT_EQ(ocsf(event)["type_uid"], 100304);
  event.raw.reason = SBPF_REASON_BREAK_GLASS;
  EXPECT_EQ(ocsf(event)["type_uid"], 200401);
  EXPECT_EQ(ocsf(event)["finding_info"]["title"], "what happened");
}

}  // namespace
}  // namespace sbpf::cli
