// SPDX-License-Identifier: Apache-2.0
#include "cli/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "agent/sandbox/events.h"
#include "cli/format_end.h"
#include "tests/unit/denial.h"

namespace sbpf::cli {
namespace {

agent::Status active_status() {
  agent::Status status;
  status.sandbox = "box";
  status.cgroup = "/sys/fs/cgroup/sbpf/box";
  status.cgroup_id = 42;
  status.isolation = agent::Isolation::active;
  status.policy_name = "no-network";
  status.policy_sha256 = "abcd";
  status.generation = 3;
  for (const agent::Hook& hook : agent::hooks_of(0))
    status.hooks.push_back({&agent::all_hooks()[hook.id], 7, "0123456789abcdef", 9, true, "not run", ""});
  return status;
}

agent::Status status_without(sbpf_hook hook) {
  agent::Status status = active_status();
  status.isolation = agent::Isolation::inactive;
  const auto one = std::ranges::find_if(status.hooks, [&](const auto& each) { return each.hook->id == hook; });
  one->attached = false;
  one->reason = "link was detached";
  return status;
}

// ---- printable ----

TEST(Printable, control_characters_are_shown_not_sent) {
  EXPECT_EQ(printable("a\x1b[31mb\r\n\t\x7f"), "a\\x1b[31mb\\x0d\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m");
}

TEST(Printable, what_is_not_text_is_shown_as_bytes) {
  EXPECT_EQ(printable("\xe0\x9b"
                      "31m"),
            "\\xe0\\x9b31m");  // to some terminals a control, wherever it stands
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\x8a"), "\\xc0\\x8a");  // an overlong newline
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  // NOLINTNEXTLINE(misc-misleading-bidirectional): it is what is tested
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xaeb");  // turns what follows round
}

TEST(Printable, text_stays) {
  EXPECT_EQ(printable("größe … 漢字 🙂"), "größe … 漢字 🙂");
  EXPECT_EQ(printable("a\nb", true), "a\nb");
  EXPECT_EQ(printable(""), "");
}

// ---- status ----

TEST(StatusJson, has_the_promised_fields) {
  const Json json = status_json(active_status());
  for (const char* field : {"sandbox", "cgroup", "cgroup_id", "isolation", "isolation_active", "requested", "effective",
                            "degraded", "runtime", "policy"})
    EXPECT_TRUE(json.contains(field)) << field;
  EXPECT_EQ(json["isolation"], "active");
  EXPECT_EQ(json["isolation_active"], true);
  EXPECT_EQ(json["runtime"], "host");
  EXPECT_EQ(json["policy"]["name"], "no-network");
  EXPECT_EQ(json["policy"]["sha256"], "abcd");
  EXPECT_EQ(json["policy"]["generation"], 3);
  const Json& hook = json["effective"]["network"]["hooks"][0];
  for (const char* field : {"name", "kind", "prog_id", "prog_tag", "link_id", "attached", "canary"})
    EXPECT_TRUE(hook.contains(field)) << field;
}

TEST(StatusJson, every_hook_is_in_its_domain_once) {
  const Json json = status_json(active_status());
  std::size_t listed = 0;
  for (const auto& [name, domain] : json["effective"].items()) {
    EXPECT_EQ(domain["level"], "enforced") << name;
    listed += domain["hooks"].size();
  }
  EXPECT_EQ(listed, agent::hooks_of(0).size());
}

TEST(StatusJson, any_missing_hook_takes_active_away) {
  for (const agent::Hook& hook : agent::hooks_of(0)) {
    const Json json = status_json(status_without(hook.id));
    EXPECT_EQ(json["isolation_active"], false) << hook.name;
    EXPECT_EQ(json["effective"][agent::domain_name(hook.domain)]["level"], "degraded") << hook.name;
  }
}

TEST(StatusJson, a_status_that_lists_no_hooks_is_never_active) {
  agent::Status status = active_status();
  status.hooks.clear();
  const Json json = status_json(status);
  EXPECT_EQ(json["isolation_active"], false);
  EXPECT_NE(json["isolation"], "active");
  EXPECT_EQ(json["effective"]["network"]["level"], "none");
  EXPECT_EQ(json["effective"]["guard"]["level"], "none");
}

TEST(StatusJson, a_canary_that_got_through_takes_active_away) {
  agent::Status status = active_status();
  status.hooks.front().canary = "not denied";
  EXPECT_EQ(status_json(status)["isolation_active"], false);
  EXPECT_EQ(status_json(status)["effective"]["network"]["level"], "degraded");
}

TEST(StatusJson, audit_is_never_active) {
  agent::Status status = active_status();
  status.mode = policy::Mode::audit;
  const Json json = status_json(status);
  EXPECT_EQ(json["isolation_active"], false);
  EXPECT_NE(json["isolation"], "active");
  EXPECT_EQ(json["effective"]["network"]["level"], "audit");
}

TEST(StatusJson, the_short_one_has_the_level_and_why) {
  agent::Status status = active_status();
  EXPECT_EQ(short_status(status), "box active\n");
  Json json = short_status_json(status);
  EXPECT_EQ(json["isolation_active"], true);
  EXPECT_EQ(json["policy"], "no-network");
  EXPECT_TRUE(json["reasons"].empty());
  EXPECT_FALSE(json.contains("effective"));
  EXPECT_FALSE(json.contains("denied"));
  status = status_without(SBPF_HOOK_connect4);
  status.degraded.push_back({"connect4", "enforced", "missing", "link was detached"});
  EXPECT_EQ(short_status(status), "box INACTIVE; connect4: link was detached\n");
  json = short_status_json(status);
  EXPECT_EQ(json["isolation_active"], false);
  EXPECT_EQ(json["reasons"], Json::array({"connect4: link was detached"}));
}

TEST(StatusJson, is_dumped_though_names_are_not_utf8) {
  agent::Status status = active_status();
  status.sandbox = "\xff\xfe";
  EXPECT_NO_THROW(EXPECT_FALSE(dump(status_json(status)).empty()));
}

TEST(Headline, says_what_is) {
  const std::string n = std::to_string(agent::hooks_of(0).size());
  EXPECT_EQ(headline(active_status()),
            "isolation active (" + n + "/" + n + " hooks) policy=no-network cgroup=/sys/fs/cgroup/sbpf/box");
  EXPECT_TRUE(headline(status_without(SBPF_HOOK_bpf)).starts_with("isolation INACTIVE ("));
}

TEST(Headline, audit_is_loud_and_never_says_active) {
  agent::Status status = active_status();
  status.mode = policy::Mode::audit;
  for (const agent::Isolation isolation : {agent::Isolation::active, agent::Isolation::degraded}) {
    status.isolation = isolation;
    EXPECT_TRUE(headline(status).starts_with("AUDIT ONLY, nothing is blocked ("));
    EXPECT_EQ(headline(status).find("active"), std::string::npos);
  }
}

TEST(StatusTable, names_each_missing_hook_and_why) {
  const agent::Status statuses[] = {status_without(SBPF_HOOK_sendmsg6)};
  const std::string text = status_table(statuses);
  EXPECT_NE(text.find("INACTIVE"), std::string::npos);
  EXPECT_NE(text.find("missing hook sendmsg6 (network): link was detached"), std::string::npos);
}

// ---- preflight ----

TEST(Top, what_needs_a_person_comes_first_and_rates_are_of_the_interval) {
  agent::Status quiet = active_status(), busy = active_status(), broken = status_without(SBPF_HOOK_connect4);
  quiet.sandbox = "quiet", quiet.cgroup_id = 1;
  busy.sandbox = "busy", busy.cgroup_id = 2;
  broken.sandbox = "broken", broken.cgroup_id = 3;
  agent::Status busy_before = busy;
  busy_before.denied[SBPF_HOOK_connect4] = 10;
  busy.denied[SBPF_HOOK_connect4] = 35;
  const std::vector<agent::Status> now = {quiet, busy, broken}, before = {quiet, busy_before};
  const std::string text = top_text(now, before, 2, "12:00:00", 0, 200);
  EXPECT_NE(text.find("sandboxes 3  active 2  not active 1"), std::string::npos) << text;
  EXPECT_LT(text.find("broken"), text.find("busy")) << text;
  EXPECT_LT(text.find("busy"), text.find("quiet")) << text;
  EXPECT_NE(text.find("12.5 "), std::string::npos) << text;
  EXPECT_NE(text.find("connect4"), std::string::npos) << text;
  const std::string small = top_text(now, before, 2, "12:00:00", 5, 20);
  EXPECT_EQ(std::ranges::count(small, '\n'), 5) << small;
  EXPECT_NE(small.find("and 2 more"), std::string::npos) << small;
}

TEST(PreflightJson, a_check_of_all_domains_fails_each) {
  const agent::Preflight preflight{
      "6.1", {{"btf", "all", false, "read it", "no file", "rebuild"}, {"programs", "network", true, "load", "", ""}}};
  const Json json = preflight_json(preflight);
  EXPECT_EQ(json["ok"], false);
  for (const char* domain : {"filesystem", "network", "process", "guard"}) {
    EXPECT_EQ(json["domains"][domain]["ok"], false);
    EXPECT_EQ(json["domains"][domain]["reason"], "no file");
    EXPECT_EQ(json["domains"][domain]["fix"], "rebuild");
  }
}

TEST(PreflightJson, a_domain_that_nothing_probed_is_not_ok) {
  const agent::Preflight preflight{"6.1", {{"programs", "network", true, "load", "", ""}}};
  EXPECT_EQ(preflight_json(preflight)["domains"]["network"]["ok"], true);
  EXPECT_EQ(preflight_json(preflight)["domains"]["guard"]["ok"], false);
}

// ---- events ----

TEST(EventJson, endpoint_and_time) {
  agent::Event event = denial("connect tcp 192.0.2.1:443 (curl, pid 5)");
  event.raw.ts_ns = 1'500'000'000;
  event.raw.tgid = 5;
  std::memcpy(event.raw.comm, "curl", 4);
  event.raw.net.family = 2;
  event.raw.net.type = 1;
  event.raw.net.port = 443;
  const unsigned char address[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 1};
  std::memcpy(event.raw.net.addr, address, 16);
  const Json json = event_json(event, 1'700'000'000'000'000'000);
  EXPECT_EQ(json["ts"], "2023-11-14T22:13:21.500000Z");
  EXPECT_EQ(json["boot_ns"], 1'500'000'000) << "the same in each reading, whatever was done to the clock";
  EXPECT_EQ(json["hook"], "connect4");
  EXPECT_EQ(json["domain"], "network");
  EXPECT_EQ(json["verdict"], "denied");
  EXPECT_EQ(json["reason"], "no_rule");
  EXPECT_EQ(json["pid"], 5);
  EXPECT_EQ(json["comm"], "curl");
  EXPECT_EQ(json["address"], "192.0.2.1");
  EXPECT_EQ(json["port"], 443);
  EXPECT_EQ(json["protocol"], "tcp");
}

TEST(EventJson, guard_events_have_no_address) {
  agent::Event event = denial("signal 9 to process 1 outside the sandbox");
  event.raw.domain = SBPF_DOMAIN_GUARD;
  event.raw.hook = SBPF_HOOK_task_kill;
  event.raw.reason = SBPF_REASON_GUARD;
  event.raw.task = {1, 9};
  const Json json = event_json(event, 0);
  EXPECT_FALSE(json.contains("address"));
  EXPECT_EQ(json["target_pid"], 1);
  EXPECT_EQ(json["signal"], 9);
}

TEST(EventJson, a_hook_of_another_version_is_still_told) {
  agent::Event event = denial("x");
  event.raw.hook = 250;
  EXPECT_EQ(event_json(event, 0)["hook"], "hook 250");
}

TEST(EventJson, hostile_process_names_do_not_break_a_line) {
  agent::Event event = denial("x");
  std::memcpy(event.raw.comm, "\xff\n\x1b[2J\"", 7);
  const std::string line = dump(event_json(event, 0));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_TRUE(Json::accept(line));
}

agent::Event name_rate(const char* name) {
  sbpf_fs_event raw{};
  sbpf_name_event named{};
  named.event.hook = SBPF_NO_HOOK;
  named.event.domain = SBPF_DOMAIN_NETWORK;
  named.event.reason = SBPF_REASON_NAME_RATE;
  named.event.net.level = *name != 0 ? 1 : 0;
  std::strcpy(named.name, name);
  std::memcpy(&raw, &named, sizeof named);
  return agent::explain_event(raw, "box");
}

// What was dropped was not read.
TEST(EventJson, of_too_many_queries_has_no_name) {
  const agent::Event dropped = name_rate("");
  EXPECT_EQ(dropped.text, "queries for names came too fast: they were dropped unread");
  EXPECT_EQ(event_json(dropped, 0)["reason"], "name_rate");
  EXPECT_EQ(event_json(dropped, 0)["name"], "");
  EXPECT_FALSE(event_json(dropped, 0).contains("protocol"));
  const agent::Event refused = name_rate("a.w.example");
  EXPECT_EQ(refused.text, "resolve a.w.example (A): too many names below one pattern");
  EXPECT_EQ(event_json(refused, 0)["name"], "a.w.example");
}

TEST(FormatEnd, says_what_the_kernel_did_and_what_to_do) {
  agent::RunResult result;
  result.exit_code = 137;
  result.signal = 9;
  result.usage.memory_peak_bytes = 100;
  result.usage.memory_limit_bytes = 100;
  result.usage.out_of_memory = 1;
  result.usage.oom_kills = 2;
  const Json json = end_json(result);
  EXPECT_EQ(json.at("code"), 137);
  EXPECT_EQ(json.at("signal"), "SIGKILL");
  EXPECT_EQ(json.at("timed_out"), false);
  EXPECT_EQ(json.at("reasons").size(), 1u);
  EXPECT_EQ(json.at("reasons").at(0).at("code"), "out_of_memory");
  EXPECT_EQ(json.at("usage").at("oom_kills"), 2);
  EXPECT_EQ(json.at("usage").at("memory_peak_bytes"), 100);
  ASSERT_EQ(end_lines(result).size(), 1u);
  EXPECT_TRUE(end_lines(result).front().ends_with("; raise the limit, or run fewer of its processes at once"));
}

TEST(FormatEnd, of_itself_says_nothing) {
  const Json json = end_json({});
  EXPECT_TRUE(json.at("signal").is_null());
  EXPECT_EQ(json.at("reasons"), Json::array());
  EXPECT_TRUE(json.at("usage").at("memory_peak_bytes").is_null());
  EXPECT_TRUE(end_lines({}).empty());
}

}  // namespace
}  // namespace sbpf::cli
