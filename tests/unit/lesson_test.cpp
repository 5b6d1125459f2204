// SPDX-License-Identifier: Apache-2.0
// What `sbpf learn` makes of the denials of a run.
#include "cli/lesson.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "policy/advice.h"
#include "policy/filesystem.h"
#include "tests/unit/images.h"
#include "tests/unit/temp_dir.h"

namespace sbpf::cli {
namespace {

using Words = std::vector<std::string>;

const policy::Policy kBase = policy::policy_of("filesystem: {read: [/usr]}\n");

Json file(const std::string& path, bool writes = false) {
  return {{"verdict", "denied"},
          {"reason", "fs_default"},
          {"path", path},
          {"wanted", writes ? "write" : "read"},
          {"text", (writes ? "write " : "read ") + path},
          {"times", 1},
          {"allow", policy::suggestion(writes ? policy::PathUse::write : policy::PathUse::read, path)}};
}

Json endpoint(const std::string& operation, const std::string& address, std::uint64_t port) {
  return {{"verdict", "denied"},
          {"reason", "no_rule"},
          {"address", address},
          {"port", port},
          {"times", 1},
          {"text", operation + " tcp " + address + ":" + std::to_string(port)},
          {"allow", "network: {" + operation + ": [{address: \"" + address + "\", ports: [" + std::to_string(port) +
                        "], protocol: tcp}]}"}};
}

Words changes(const std::vector<Json>& events, bool own_places = true) {
  return learn_from(kBase, events, own_places).changes;
}

TEST(Lesson, several_files_of_a_directory_open_it_and_say_what_else_that_opens) {
  const Lesson lesson = learn_from(
      kBase,
      {file("/usr/share/nothing/a/a"), file("/srv/more/a"), file("/srv/more/b"), file("/srv/more/c"), file("/srv/x/a")},
      true);
  EXPECT_EQ(lesson.changes, (Words{"filesystem: {read: [/usr/share/nothing/a/a]}", "filesystem: {read: [/srv/more]}",
                                   "filesystem: {read: [/srv/x/a]}"}));
  ASSERT_EQ(lesson.opened.size(), 1u);
  EXPECT_TRUE(lesson.opened[0].starts_with("/srv/more: ")) << lesson.opened[0];
  EXPECT_TRUE(lesson.withheld.empty());
}

TEST(Lesson, secrets_are_withheld_with_the_change_that_a_person_may_make) {
  const Lesson lesson =
      learn_from(kBase, {file("/root/.ssh/config"), file("/srv/app/server.key"), file("/srv/app/a")}, true);
  EXPECT_EQ(lesson.changes, Words{"filesystem: {read: [/srv/app/a]}"});
  const std::string why = "secrets may be there";
  EXPECT_EQ(lesson.withheld,
            (std::vector<Withheld>{
                {"sbpf: denied read /root/.ssh/config", why, "filesystem: {read: [/root/.ssh/config]}"},
                {"sbpf: denied read /srv/app/server.key", why, "filesystem: {read: [/srv/app/server.key]}"}}));
}

TEST(Lesson, what_the_host_may_run_is_withheld_from_who_would_write_it) {
  for (const char* path : {"/etc/cron.d/x", "/usr/local/bin/x", "/root/.bashrc", "/home/ann/.profile", "/lib/x.so",
                           "/srv/repo/.git/hooks/post-checkout", "/var/spool/cron/root", "/run/x", "/opt/x"}) {
    const Lesson lesson = learn_from(kBase, {file(path, true)}, true);
    EXPECT_TRUE(lesson.changes.empty()) << path;
    EXPECT_EQ(lesson.withheld.size(), 1u) << path;
  }
  EXPECT_EQ(changes({file("/srv/out/x", true)}), Words{"filesystem: {write: [/srv/out/x]}"});
  EXPECT_EQ(changes({file("/etc/hosts")}), Words{"filesystem: {read: [/etc/hosts]}"});
}

TEST(Lesson, what_a_rule_denies_or_protects_is_withheld) {
  const policy::Policy ruled = policy::policy_of("filesystem: {read: [/usr], deny: [/srv/no], protect: [/srv/kept]}\n");
  for (const Json& event : {file("/srv/no/a"), file("/srv/no/a", true), file("/srv/kept/a", true)}) {
    const Lesson lesson = learn_from(ruled, {event}, true);
    EXPECT_TRUE(lesson.changes.empty()) << event;
    ASSERT_EQ(lesson.withheld.size(), 1u) << event;
    EXPECT_EQ(lesson.withheld[0].why, "a rule of the policy denies or protects it");
  }
  EXPECT_EQ(learn_from(ruled, {file("/usr/x/y", true)}, true).withheld.size(), 1u);
}

TEST(Lesson, services_and_interfaces_are_withheld) {
  for (const char* change : {"network: {unix: [/run/docker.sock]}", "process: {kernel: {allow: [io_uring]}}"}) {
    const Json event = {{"verdict", "denied"}, {"reason", "unix_peer"}, {"text", "x"}, {"times", 1}, {"allow", change}};
    const Lesson lesson = learn_from(kBase, {event}, true);
    EXPECT_TRUE(lesson.changes.empty()) << change;
    ASSERT_EQ(lesson.withheld.size(), 1u) << change;
    EXPECT_EQ(lesson.withheld[0].change, change);
  }
}

// A rule for a directory is one for all below it, asked for or not.
class Below : public InTempDir {
 protected:
  std::string root;
  void SetUp() override {
    InTempDir::SetUp();
    root = (top_ / "tree").string();
    std::filesystem::create_directories(root + "/deep/er");
  }
  void put(const std::string& name) const { std::ofstream(root + "/" + name) << "x"; }
  Lesson asked(bool writes) const { return learn_from(kBase, {file(root, writes)}, false); }
  Lesson three(bool writes) const {
    return learn_from(kBase, {file(root + "/a", writes), file(root + "/b", writes), file(root + "/c", writes)}, false);
  }
};

TEST_F(Below, a_directory_is_learnt_where_nothing_below_is_a_person_s_to_decide) {
  put("deep/er/x");
  EXPECT_EQ(asked(false).changes.size(), 1u);
  EXPECT_EQ(asked(true).changes.size(), 1u);
  EXPECT_EQ(three(true).changes, Words{"filesystem: {write: [" + root + "]}"});
}

TEST_F(Below, a_secret_below_withholds_it) {
  put("deep/er/.env");
  for (const bool writes : {false, true}) {
    EXPECT_TRUE(asked(writes).changes.empty());
    EXPECT_TRUE(three(writes).changes.empty());
  }
  EXPECT_NE(three(false).withheld.at(0).why.find("/deep/er/.env"), std::string::npos);
}

TEST_F(Below, what_the_host_runs_below_withholds_writes) {
  std::filesystem::create_directories(root + "/deep/.git/hooks");
  put("deep/.git/hooks/pre-commit");
  EXPECT_TRUE(asked(true).changes.empty());
  EXPECT_TRUE(three(true).changes.empty());
  EXPECT_EQ(three(false).changes.size(), 1u);
}

TEST(Lesson, what_is_close_to_the_root_or_the_kernel_s_is_withheld) {
  for (const char* path :
       {"/", "/boot", "/usr", "/home", "/dev/null", "/dev/nothing", "/proc/kcore", "/proc/7/mounts", "/sys/x"})
    for (const bool writes : {false, true}) {
      const Lesson lesson = learn_from(policy::policy_of("filesystem: {read: [/lib]}\n"), {file(path, writes)}, true);
      EXPECT_TRUE(lesson.changes.empty()) << path << writes;
      EXPECT_EQ(lesson.withheld.size(), 1u) << path << writes;
    }
}

TEST(Lesson, programs_that_it_wrote_itself_are_withheld) {
  const Json event = {{"verdict", "denied"},
                      {"reason", "exec_writable"},
                      {"text", "x"},
                      {"times", 1},
                      {"allow", "process: {exec: {deny_writable: false}}"}};
  EXPECT_EQ(learn_from(kBase, {event}, true).withheld.at(0).why, "it could run whatever it writes");
}

TEST(Lesson, more_than_is_looked_at_is_not_whole) {
  std::vector<Json> events;
  for (int i = 0; i < 300; i++) events.push_back(file("/srv/" + std::to_string(i) + "/.env"));
  EXPECT_FALSE(learn_from(kBase, events, true).whole);
  events.resize(200);
  EXPECT_TRUE(learn_from(kBase, events, true).whole);
}

// Three of a directory are the directory: a secret among them keeps all of them shut.
TEST(Lesson, a_directory_with_a_secret_is_not_opened) {
  const Lesson lesson = learn_from(kBase, {file("/srv/app/a"), file("/srv/app/b"), file("/srv/app/.env")}, true);
  EXPECT_TRUE(lesson.changes.empty());
  EXPECT_EQ(lesson.withheld.size(), 1u);
}

TEST(Lesson, a_relaxation_is_never_learnt) {
  Json raw = endpoint("connect", "169.254.169.254", 80);
  raw["allow"] = "";
  raw["relaxation"] = "network: {dangerously_allow_metadata: true}";
  const Lesson lesson = learn_from(kBase, {raw}, true);
  EXPECT_TRUE(lesson.changes.empty());
  EXPECT_EQ(lesson.withheld, (std::vector<Withheld>{{"sbpf: denied connect tcp 169.254.169.254:80",
                                                     "only a relaxation allows it, or nothing does", ""}}));
}

TEST(Lesson, temporary_files_are_in_a_place_of_its_own) {
  EXPECT_EQ(changes({file("/tmp/tmpab12", true), file("/tmp/tmpcd34/x"), file("/var/tmp/y", true), file("/dev/shm/z")}),
            (Words{"filesystem: {private: [/dev/shm]}", "filesystem: {private: [/tmp]}",
                   "filesystem: {private: [/var/tmp]}"}));
  EXPECT_EQ(changes({file("/tmp/tmpab12", true)}, false), Words{"filesystem: {write: [/tmp/tmpab12]}"});
  EXPECT_EQ(changes({file("/tmpx/a", true)}), Words{"filesystem: {write: [/tmpx/a]}"});
}

TEST(Lesson, ports_that_the_kernel_chose_are_on_a_loopback_of_its_own) {
  const Words own = {"network: {loopback: private}"};
  EXPECT_EQ(changes({endpoint("bind", "127.0.0.1", 0)}), own);
  EXPECT_EQ(changes({endpoint("connect", "127.0.0.1", 40123), endpoint("connect", "::1", 40124)}), own);
  // A port that somebody chose is a service's, and one elsewhere is nobody's own.
  EXPECT_EQ(changes({endpoint("connect", "127.0.0.1", 5432)}).at(0).find("private"), std::string::npos);
  EXPECT_EQ(changes({endpoint("connect", "192.0.2.1", 40123)}).at(0).find("private"), std::string::npos);
  EXPECT_EQ(changes({endpoint("connect", "127.0.0.1", 40123)}, false).at(0).find("private"), std::string::npos);
  // Where the rest of the policy does not go with it, it stays a port.
  const policy::Policy beyond = policy::policy_of("network: {connect: [{address: 192.0.2.1, ports: [1-65]}]}\n");
  EXPECT_EQ(learn_from(beyond, {endpoint("connect", "127.0.0.1", 40123)}, true).changes.at(0).find("private"),
            std::string::npos);
}

TEST(Lesson, a_server_on_loopback_has_a_loopback_of_its_own) {
  const Words own = {"network: {loopback: private}"};
  for (const char* hook : {"bind4", "bind6", "socket_bind", "socket_listen"}) {
    Json event = endpoint("bind", "127.0.0.1", 5432);
    event["hook"] = hook;
    EXPECT_EQ(changes({event}), own) << hook;
  }
  Json elsewhere = endpoint("bind", "0.0.0.0", 5432);
  elsewhere["hook"] = "bind4";
  EXPECT_EQ(changes({elsewhere}).at(0).find("private"), std::string::npos);
  Json client = endpoint("connect", "127.0.0.1", 5432);
  client["hook"] = "connect4";
  EXPECT_EQ(changes({client}).at(0).find("private"), std::string::npos);
  Json server = endpoint("bind", "127.0.0.1", 5432);
  server["hook"] = "bind4";
  EXPECT_EQ(changes({client, server}), own);
  Json other = endpoint("connect", "127.0.0.1", 5433);
  other["hook"] = "connect4";
  EXPECT_EQ(changes({other, server}).size(), 2u);
  // A client of DNS chooses its port.
  Json by_chance = endpoint("bind", "0.0.0.0", 41392);
  by_chance["hook"] = "bind4";
  by_chance["protocol"] = "udp";
  EXPECT_EQ(changes({by_chance}), own);
  for (const char* any : {"0.0.0.0", "::"}) {
    Json chosen = endpoint("bind", any, 0);
    chosen["hook"] = "bind4";
    EXPECT_EQ(changes({chosen}), own) << any;
  }
}

Json asked_name(const std::string& name, bool of_addresses = true) {
  return {{"verdict", "denied"},
          {"reason", "name"},
          {"name", name},
          {"times", 1},
          {"text", "resolve " + name + (of_addresses ? " (A)" : " (type 65)")},
          {"allow", of_addresses ? policy::host_suggestion(name) : ""}};
}

TEST(Lesson, a_name_is_learnt_with_the_port_that_is_most_likely) {
  for (const std::vector<Json>& events :
       {std::vector<Json>{asked_name("a.example")},
        {asked_name("a.example", false), asked_name("a.example")},
        {asked_name("a.example"), asked_name("a.example.lan"), asked_name("a.example.lan.example.org")}}) {
    const Lesson lesson = learn_from(kBase, events, true);
    EXPECT_EQ(lesson.changes, Words{policy::host_suggestion("a.example")});
    EXPECT_EQ(lesson.opened, Words{"a.example: port 443, as nobody tells a resolver which one a name is asked for"});
    EXPECT_TRUE(lesson.withheld.empty());
  }
  EXPECT_EQ(changes({asked_name("a.example"), asked_name("b.a.example")}).size(), 2u);
  const Lesson service = learn_from(kBase, {asked_name("_http._tcp.a.example", false)}, true);
  EXPECT_TRUE(service.changes.empty());
  EXPECT_EQ(service.withheld.size(), 1u);
}

TEST(Lesson, of_nothing_is_none) {
  const Lesson lesson = learn_from(kBase, {}, true);
  EXPECT_TRUE(lesson.changes.empty() && lesson.opened.empty() && lesson.withheld.empty());
}

}  // namespace
}  // namespace sbpf::cli
