// SPDX-License-Identifier: Apache-2.0
// The service's pure parts: configuration, requests, who may, what the watch tells, metrics.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "service/assignments.h"
#include "service/config.h"
#include "service/metrics.h"
#include "service/peer.h"
#include "service/requests.h"
#include "service/sbpf.h"
#include "service/world.h"

namespace sbpf::service {
namespace {

std::string wrong(std::string_view text) {
  auto config = parse_config(text, "f.yaml");
  return config ? "valid" : config.error().message;
}

TEST(Config, SaysNothingIsDefaults) {
  for (const char* text : {"", "# only a comment\n"}) {
    auto config = parse_config(text, "f.yaml");
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_EQ(config->socket, "/run/sbpf/api.sock");
    EXPECT_EQ(root_socket(*config), "/run/sbpf/root.sock");
    EXPECT_EQ(config->limits.connections, 32u);
  }
}

TEST(Config, ReadsEveryKey) {
  auto config = parse_config(
      "socket: /run/a.sock\ngroup: ops\nsbpf: /usr/bin/sbpf\npolicies: /p\nlog_level: debug\nmetrics: false\n"
      "limits: {connections: 2, connections_per_user: 1, body_bytes: 1024, receive_seconds: 3, request_seconds: 4, watch_seconds: 5, runs: 6, runs_per_user: 0}\n",
      "f.yaml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->group, "ops");
  EXPECT_EQ(config->log_level, LogLevel::debug);
  EXPECT_FALSE(config->metrics);
  EXPECT_EQ(config->limits.watch, std::chrono::seconds(5));
  EXPECT_EQ(config->limits.runs, 6u);
  EXPECT_EQ(config->limits.connections_per_user, 1u);
  EXPECT_EQ(config->limits.runs_per_user, 0u);
}

TEST(Config, ErrorsHavePlaceKeyAndHint) {
  EXPECT_NE(wrong("limits: {conections: 2}\n").find("f.yaml:1:10: limits.conections: unknown key"), std::string::npos);
  EXPECT_NE(wrong("limits: {conections: 2}\n").find("hint: did you mean \"connections\""), std::string::npos);
  EXPECT_NE(wrong("group: a\ngroup: b\n").find("f.yaml:2:1: group"), std::string::npos);
  for (const char* text :
       {"socket: api.sock\n", "socket: /a/../b\n", "socket: /run/root.sock\n", "group: a b\n", "metrics: maybe\n",
        "log_level: loud\n", "limits: {connections: 0}\n", "limits: {connections: 1001}\n",
        "limits: {connections: 010}\n", "limits: {connections: 0x10}\n", "limits: {connections: +10}\n",
        "limits: {body_bytes: 2k}\n", "- a\n", "socket: [\n"})
    EXPECT_NE(wrong(text).find("f.yaml:"), std::string::npos) << text;
}

std::string code(const Result<Route>& result) { return result ? "ok" : result.error().code.str(); }

TEST(Proof, NamesWhatIsMissingFirst) {
  EXPECT_FALSE(failed_check(Json::parse(R"({"ok": true, "checks": []})")));
  const auto error = failed_check(Json::parse(
      R"({"ok": false, "checks": [{"name": "lsm", "ok": true}, {"name": "canary", "ok": false, "reason": "r", "fix": "f"}]})"));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code.str() + " " + error->message + " " + error->hint, "missing_canary r f");
  for (const char* answer : {"{}", R"({"ok": false})", R"({"ok": false, "checks": [1]})"})
    EXPECT_TRUE(failed_check(Json::parse(answer)));
}

TEST(Requests, Routes) {
  EXPECT_EQ(route("GET", "/v1/sandboxes/a-1")->name, "a-1");
  EXPECT_EQ(route("PUT", "/v1/sandboxes/a/policy")->asks, Asks::swap);
  EXPECT_TRUE(route("DELETE", "/v1/sandboxes/a?kill=true")->kill);
  EXPECT_EQ(code(route("DELETE", "/v1/sandboxes/a?kill=1")), "bad_query");
  EXPECT_EQ(code(route("GET", "/v1/sandboxes?x=1")), "bad_query");
  EXPECT_EQ(code(route("GET", "/v1/sandboxes/--all")), "bad_name");
  EXPECT_EQ(code(route("GET", "/v1/sandboxes/a%2fb")), "bad_name");
  EXPECT_EQ(code(route("GET", "/v1/sandboxes/a/b")), "no_such_path");
  EXPECT_EQ(code(route("GET", "/v1/sandboxes/")), "no_such_path");
  EXPECT_EQ(code(route("PATCH", "/v1/sandboxes")), "wrong_method");
}

TEST(Requests, WhatTheyWant) {
  for (const Asks asks : {Asks::attach, Asks::swap, Asks::detach})
    EXPECT_EQ(wants(asks), Wants::change) << static_cast<int>(asks);
  for (const Asks asks : {Asks::sandboxes, Asks::sandbox, Asks::events})
    EXPECT_EQ(wants(asks), Wants::read) << static_cast<int>(asks);
}

TEST(Requests, Names) {
  EXPECT_TRUE(is_name(std::string(63, 'a')));
  EXPECT_FALSE(is_name(std::string(64, 'a')));
}

TEST(Requests, BodiesAreStrict) {
  EXPECT_TRUE(parse_change(R"({"cgroup": "/c", "name": "n", "policy": "p"})", Asks::attach));
  EXPECT_TRUE(parse_change(R"({"policy_text": "version: 1"})", Asks::swap));
  EXPECT_TRUE(parse_change(R"({"cgroup": "/c", "name": "n", "policy": "p"})", Asks::attach)->keep);
  EXPECT_TRUE(parse_change(R"({"cgroup": "/c", "name": "n", "policy": "p", "keep": true})", Asks::attach)->keep);
  EXPECT_FALSE(parse_change(R"({"cgroup": "/c", "name": "n", "policy": "p", "keep": false})", Asks::attach)->keep);
  EXPECT_EQ(
      parse_change(R"({"cgroup": "/c", "name": "n", "policy": "p", "keep": "no"})", Asks::attach).error().code.text(),
      "bad_body");
  EXPECT_EQ(parse_change(R"({"policy": "p", "keep": false})", Asks::swap).error().code.text(), "bad_body");
  for (const Asks asks : {Asks::attach, Asks::swap}) {
    const std::string rest =
        asks == Asks::attach ? R"("policy": "p", "cgroup": "/c", "name": "n"})" : R"("policy": "p"})";
    const auto open = [&](const std::string& value) {
      return parse_change(R"({"already_open": )" + value + ", " + rest, asks);
    };
    EXPECT_EQ(parse_change("{" + rest, asks)->open, Change::Open::refuse);
    EXPECT_EQ(open(R"("refuse")")->open, Change::Open::refuse);
    EXPECT_EQ(open(R"("evict")")->open, Change::Open::evict);
    EXPECT_EQ(open(R"("keep")")->open, Change::Open::keep);
    for (const char* value : {"true", "\"\"", "\"Evict\"", "null", "[\"evict\"]"}) EXPECT_FALSE(open(value)) << value;
  }
  EXPECT_FALSE(parse_change(R"({"already_open": "evict", "pid": 5, "policy": "p"})", Asks::run));
  for (const char* body :
       {"", "[]", "{", R"({"cgroup": "/c", "name": "n"})", R"({"cgroup": "c", "name": "n", "policy": "p"})",
        R"({"cgroup": "/c", "name": "--all", "policy": "p"})", R"({"cgroup": "/c", "name": "n", "policy": "../p"})",
        R"({"cgroup": "/c", "name": "a/b", "policy": "p"})", R"({"cgroup": "/c", "name": "a/", "policy": "p"})",
        R"({"cgroup": "/c", "name": "n", "policy": "a/b"})", R"({"cgroup": "/c", "name": "n", "policy": "a/../p"})",
        R"({"cgroup": "/c", "name": "n", "policy": "p.yaml"})",
        R"({"cgroup": "/c", "name": "n", "policy": "p", "x": "y"})",
        R"({"cgroup": "/c", "name": "n", "policy": "p", "policy": "q"})",
        R"({"cgroup": "/c", "name": "n", "policy": 1})",
        R"({"cgroup": "/c", "name": "n", "policy": "p", "policy_text": "t"})",
        "{\"cgroup\": \"/c\\u0000\", \"name\": \"n\", \"policy\": \"p\"}"})
    EXPECT_EQ(parse_change(body, Asks::attach).error().code.text(), "bad_body") << body;
  EXPECT_FALSE(parse_change(R"({"policy": "p", "cgroup": "/c"})", Asks::swap));
  EXPECT_EQ(parse_change(R"({"policy": "a/b"})", Asks::swap).error().code.text(), "bad_body");
}

TEST(Requests, BodiesOfRunsAreStrict) {
  const auto change = parse_change(R"({"pid": 12, "name": "a-b", "policy_text": "t"})", Asks::run);
  ASSERT_TRUE(change) << change.error().message;
  EXPECT_EQ(change->pid, 12);
  EXPECT_EQ(run_name(1000, change->name), "u1000-a-b");
  EXPECT_TRUE(parse_change(R"({"pid": 1, "policy": "no-network"})", Asks::run));
  const std::string longest(40, 'a');
  EXPECT_TRUE(parse_change(R"({"pid": 1, "policy": "p", "name": ")" + longest + "\"}", Asks::run));
  EXPECT_TRUE(is_name(run_name(4294967294, longest)));
  for (const std::string& body :
       {std::string(R"({"policy": "p"})"), std::string(R"({"pid": 0, "policy": "p"})"),
        std::string(R"({"pid": -1, "policy": "p"})"), std::string(R"({"pid": "1", "policy": "p"})"),
        std::string(R"({"pid": 1.5, "policy": "p"})"), std::string(R"({"pid": 4294967297, "policy": "p"})"),
        std::string(R"({"pid": 1})"), std::string(R"({"pid": 1, "pid": 2, "policy": "p"})"),
        std::string(R"({"pid": 1, "policy": "../p"})"), std::string(R"({"pid": 1, "policy": "p", "name": "a.b"})"),
        std::string(R"({"pid": 1, "policy": "p", "name": "../a"})"),
        std::string(R"({"pid": 1, "policy": "p", "name": "a/b"})"), std::string(R"({"pid": 1, "policy": "a/b"})"),
        std::string(R"({"pid": 1, "policy": "p", "name": ""})"),
        std::string(R"({"pid": 1, "policy": "p", "cgroup": "/x"})"),
        R"({"pid": 1, "policy": "p", "name": ")" + longest + "a\"}"})
    EXPECT_EQ(parse_change(body, Asks::run).error().code.text(), "bad_body") << body;
  EXPECT_EQ(parse_change(R"({"pid": 0, "policy": "p"})", Asks::run).error().message,
            "\"pid\" must be the number of a process");
  EXPECT_EQ(parse_change(R"({"policy": "p"})", Asks::run).error().message, "\"pid\" is missing");
  EXPECT_FALSE(parse_change(R"({"pid": 1, "policy": "p"})", Asks::swap));
  EXPECT_EQ(route("POST", "/v1/runs")->asks, Asks::run);
  EXPECT_EQ(code(route("GET", "/v1/runs")), "wrong_method");
  EXPECT_EQ(wants(Asks::run), Wants::run);
}

TEST(Requests, BodiesOfProcessesAreStrict) {
  EXPECT_EQ(parse_change(R"({"pid": 12, "policy": "p"})", Asks::exec)->policy, "p");
  EXPECT_EQ(parse_change(R"({"pid": 12, "policy_text": "x"})", Asks::exec)->policy_text, "x");
  EXPECT_EQ(parse_change(R"({"pid": 12})", Asks::exec)->pid, 12);
  for (const char* body : {"", "{}", R"({"pid": 0})", R"({"pid": "1"})", R"({"pid": 1, "pid": 2})",
                           R"({"pid": 1, "policy": "p", "policy_text": "x"})", R"({"pid": 1, "name": "a"})",
                           R"({"pid": 1, "already_open": "keep"})"})
    EXPECT_EQ(parse_change(body, Asks::exec).error().code.text(), "bad_body") << body;
  EXPECT_EQ(route("POST", "/v1/sandboxes/a/processes")->asks, Asks::exec);
  EXPECT_EQ(route("GET", "/v1/sandboxes/a/policy")->asks, Asks::policy_of);
  EXPECT_EQ(wants(Asks::exec), Wants::run);
  EXPECT_EQ(wants(Asks::policy_of), Wants::read);
  for (const Asks asks : {Asks::events, Asks::policy_of, Asks::exec}) EXPECT_TRUE(is_of_owner(asks));
  for (const Asks asks : {Asks::sandbox, Asks::sandboxes, Asks::run, Asks::swap}) EXPECT_FALSE(is_of_owner(asks));
}

class StateFile : public testing::Test {
 protected:
  std::string file = testing::TempDir() + "service-" + std::to_string(::getpid()) + ".json";
  void SetUp() override { (void)std::remove(file.c_str()); }
  void TearDown() override { (void)std::remove(file.c_str()); }
  void write(const std::string& text) const { std::ofstream(file) << text; }
};

TEST_F(StateFile, RunsOutliveTheService) {
  Assignments before(file);
  ASSERT_TRUE(before.set("web", {"web", 7, "ab"}));
  ASSERT_TRUE(before.set_run("u1-a", {1, 0}));
  ASSERT_TRUE(before.set_run("u1-a", {1, 9}));
  ASSERT_TRUE(before.set_run("u2-b", {2, 0}));
  ASSERT_TRUE(before.remove_run("u2-b"));
  Assignments after(file);
  ASSERT_TRUE(after.load());
  ASSERT_EQ(after.runs().size(), 1u);
  EXPECT_EQ(after.runs().at("u1-a").uid, 1u);
  EXPECT_EQ(after.runs().at("u1-a").cgroup_id, 9u);
  EXPECT_EQ(after.all().at("web").instance, 7u);
  EXPECT_EQ(after.all().at("web").sha256, "ab");
}

TEST_F(StateFile, ARunIsWrittenAtOnce) {
  Assignments before(file);
  ASSERT_TRUE(before.set_run("u1-a", {1, 9}));
  Assignments after(file);
  ASSERT_TRUE(after.load());
  EXPECT_EQ(after.runs().size(), 1u);
}

TEST_F(StateFile, OfAnotherVersionIsRefused) {
  for (const char* version : {"0", "2", "\"1\"", "null", "[1]", "{}"}) {
    write(std::string(R"({"version": )") + version + R"(, "sandboxes": {}})");
    Assignments state(file);
    const auto loaded = state.load();
    ASSERT_FALSE(loaded) << version;
    EXPECT_EQ(loaded.error().code.text(), "state");
  }
}

// They would become paths and words of command lines.
TEST_F(StateFile, NamesAreNames) {
  const std::string longest(63, 'a');
  for (const std::string& name : {longest, std::string("a.b_c-d")}) {
    write(R"({"version": 1, "sandboxes": {")" + name + R"(": {"policy": ")" + name +
          R"(", "instance": 7, "sha256": "ab"}}})");
    EXPECT_TRUE(Assignments(file).load()) << name;
  }
  for (const std::string& name : {std::string(), std::string("../a"), std::string("--all"), std::string("a/b"),
                                  std::string("a\\nb"), longest + "a"}) {
    for (const std::string& text :
         {R"({"version": 1, "sandboxes": {")" + name + R"(": {"policy": "web", "instance": 7, "sha256": "ab"}}})",
          R"({"version": 1, "sandboxes": {"web": {"policy": ")" + name + R"(", "instance": 7, "sha256": "ab"}}})",
          R"({"version": 1, "sandboxes": {}, "runs": {")" + name + R"(": {"uid": 1, "cgroup_id": 7}}})"}) {
      write(text);
      Assignments state(file);
      const auto loaded = state.load();
      ASSERT_FALSE(loaded) << text;
      EXPECT_EQ(loaded.error().code.text(), "state");
      EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos);
    }
  }
}

TEST_F(StateFile, SaysWhatIsNotOurs) {
  write(R"({"version": 1, "sandboxes": {"../a": {"policy": "web", "instance": 7, "sha256": "ab"}}})");
  EXPECT_EQ(Assignments(file).load().error().message, file + " has an entry that is not ours: \"../a\"");
}

// Root in a sandbox that judges no files may put it there.
TEST_F(StateFile, APipeIsWaitedForByNobody) {
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(Assignments(file).load().error().message, file + " is not readable");
  const std::string fresh = file + ".new";
  ASSERT_EQ(::mkfifo(fresh.c_str(), 0600), 0);
  Assignments state(file);
  EXPECT_FALSE(state.set("web", {"web", 7, "ab"}));
  ASSERT_EQ(std::remove(fresh.c_str()), 0);
  EXPECT_TRUE(state.set("web", {"web", 7, "ab"}));
  EXPECT_TRUE(Assignments(file).load());
}

TEST_F(StateFile, OfAServiceThatHadNoRunsIsRead) {
  write(R"({"version": 1, "sandboxes": {"web": {"policy": "web", "instance": 7, "sha256": "ab"}}})");
  Assignments state(file);
  EXPECT_TRUE(state.load());
  EXPECT_TRUE(state.runs().empty());
  EXPECT_EQ(state.all().size(), 1u);
}

TEST_F(StateFile, WithRunsThatAreNotOursIsRefused) {
  for (const char* runs : {"7", R"({"a": 1})", R"({"a": {"uid": 1}})", R"({"a": {"uid": -1, "cgroup_id": 1}})",
                           R"({"a": {"uid": 1, "cgroup_id": "x"}})", R"({"a": {"uid": 4294967296, "cgroup_id": 1}})",
                           R"({"a": {"uid": 4294967295, "cgroup_id": 1}})"}) {
    write(std::string(R"({"version": 1, "sandboxes": {}, "runs": )") + runs + "}");
    Assignments state(file);
    auto loaded = state.load();
    ASSERT_FALSE(loaded) << runs;
    EXPECT_EQ(loaded.error().code.text(), "state");
    EXPECT_TRUE(state.runs().empty());
  }
}

TEST(Peers, Who) {
  const Peer root{1, 0, 0, {}}, member{1, 1000, 1000, {5}}, other{1, 1000, 1000, {6}};
  EXPECT_TRUE(may(root, Wants::change, 5));
  EXPECT_TRUE(may(member, Wants::read, 5));
  EXPECT_FALSE(may(member, Wants::change, 5));
  EXPECT_FALSE(may(other, Wants::read, 5));
  EXPECT_TRUE(may(member, Wants::run, 5));
  EXPECT_FALSE(may(other, Wants::run, 5));
}

TEST(Peers, SandboxByCgroup) {
  const std::map<std::string, Json> boxes = {{"web", {{"cgroup", "/sys/fs/cgroup/system.slice/web"}}},
                                             {"gone", {{"cgroup", ""}}}};
  EXPECT_EQ(sandbox_of("/system.slice/web", "/sys/fs/cgroup", boxes), "web");
  EXPECT_EQ(sandbox_of("/system.slice/web/x", "/sys/fs/cgroup", boxes), "web");
  EXPECT_EQ(sandbox_of("/system.slice/web2", "/sys/fs/cgroup", boxes), "");
  EXPECT_EQ(sandbox_of("/sbpf/fresh/x", "/sys/fs/cgroup", boxes), "fresh");
  EXPECT_EQ(sandbox_of("/user.slice", "/sys/fs/cgroup", boxes), "");
  EXPECT_EQ(cgroup_root("25 1 0:2 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"), "/sys/fs/cgroup");
}

struct Recorder : Observer {
  Metrics metrics;
  std::vector<std::string> told;
  void pass(const Json& pass) override { metrics.pass(pass); }
  void sandbox(const Json& now, const Json& before) override { metrics.sandbox(now, before); }
  void gone(const std::string& name, const Json& last) override {
    told.push_back("gone " + name + " " + last.value("isolation", "")), metrics.gone(name);
  }
  void loss(const Json& loss) override { metrics.loss(loss); }
  void restored(const Json&) override { metrics.restored(); }
  void trouble(const Json&) override { told.push_back("trouble"); }
};

TEST(World, CountsWhatWasAddedAndForgetsWhatIsGone) {
  Recorder recorder;
  World world(recorder);
  const auto now = Clock::now();
  const std::string pass =
      R"({"pass":{"active":1,"degraded":0,"inactive":0,"duration_us":100,"canary_age_s":7,"late_us":700000}})";
  const auto box = [](int n) {
    return R"({"sandbox":{"name":"a","isolation":"active","generation":)" + std::to_string(n + 10) +
           R"(,"lost_full":)" + std::to_string(n + 20) + R"(,"lost_rate":)" + std::to_string(n + 30) +
           R"(,"denied":{"connect4":)" + std::to_string(n) + "}}}";
  };
  EXPECT_FALSE(world.age(now));
  for (const std::string& line : {box(2), pass, box(5)}) ASSERT_TRUE(world.take(line, now)) << line;
  EXPECT_TRUE(world.current());
  std::string text = recorder.metrics.text(std::nullopt);
  EXPECT_NE(text.find("sbpf_denied_total{domain=\"network\",hook=\"connect4\"} 5"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_policy_generation{sandbox=\"a\"} 15"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_events_lost_total{why=\"ring_full\"} 25"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_events_lost_total{why=\"rate_limit\"} 35"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_last_verified_age_seconds +Inf"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_canary_age_seconds 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_watch_late_seconds_bucket{le=\"0.5\"} 0"), std::string::npos) << text;
  EXPECT_NE(text.find("sbpf_watch_late_seconds_bucket{le=\"1\"} 1"), std::string::npos) << text;
  world.restarted();
  EXPECT_FALSE(world.current());
  EXPECT_EQ(world.sandboxes().size(), 1u);  // until the new watch has seen what there is
  ASSERT_TRUE(world.take(pass, now));
  EXPECT_TRUE(world.sandboxes().empty());
  EXPECT_EQ(recorder.told, std::vector<std::string>{"gone a active"});
  ASSERT_TRUE(world.take(box(1), now));
  const std::string gone = R"({"gone":{"name":"a"}})";
  for (int i = 0; i < 2; i++) ASSERT_TRUE(world.take(gone, now));  // the second time it is not there
  EXPECT_EQ(recorder.told, (std::vector<std::string>{"gone a active", "gone a active"}));
  for (const char* line : {"", "nonsense", "[]", "{}", R"({"new":{}})", R"({"sandbox":{"name":"x"}})"})
    EXPECT_FALSE(world.take(line, now)) << line;
}

}  // namespace
}  // namespace sbpf::service
