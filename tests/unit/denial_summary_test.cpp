// SPDX-License-Identifier: Apache-2.0
// The end of a run: what was denied, each kind once, with what would allow it.
#include "cli/denial_summary.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>

#include "policy/image.h"
#include "tests/unit/denial.h"
#include "tests/unit/images.h"

namespace sbpf::cli {
namespace {

TEST(Denials, one_line_for_each_kind_whoever_did_it) {
  DenialSummary summary;
  summary.add(denial("connect tcp 192.0.2.1:443 (curl, pid 5)"));
  summary.add(denial("connect tcp 192.0.2.1:443 (wget, pid 6)"));
  summary.add(denial("connect tcp 192.0.2.2:443 (curl, pid 5)"));
  EXPECT_EQ(summary.denied(), 3u);
  EXPECT_EQ(summary.text(10),
            "sbpf: denied connect tcp 192.0.2.1:443 (curl, pid 5), 2 times\n"
            "  allow with: network.connect: - {address: 192.0.2.1, ports: [443]}\n"
            "sbpf: denied connect tcp 192.0.2.2:443 (curl, pid 5)\n"
            "  allow with: network.connect: - {address: 192.0.2.1, ports: [443]}\n");
}

TEST(Denials, one_event_stands_for_its_equals) {
  DenialSummary summary;
  agent::Event event = denial("connect tcp 192.0.2.1:443");
  event.raw.times = 7;
  summary.add(denial("connect tcp 192.0.2.1:443"));
  summary.add(event);
  EXPECT_EQ(summary.denied(), 8u);
  EXPECT_TRUE(summary.text(10).starts_with("sbpf: denied connect tcp 192.0.2.1:443, 8 times\n"));
  EXPECT_EQ(event_json(event, 0).at("times"), 7);
  EXPECT_NE(event_text(event, 0).find("192.0.2.1:443 (7 times)\n"), std::string::npos);
}

TEST(Denials, what_programs_look_for_and_do_without_is_counted_only) {
  for (const auto& [path, wanted, told] : {std::tuple{"/etc", "read", false},
                                           {"/etc", "write", true},
                                           {"/etc/x", "read", true},
                                           {"/srv", "read", true},
                                           {"/var/cache/fontconfig", "write", false},
                                           {"/var/cache/fontconfig", "read", true}}) {
    DenialSummary summary;
    agent::Event event = denial(std::string(wanted) + " " + path);
    event.path = path;
    event.wanted = wanted;
    summary.add(event);
    EXPECT_EQ(summary.denied(), 1u) << path;
    EXPECT_EQ(!summary.text(10).empty(), told) << path << wanted;
  }
}

TEST(Denials, that_nobody_hears_of_devices_is_counted_only) {
  for (const std::uint32_t protocol : {15u, 0u}) {
    DenialSummary summary;
    agent::Event event = denial("socket(family 16, type 3, protocol 15)");
    event.raw.domain = SBPF_DOMAIN_NETWORK;
    event.raw.reason = SBPF_REASON_SOCKET_CLASS;
    event.raw.net.family = AF_NETLINK;
    event.raw.net.type = SOCK_RAW;
    event.raw.net.protocol = static_cast<decltype(event.raw.net.protocol)>(protocol);
    summary.add(event);
    EXPECT_EQ(summary.denied(), 1u);
    EXPECT_EQ(summary.text(10).empty(), protocol == 15);
  }
}

TEST(Denials, settings_of_a_process_that_runtimes_do_without_are_counted_only) {
  for (const char* path : {"/proc/12/coredump_filter", "/proc/12/oom_score_adj", "/proc/12/task/13/comm"}) {
    DenialSummary summary;
    agent::Event event = denial("write " + std::string(path) + " (java, pid 12)");
    event.path = path;
    summary.add(event);
    EXPECT_EQ(summary.denied(), 1u) << path;
    EXPECT_EQ(summary.text(10), "") << path;
    EXPECT_TRUE(summary.remedies().empty()) << path;
  }
  for (const char* path : {"/proc/12/mem", "/proc/12/fd/oom_score_adj", "/proc/sys/comm", "/srv/12/comm"}) {
    DenialSummary summary;
    agent::Event event = denial("write " + std::string(path));
    event.path = path;
    summary.add(event);
    EXPECT_NE(summary.text(10), "") << path;
  }
}

agent::Event connect_denied(const std::string& address, std::uint16_t port, bool tcp) {
  agent::Event event = denial((tcp ? "connect tcp " : "connect udp ") + address + ":" + std::to_string(port));
  const policy::Address bytes = policy::parse_address(address).value();
  std::copy(bytes.begin(), bytes.end(), std::begin(event.raw.net.addr));
  event.raw.net.port = port;
  event.raw.net.family = AF_INET;
  event.raw.net.type = tcp ? SOCK_STREAM : SOCK_DGRAM;
  event.raw.net.protocol = tcp ? IPPROTO_TCP : IPPROTO_UDP;
  return event;
}

// getaddrinfo(3) asks so by which of its own addresses the host would reach those of a name.
TEST(Denials, a_udp_socket_beside_tcp_is_a_look_up_and_counted_only) {
  DenialSummary summary;
  summary.add(connect_denied("192.0.2.1", 80, false));
  EXPECT_NE(summary.text(10), "");
  summary.add(connect_denied("192.0.2.1", 80, true));
  summary.add(connect_denied("192.0.2.2", 80, false));
  EXPECT_EQ(summary.denied(), 3u);
  EXPECT_EQ(summary.remedies().size(), 2u);
  EXPECT_EQ(summary.text(10).find("udp 192.0.2.1"), std::string::npos);
  EXPECT_NE(summary.text(10).find("udp 192.0.2.2"), std::string::npos);
  EXPECT_EQ(summary.text(10).find("more"), std::string::npos);
}

TEST(Denials, so_is_one_where_the_policy_lists_tcp_alone) {
  const policy::Policy policy =
      policy::parse(
          "{version: 1, name: p, network: {connect: [{cidr: 192.0.2.0/24, ports: [53, 80], protocol: tcp}, "
          "{host: a.example, ports: [443], protocol: tcp}, {host: b.example, ports: [99], protocol: udp}]}}",
          "p", policy::built_in_profile)
          .value();
  const auto told = [&](const std::string& address, std::uint16_t port, const std::string& name = "") {
    DenialSummary summary(&policy);
    agent::Event event = connect_denied(address, port, false);
    event.name = name;
    summary.add(event);
    return !summary.text(10).empty();
  };
  EXPECT_FALSE(told("192.0.2.1", 80));
  EXPECT_FALSE(told("198.51.100.1", 443, "a.example"));
  EXPECT_TRUE(told("198.51.100.1", 443));
  EXPECT_TRUE(told("198.51.100.1", 80));
  EXPECT_TRUE(told("198.51.100.1", 99));
  EXPECT_TRUE(told("192.0.2.1", 53));
}

TEST(Denials, past_the_limit_they_are_counted) {
  DenialSummary summary;
  for (int i = 0; i < 13; i++) summary.add(denial("connect tcp 192.0.2." + std::to_string(i) + ":443"));
  EXPECT_TRUE(summary.text(10).ends_with("… and 3 more\n"));
  EXPECT_EQ(summary.text(13).find("more"), std::string::npos);
}

TEST(Denials, a_hostile_program_cannot_fill_the_memory) {
  DenialSummary summary;
  for (int i = 0; i < 20'000; i++) summary.add(denial("connect tcp 192.0.2.1:" + std::to_string(i)));
  EXPECT_EQ(summary.denied(), 20'000u);
  EXPECT_TRUE(summary.text(10).ends_with("… and 19990 more\n"));
}

TEST(Denials, audit_says_would_and_is_counted_apart) {
  DenialSummary summary;
  summary.add(denial("connect tcp 192.0.2.1:443", SBPF_AUDIT));
  EXPECT_EQ(summary.denied(), 0u);
  EXPECT_EQ(summary.would_deny(), 1u);
  EXPECT_TRUE(summary.text(10).starts_with("sbpf: would deny connect"));
}

TEST(Denials, canaries_and_allowed_events_are_none) {
  DenialSummary summary;
  agent::Event canary = denial("canary");
  canary.raw.reason = SBPF_REASON_CANARY;
  summary.add(canary);
  summary.add(denial("x", SBPF_ALLOW));
  EXPECT_EQ(summary.denied(), 0u);
  EXPECT_EQ(summary.text(10), "");
}

agent::Event denied_file(const std::string& path, const char* wanted = "read") {
  agent::Event event = denial(std::string(wanted) + " " + path);
  event.raw.reason = SBPF_REASON_FS_DEFAULT;
  event.raw.domain = SBPF_DOMAIN_FILESYSTEM;
  event.raw.hook = SBPF_HOOK_file_open;
  event.path = path;
  event.wanted = wanted;
  const bool reads = event.wanted == "read" || event.wanted == "exec";
  event.allow = policy::suggestion(reads ? policy::PathUse::read : policy::PathUse::write, path);
  return event;
}

std::string told(const policy::Policy& policy, const std::vector<agent::Event>& events) {
  DenialSummary summary(&policy);
  for (const agent::Event& event : events) summary.add(event);
  return summary.text(10);
}

const policy::Policy kFiles = policy::policy_of("filesystem: {read: [/usr], deny: [/srv/data/c]}\n");

TEST(Denials, several_files_of_a_directory_stand_together) {
  EXPECT_EQ(told(kFiles,
                 {denied_file("/srv/more/a"), denied_file("/srv/more/b"), denial("other"), denied_file("/srv/more/c")}),
            "sbpf: denied read /srv/more/a\n"
            "  and of 2 more in /srv/more, all of which this opens:\n"
            "  allow with: filesystem: {read: [/srv/more]}\n"
            "sbpf: denied other\n"
            "  allow with: network.connect: - {address: 192.0.2.1, ports: [443]}\n");
}

TEST(Denials, a_directory_is_not_proposed_for_few_files_or_other_rights) {
  const std::string text =
      told(kFiles, {denied_file("/srv/more/a"), denied_file("/srv/more/b"), denied_file("/srv/more/c", "write"),
                    denied_file("/srv/more/d", "read, write")});
  EXPECT_EQ(text.find("[/srv/more]"), std::string::npos) << text;
  EXPECT_NE(text.find("{write: [/srv/more/d]}"), std::string::npos) << text;
}

TEST(Denials, a_directory_is_not_proposed_where_its_rule_would_not_allow_all) {
  const std::string text =
      told(kFiles, {denied_file("/srv/data/a"), denied_file("/srv/data/b"), denied_file("/srv/data/c")});
  EXPECT_EQ(text.find("[/srv/data]"), std::string::npos) << text;
}

TEST(Denials, directories_that_hold_secrets_or_much_else_are_not_proposed) {
  for (const std::string directory : {"", "/srv", "/home/ann", "/home/ann/.ssh", "/var/lib", "/etc/app", "/root/app",
                                      "/proc/7/task", "/srv/.git/x"}) {
    const std::string text =
        told(kFiles, {denied_file(directory + "/a"), denied_file(directory + "/b"), denied_file(directory + "/c")});
    EXPECT_EQ(text.find("more in"), std::string::npos) << text;
    EXPECT_NE(text.find(directory + "/c]"), std::string::npos) << text;
  }
}

TEST(Denials, directories_of_the_system_are_not_proposed_to_be_written) {
  for (const char* directory :
       {"/usr/bin", "/usr/lib/systemd/system", "/lib/x", "/lib64/x", "/opt/app", "/var/spool/cron"}) {
    std::vector<agent::Event> events;
    for (const char* name : {"/a", "/b", "/c"}) events.push_back(denied_file(std::string(directory) + name, "write"));
    EXPECT_EQ(told(kFiles, events).find("more in"), std::string::npos) << directory;
  }
}

TEST(Denials, several_changes_are_told_as_one) {
  const std::string text =
      told(kFiles, {denied_file("/srv/x/a"), denied_file("/srv/y/b", "write"), denied_file("/srv/x/a")});
  EXPECT_TRUE(
      text.ends_with("sbpf: to allow all of these at once:\n"
                     "  allow with: filesystem: {read: [/srv/x/a], write: [/srv/y/b]}\n"))
      << text;
  EXPECT_EQ(told(kFiles, {denied_file("/srv/x/a")}).find("at once"), std::string::npos);
  // One that is no change is not covered by what would be said of all.
  EXPECT_EQ(told(kFiles, {denied_file("/srv/x/a"), denied_file("/srv/y/b"), denial("other")}).find("at once"),
            std::string::npos);
}

TEST(Denials, a_relaxation_is_no_advice) {
  agent::Event event = denial("socket(family 2, type 3, protocol 1)");
  event.allow = "";
  event.relaxation = "network: {dangerously_allow_sockets: [raw]}";
  EXPECT_EQ(told(kFiles, {event}),
            "sbpf: denied socket(family 2, type 3, protocol 1)\n"
            "  only a relaxation allows it: network: {dangerously_allow_sockets: [raw]}\n");
  EXPECT_EQ(event_json(event, 0).at("allow"), "");
  EXPECT_EQ(event_json(event, 0).at("relaxation"), event.relaxation);
  EXPECT_FALSE(event_json(denial("other"), 0).contains("relaxation"));
}

TEST(Denials, a_change_of_several_lines_is_shown_in_lines) {
  EXPECT_EQ(remedy_lines("process: {exec: {allow: [/opt/x]}}\nfilesystem: {read: [/opt/x]}", ""),
            "  allow with: process: {exec: {allow: [/opt/x]}}\n"
            "              filesystem: {read: [/opt/x]}\n");
  EXPECT_EQ(remedy_lines("", ""), "");
}

}  // namespace
}  // namespace sbpf::cli
