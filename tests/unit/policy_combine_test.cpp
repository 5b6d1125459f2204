// SPDX-License-Identifier: Apache-2.0
// Several changes of a policy as one, and what may hold secrets.
#include <gtest/gtest.h>

#include "policy/advice.h"
#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

const Policy kBase = policy_of("filesystem: {read: [/usr], deny: [/srv/no]}\n");

std::string combined(const std::vector<std::string>& changes) { return combine(kBase, changes).change; }

TEST(Combine, lists_grow_and_each_entry_is_there_once) {
  EXPECT_EQ(combined({"filesystem: {read: [/srv/a]}", "filesystem: {read: [/srv/b]}", "filesystem: {read: [/srv/a]}"}),
            "filesystem: {read: [/srv/a, /srv/b]}");
  EXPECT_EQ(combined({"network: {connect: [{address: 192.0.2.1, ports: [443], protocol: tcp}]}",
                      "process: {exec: {allow: [/opt/x]}}\nfilesystem: {read: [/opt/x]}",
                      "network: {connect: [{address: 192.0.2.2, ports: [443], protocol: tcp}]}"}),
            "network: {connect: [{address: 192.0.2.1, ports: [443], protocol: tcp}, "
            "{address: 192.0.2.2, ports: [443], protocol: tcp}]}\n"
            "process: {exec: {allow: [/opt/x]}}\nfilesystem: {read: [/opt/x]}");
  EXPECT_EQ(combined({}), "");
}

TEST(Combine, what_is_written_is_not_read_beside) {
  EXPECT_EQ(combined({"filesystem: {read: [/srv/a, /srv/b]}", "filesystem: {write: [/srv/a]}"}),
            "filesystem: {read: [/srv/b], write: [/srv/a]}");
  EXPECT_EQ(combined({"filesystem: {write: [/srv/a]}", "filesystem: {read: [/srv/a]}"}),
            "filesystem: {write: [/srv/a]}");
}

TEST(Combine, of_one_value_the_later_counts) {
  EXPECT_EQ(combined({"process: {exec: {deny_writable: true}}", "process: {exec: {deny_writable: false}}"}),
            "process: {exec: {deny_writable: false}}");
}

TEST(Combine, what_gives_no_valid_policy_is_left_out_and_told) {
  const Combined all = combine(kBase, {"filesystem: {read: [/srv/a]}", "filesystem: {nonsense: [/srv/b]}", "no change",
                                       "[", "network: {connect: [{address: 192.0.2.1, ports: [443]}]}"});
  EXPECT_EQ(all.change, "filesystem: {read: [/srv/a]}\nnetwork: {connect: [{address: 192.0.2.1, ports: [443]}]}");
  EXPECT_EQ(all.left_out, (std::vector<std::string>{"filesystem: {nonsense: [/srv/b]}", "no change", "["}));
  // Into a private loopback so many ports are not relayed: both together are no policy.
  const Combined two =
      combine(kBase, {"network: {loopback: private}", "network: {connect: [{address: 192.0.2.1, ports: [1-65]}]}"});
  EXPECT_EQ(two.change, "network: {loopback: private}");
  EXPECT_EQ(two.left_out.size(), 1u);
}

TEST(Combine, names_that_yaml_would_read_otherwise_stay_names) {
  for (const char* name : {"/srv/a b", "/srv/a: b", "/srv/a, b", "/srv/#a", "/srv/a'b", "/srv/\"", "/srv/[a]",
                           "/srv/{a}", "/srv/a\\b", "/srv/true"}) {
    const std::string change = suggestion(PathUse::read, name);
    ASSERT_NE(change, "") << name;
    const auto changed = with_change(kBase, combined({"filesystem: {read: [/srv/x]}", change}));
    ASSERT_TRUE(changed) << name;
    EXPECT_TRUE(explain_path(*changed, FsOperation::read, name).allowed) << name;
    EXPECT_TRUE(explain_path(*changed, FsOperation::read, "/srv/x").allowed) << name;
    const auto in_block = with_change(kBase, in_lines(change));
    ASSERT_TRUE(in_block) << in_lines(change);
    EXPECT_EQ(canonical(*in_block), canonical(*with_change(kBase, change))) << in_lines(change);
  }
}

// In a list of lines a comma is part of a name, and within brackets it ends one.
TEST(Combine, what_a_line_holds_is_one_name) {
  const auto extension =
      read_extension("version: 1\nname: x\nextends: [base]\nfilesystem:\n  read:\n    - /srv/a, /etc\n");
  ASSERT_TRUE(extension);
  const auto changed = with_change(kBase, extension->change);
  ASSERT_TRUE(changed) << extension->change;
  EXPECT_FALSE(explain_path(*changed, FsOperation::read, "/etc").allowed);
  EXPECT_TRUE(explain_path(*changed, FsOperation::read, "/srv/a, /etc").allowed);
}

TEST(Combine, is_written_in_lines) {
  EXPECT_EQ(in_lines("filesystem: {read: [/srv/a, /srv/b]}\nprocess: {exec: {deny_writable: false, allow: [/opt/x]}}\n"
                     "network: {connect: [{address: 192.0.2.1, ports: [443]}]}"),
            "filesystem:\n  read:\n    - /srv/a\n    - /srv/b\n"
            "process:\n  exec:\n    deny_writable: false\n    allow:\n      - /opt/x\n"
            "network:\n  connect:\n    - {address: 192.0.2.1, ports: [443]}\n");
}

TEST(Combine, a_policy_that_extends_one_other_is_a_change_of_it) {
  const auto extension =
      read_extension("version: 1\nname: x\nextends: [untrusted]\nfilesystem:\n  read:\n    - /srv/a\non_loss: kill\n");
  ASSERT_TRUE(extension);
  EXPECT_EQ(extension->base, "untrusted");
  EXPECT_EQ(extension->change, "filesystem: {read: [/srv/a]}\non_loss: kill");
  for (const char* none : {"", "[", "version: 1\nname: x\n", "version: 1\nname: x\nextends: [a, b]\n",
                           "version: 1\nname: x\nextends: []\n", "version: 1\nname: x\nextends: a\n"})
    EXPECT_FALSE(read_extension(none)) << none;
}

TEST(Secrets, are_where_programs_keep_them) {
  for (const char* path : {"/root/.ssh/config",
                           "/home/ann/.ssh",
                           "/home/ann/.aws/credentials",
                           "/srv/app/.env",
                           "/srv/app/.env.local",
                           "/etc/shadow",
                           "/etc/shadow-",
                           "/etc/gshadow-",
                           "/etc/sudoers",
                           "/etc/sudoers.d/x",
                           "/etc/security/opasswd",
                           "/var/backups/shadow.bak",
                           "/etc/ssl/private/x",
                           "/srv/tls/server.key",
                           "/srv/tls/SERVER.KEY",
                           "/srv/tls/server.key.bak",
                           "/srv/tls/ca.pem",
                           "/home/ann/id_ed25519",
                           "/etc/ssh/ssh_host_rsa_key",
                           "/home/ann/.netrc",
                           "/run/secrets/db",
                           "/run/credentials/x.service/y",
                           "/proc/7/environ",
                           "/x/credentials.json",
                           "/x/tokens.json",
                           "/srv/app/.ENV",
                           "/srv/app/.envrc",
                           "/etc/krb5.keytab",
                           "/home/ann/.Xauthority",
                           "/home/ann/wallet.dat",
                           "/etc/wireguard/a.conf",
                           "/home/ann/.config/gh/hosts.yml",
                           "/home/ann/.docker/config.json",
                           "/home/ann/.bash_history",
                           "/home/ann/.git-credentials"})
    EXPECT_TRUE(may_hold_secrets(path)) << path;
  for (const char* path : {"", "/", "/srv/data/a", "/usr/lib/python3/ssh.py", "/home/ann/id_ed25519.pub",
                           "/srv/environment", "/srv/keys.txt", "/etc/hosts", "/etc/passwd", "/srv/a-"})
    EXPECT_FALSE(may_hold_secrets(path)) << path;
}

TEST(Secrets, what_the_host_runs_is_where_its_programs_are) {
  for (const char* path :
       {"/etc", "/etc/cron.d/x", "/usr", "/boot", "/var/spool/cron/root", "/root", "/root/x", "/lib64",
        "/home/ann/.bashrc", "/home/ann/bin/ls", "/srv/repo/.git/hooks/x", "/opt/x", "/run/x"})
    EXPECT_TRUE(may_be_run_by_host(path)) << path;
  for (const char* path : {"/srv/out/x", "/home/ann/x", "/workspace/a", "/etcetera"})
    EXPECT_FALSE(may_be_run_by_host(path)) << path;
  for (const char* path : {"/dev/vda", "/dev", "/proc/kcore", "/sys/kernel/x"})
    EXPECT_TRUE(is_of_the_kernel(path)) << path;
  EXPECT_FALSE(is_of_the_kernel("/device"));
}

}  // namespace
}  // namespace sbpf::policy
