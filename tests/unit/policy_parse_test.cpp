// SPDX-License-Identifier: Apache-2.0
// Policies that are right: what each key means, and the spellings of values.
#include <gtest/gtest.h>

#include "policy/filesystem.h"
#include "policy/policy.h"

namespace sbpf::policy {
namespace {

using std::chrono::milliseconds;

Policy policy_of(const std::string& body) {
  const auto policy = parse("version: 1\nname: t\n" + body + "\n", "t.yaml", nullptr);
  EXPECT_TRUE(policy) << body << "\n" << (policy ? "" : format(policy.error()));
  return policy ? *policy : Policy{};
}

TEST(Parse, defaults_deny_everything) {
  const Policy p = policy_of("");
  EXPECT_EQ(p.name, "t");
  EXPECT_EQ(p.mode, Mode::enforce);
  EXPECT_EQ(p.on_loss, OnLoss::freeze);
  EXPECT_FALSE(p.network.dangerously_allow_all);
  EXPECT_TRUE(p.network.connect.empty());
  EXPECT_TRUE(p.network.bind.empty());
  EXPECT_TRUE(p.network.dangerously_allow_sockets.empty());
  EXPECT_EQ(p.env.allow, (std::vector<std::string>{"HOME", "LANG", "PATH", "TERM"}));
  EXPECT_TRUE(p.env.set.empty());
  EXPECT_FALSE(p.limits.processes || p.limits.memory_bytes || p.limits.cpu_millis || p.limits.timeout);
}

TEST(Parse, filesystem_rules_are_sorted_and_without_a_slash_at_their_end) {
  const Policy p = policy_of(R"(filesystem:
  default: read
  write: [/workspace/]
  deny: [/workspace/.git/hooks]
  read: [/usr, /]
  protect: [/workspace/tests/])");
  EXPECT_TRUE(p.filesystem.requested);
  EXPECT_FALSE(p.filesystem.dangerously_allow_all);
  EXPECT_EQ(p.filesystem.fallback, FsDefault::read);
  std::string rules;
  for (const FsRule& rule : p.filesystem.rules)
    rules += std::string(to_string(rule.access)) + " " + rule.path + " " + std::to_string(rule.where.line) + ":" +
             std::to_string(rule.where.column) + "\n";
  EXPECT_EQ(rules,
            "read / 7:16\nread /usr 7:10\nwrite /workspace 5:11\ndeny /workspace/.git/hooks 6:10\n"
            "protect /workspace/tests 8:13\n");
}

TEST(Parse, files_are_judged_where_the_section_is_and_not_else) {
  EXPECT_FALSE(policy_of("").filesystem.requested);
  EXPECT_EQ(canonical(policy_of("")).find("filesystem"), std::string::npos);
  const Policy empty = policy_of("filesystem: {}");
  EXPECT_TRUE(empty.filesystem.requested);
  EXPECT_EQ(empty.filesystem.fallback, FsDefault::deny);
  EXPECT_TRUE(policy_of("filesystem: {dangerously_allow_all: true}").filesystem.dangerously_allow_all);
}

TEST(Parse, canonical_text_of_filesystem) {
  const std::string text = canonical(policy_of("filesystem: {write: [/b, \"/a b/\"], deny: [/c]}"));
  EXPECT_NE(text.find("filesystem:\n  default: deny\n  read: []\n  write:\n    - \"/a b\"\n    - /b\n"
                      "  deny:\n    - /c\n  protect: []\n  dangerously_allow_all: false\n"),
            std::string::npos)
      << text;
  EXPECT_NE(canonical(policy_of("filesystem: {dangerously_allow_all: true}"))
                .find("filesystem:\n  dangerously_allow_all: true\n"),
            std::string::npos);
}

TEST(Parse, network_none_is_the_same_as_silence) {
  EXPECT_EQ(canonical(policy_of("network: none")), canonical(policy_of("")));
  EXPECT_EQ(canonical(policy_of("network: {}")), canonical(policy_of("")));
}

TEST(Parse, the_policy_of_the_documentation) {
  const Policy p = policy_of(R"(mode: audit
on_loss: kill
network:
  connect:
    - {cidr: 10.0.0.0/8, ports: [5432, 6000-6010], protocol: tcp}
    - {address: 127.0.0.1, ports: [18443]}
  bind:
    - {address: 127.0.0.1, ports: [8000-8010], protocol: tcp}
process:
  env: {allow: [PATH, HOME, LANG, TERM, LC_*], set: {CI: "1"}}
  limits: {processes: 64, memory: 512MiB, cpu: 1.5, timeout: 10m})");
  EXPECT_EQ(p.mode, Mode::audit);
  EXPECT_EQ(p.on_loss, OnLoss::kill);
  ASSERT_EQ(p.network.connect.size(), 2u);
  EXPECT_EQ(p.network.connect[0].prefix, 104);
  EXPECT_EQ(p.network.connect[0].protocol, Protocol::tcp);
  EXPECT_EQ(p.network.connect[0].ports, (std::vector<PortRange>{{5432, 5432}, {6000, 6010}}));
  EXPECT_EQ(p.network.connect[0].where.line, 7);
  EXPECT_EQ(p.network.connect[0].where.column, 7);
  EXPECT_EQ(to_string(p.network.connect[1].address), "127.0.0.1");
  EXPECT_EQ(p.network.connect[1].prefix, 128);
  EXPECT_EQ(p.network.connect[1].protocol, Protocol::any);
  EXPECT_EQ(p.env.allow, (std::vector<std::string>{"HOME", "LANG", "LC_*", "PATH", "TERM"}));
  EXPECT_EQ(p.env.set.at("CI"), "1");
  EXPECT_EQ(p.limits.processes, 64u);
  EXPECT_EQ(p.limits.memory_bytes, 512ull << 20);
  EXPECT_EQ(p.limits.cpu_millis, 1500u);
  EXPECT_EQ(p.limits.timeout, milliseconds(600'000));
}

TEST(Parse, ports_are_sorted_and_joined) {
  const Policy p =
      policy_of("network: {bind: [{address: \"::\", ports: [80, 0, \"70-79\", 81-90, 75, 443, 443], protocol: any}]}");
  EXPECT_EQ(p.network.bind[0].ports, (std::vector<PortRange>{{0, 0}, {70, 90}, {443, 443}}));
  const Policy apart = policy_of("network: {bind: [{address: \"::\", ports: [80, 82, 84-90, 92-99]}]}");
  EXPECT_EQ(apart.network.bind[0].ports, (std::vector<PortRange>{{80, 80}, {82, 82}, {84, 90}, {92, 99}}));
}

TEST(Parse, only_sbpfs_own_sockets_are_refused) {
  EXPECT_EQ(policy_of("network: {unix: [/run/sbpf-other/x.sock, /var/run/sbpfd.sock]}").network.unix_peers.size(), 2u);
}

TEST(Parse, mapped_spellings_are_v4) {
  const Policy p = policy_of(R"(network:
  connect:
    - {address: "::ffff:10.0.0.1", ports: [1]}
    - {address: 10.0.0.1, ports: [1]}
    - {address: "::FFFF:a00:1", ports: [1]}
    - {cidr: "::ffff:10.0.0.1/128", ports: [1]}
    - {cidr: 10.0.0.1/32, ports: [1]})");
  ASSERT_EQ(p.network.connect.size(), 1u) << canonical(p);
  EXPECT_EQ(p.network.connect[0].where.line, 5) << "the first of those that say the same";
  EXPECT_EQ(policy_of("network: {connect: [{cidr: \"::ffff:0:0/96\", ports: [1]}]}").network.connect[0].prefix, 96);
  EXPECT_NE(canonical(policy_of("network: {connect: [{cidr: \"::ffff:0:0/96\", ports: [1]}]}")).find("0.0.0.0/0"),
            std::string::npos);
}

TEST(Parse, limits_in_every_unit) {
  const auto memory = [](const std::string& text) {
    return policy_of("process: {limits: {memory: " + text + "}}").limits.memory_bytes.value_or(0);
  };
  EXPECT_EQ(memory("65536"), 65536u);
  EXPECT_EQ(memory("64KiB"), 65536u);
  EXPECT_EQ(memory("1GiB"), 1ull << 30);
  EXPECT_EQ(memory("2TiB"), 2ull << 40);
  const auto timeout = [](const std::string& text) {
    return policy_of("process: {limits: {timeout: " + text + "}}").limits.timeout.value_or(milliseconds(0)).count();
  };
  EXPECT_EQ(timeout("500ms"), 500);
  EXPECT_EQ(timeout("30s"), 30'000);
  EXPECT_EQ(timeout("10m"), 600'000);
  EXPECT_EQ(timeout("1h30m"), 5'400'000);
  EXPECT_EQ(timeout("1h1m1s1ms"), 3'661'001);
  EXPECT_EQ(timeout("90m"), 5'400'000);
  const auto cpu = [](const std::string& text) {
    return policy_of("process: {limits: {cpu: " + text + "}}").limits.cpu_millis.value_or(0);
  };
  EXPECT_EQ(cpu("2"), 2000u);
  EXPECT_EQ(cpu("0.5"), 500u);
  EXPECT_EQ(cpu("0.05"), 50u);
  EXPECT_EQ(cpu("1.125"), 1125u);
}

TEST(Parse, env_values_are_taken_as_written) {
  const Policy p = policy_of(
      "process: {env: {allow: [], set: {A: 1, B: yes, C: \"a b\", D: '', E: \"\\u00e9\\n\", F: 0x10, G: true}}}");
  EXPECT_TRUE(p.env.allow.empty());
  EXPECT_EQ(p.env.set.at("A"), "1");
  EXPECT_EQ(p.env.set.at("B"), "yes");
  EXPECT_EQ(p.env.set.at("D"), "");
  EXPECT_EQ(p.env.set.at("E"), "\xc3\xa9\n");
  EXPECT_EQ(p.env.set.at("F"), "0x10");
  EXPECT_EQ(p.env.set.at("G"), "true");
}

TEST(Parse, sockets_are_sorted) {
  const Policy p = policy_of("network: {dangerously_allow_sockets: [raw, ping, raw]}");
  EXPECT_EQ(p.network.dangerously_allow_sockets, (std::vector<sbpf_socket_class>{SBPF_SOCKET_PING, SBPF_SOCKET_RAW}));
}

TEST(Parse, comments_byte_order_mark_and_document_markers_are_fine) {
  EXPECT_TRUE(parse("\xef\xbb\xbfversion: 1\nname: bom\n", "t", nullptr));
  EXPECT_TRUE(parse("# c\n---\nversion: 1\nname: d # c\n...\n", "t", nullptr));
  EXPECT_TRUE(parse("{version: 1, name: flow}", "t", nullptr));
  EXPECT_TRUE(parse("version: 1\r\nname: crlf\r\n", "t", nullptr));
}

TEST(Canonical, has_one_spelling) {
  const Policy a = policy_of("network: {connect: [{address: \"::1\", ports: [2, 1]}, {cidr: 10.0.0.0/8, ports: [5]}]}");
  const Policy b = policy_of(
      "network:\n  bind: []\n  connect:\n  - ports: [5-5]\n    cidr: \"::ffff:a00:0/104\"\n    protocol: any\n"
      "  - {ports: ['1-2'], address: '0:0:0:0:0:0:0:1'}\nmode: enforce");
  EXPECT_EQ(canonical(a), canonical(b));
  EXPECT_EQ(hex(sha256(a)), hex(sha256(b)));
  EXPECT_EQ(canonical(a), R"(version: 1
name: t
mode: enforce
on_loss: freeze
network:
  connect:
    - {address: "::1", ports: [1-2], protocol: any}
    - {cidr: 10.0.0.0/8, ports: [5], protocol: any}
  bind: []
  dangerously_allow_all: false
  dangerously_allow_metadata: false
  dangerously_allow_sockets: []
process:
  env:
    allow: [HOME, LANG, PATH, TERM]
    set: {}
  limits: {}
  seccomp: default
  capabilities: []
  dangerously_allow_new_privileges: false
  kernel:
    allow: []
    deny: []
    dangerously_allow_capabilities: []
)");
}

TEST(Canonical, names_that_look_like_something_else_are_quoted) {
  for (const char* name : {"null", "Yes", "1", "1e5", "0x1f", ".inf", "-", ".", "true", "no", "on"}) {
    const auto p = parse("version: 1\nname: \"" + std::string(name) + "\"\n", "t", nullptr);
    ASSERT_TRUE(p) << name;
    EXPECT_NE(canonical(*p).find("name: \"" + std::string(name) + "\""), std::string::npos) << canonical(*p);
    EXPECT_EQ(parse(canonical(*p), "c", nullptr).value().name, name);
  }
}

TEST(Address, prints_and_reads_both_families) {
  for (const char* text : {"0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1", "2001:db8::1", "fe80::1"})
    EXPECT_EQ(to_string(parse_address(text).value()), text);
  EXPECT_EQ(to_string(parse_address("::ffff:1.2.3.4").value()), "1.2.3.4");
  for (const char* text : {"", "1", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "0x7f.0.0.1", "1.2.3.4 ", " ::1",
                           "::1%lo", "[::1]", "1.2.3.4:80", ":::", "example.org"})
    EXPECT_FALSE(parse_address(text)) << text;
  EXPECT_FALSE(parse_address(std::string_view("127.0.0.1\0x", 11)));
}

TEST(Profiles, are_all_valid_and_named_after_their_file) {
  const auto names = built_in_profile_names();
  EXPECT_EQ(names, (std::vector<std::string>{"benchmark-task", "browser", "code-interpreter", "git-safe", "go-dev",
                                             "java-dev", "jupyter", "no-network", "node-dev", "python-dev",
                                             "runtime-base", "runtime-files", "rust-dev", "untrusted"}));
  for (const std::string& name : names) {
    const auto policy = parse(built_in_profile(name).value(), name, built_in_profile);
    ASSERT_TRUE(policy) << format(policy.error());
    EXPECT_EQ(policy->name, name);
    EXPECT_EQ(policy->mode, Mode::enforce);
    EXPECT_FALSE(policy->network.dangerously_allow_all);
    EXPECT_TRUE(policy->network.dangerously_allow_sockets.empty());
  }
  EXPECT_FALSE(built_in_profile("schema"));
  EXPECT_FALSE(built_in_profile("../no-network"));
}

TEST(Profiles, code_interpreter_reaches_the_proxy_and_the_resolver_only) {
  const Policy p = parse(built_in_profile("code-interpreter").value(), "p", built_in_profile).value();
  ASSERT_EQ(p.network.connect.size(), 2u);
  EXPECT_NE(canonical(p).find("- {address: 127.0.0.1, ports: [18443], protocol: tcp}\n"
                              "    - {address: 127.0.0.53, ports: [53], protocol: any}\n  bind: []\n"),
            std::string::npos);
}

// On the host's loopback alone, of either family, at the ports that a profile lists or at one that the kernel picks.
TEST(Profiles, for_development_serve_on_loopback) {
  for (const auto& [name, port] : {std::pair("python-dev", 8000), std::pair("node-dev", 3000)}) {
    const std::string over = std::string("{version: 1, name: p, extends: [") + name + "], network: {loopback: host}}";
    const Policy p = parse(over, name, built_in_profile).value();
    const Image image = compile(p, 1, empty_view(p)).value();
    const auto asked = [&](const char* address, int at, sbpf_proto proto, sbpf_rule_kind kind) {
      const NetQuery query{kind, proto, parse_address(address).value(), static_cast<std::uint16_t>(at)};
      return explain(p, image, query).allowed;
    };
    for (const char* address : {"127.0.0.1", "::1", "0.0.0.0", "::"})
      for (const int at : {0, port, port + 10, port + 11, 40000}) {
        const bool listed = at == 0 || (at >= port && at <= port + 10);
        EXPECT_EQ(asked(address, at, SBPF_PROTO_TCP, SBPF_RULE_BIND), listed) << name << " " << address << " " << at;
        EXPECT_FALSE(asked(address, at, SBPF_PROTO_UDP, SBPF_RULE_BIND)) << name << " " << address << " " << at;
      }
    for (const char* address : {"127.0.0.1", "::1"}) {
      EXPECT_TRUE(asked(address, port, SBPF_PROTO_TCP, SBPF_RULE_CONNECT)) << name << " " << address;
      EXPECT_FALSE(asked(address, 40000, SBPF_PROTO_TCP, SBPF_RULE_CONNECT)) << name << " " << address;
    }
    for (const char* address : {"127.0.0.2", "192.0.2.1", "2001:db8::1"})
      for (const int at : {0, port})
        EXPECT_FALSE(asked(address, at, SBPF_PROTO_TCP, SBPF_RULE_BIND)) << name << " " << address;
  }
}

TEST(Profiles, runtime_files_lets_programs_start_and_keeps_the_rest) {
  const Policy p = parse(built_in_profile("runtime-files").value(), "p", built_in_profile).value();
  for (const char* path : {"/usr/lib/x86_64-linux-gnu/libc.so.6", "/etc/ssl/certs/ca-certificates.crt", "/dev/urandom",
                           "/proc/self/status", "/etc/resolv.conf", "/etc/dbus-1/session.d/x.conf"})
    EXPECT_TRUE(explain_path(p, FsOperation::read, path).allowed) << path;
  for (const char* path :
       {"/etc/shadow", "/etc/ssl/private/key.pem", "/root/.ssh/id_ed25519", "/home/me/.bashrc", "/dev/sda", "/dev/kmsg",
        "/etc/npmrc", "/etc/pip.conf", "/var/lib", "/run", "/sys/kernel", "/etc/dbus-1/system.d", "/etc/machine-id"})
    EXPECT_FALSE(explain_path(p, FsOperation::read, path).allowed) << path;
  for (const char* path : {"/tmp/x", "/dev/null", "/dev/shm/x", "/dev/mqueue/x", "/dev/pts/0"})
    EXPECT_TRUE(explain_path(p, FsOperation::write, path).allowed) << path;
  for (const char* path : {"/usr/bin/env", "/etc/ld.so.preload", "/proc/sys/kernel/core_pattern", "/dev/urandom",
                           "/sys/fs/cgroup/cgroup.procs", "/workspace"})
    EXPECT_FALSE(explain_path(p, FsOperation::write, path).allowed) << path;
}

TEST(Profiles, for_tasks_have_a_workspace_and_what_runtimes_need) {
  for (const char* name : {"code-interpreter", "benchmark-task", "untrusted"}) {
    const Policy p = parse(built_in_profile(name).value(), name, built_in_profile).value();
    EXPECT_TRUE(explain_path(p, FsOperation::create, "/workspace/new").allowed) << name;
    EXPECT_TRUE(explain_path(p, FsOperation::read, "/usr/bin/python3").allowed) << name;
    EXPECT_FALSE(explain_path(p, FsOperation::read, "/root/.bashrc").allowed) << name;
    EXPECT_FALSE(explain_path(p, FsOperation::write, "/usr/bin/python3").allowed) << name;
  }
}

TEST(Profiles, of_no_network_allow_nothing) {
  for (const char* name : {"no-network", "runtime-base", "benchmark-task", "untrusted"}) {
    const Policy p = parse(built_in_profile(name).value(), name, built_in_profile).value();
    EXPECT_TRUE(p.network.connect.empty() && p.network.bind.empty()) << name;
  }
}

}  // namespace
}  // namespace sbpf::policy
