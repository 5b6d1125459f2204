// SPDX-License-Identifier: Apache-2.0
// Rules for programs: reading, merging, canonical text, image, and what `sbpf explain` says.
#include <gtest/gtest.h>

#include "policy/filesystem.h"
#include "tests/unit/fs_host.h"

namespace sbpf::policy {
namespace {

using fs_host::Host;

Policy policy_of(const std::string& body, const ProfileSource& profiles = nullptr) {
  const auto policy = parse("version: 1\nname: programs\n" + body + "\n", "p.yaml", profiles);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return policy ? *policy : Policy{};
}

std::string rules_of(const Policy& policy) {
  std::string text = policy.exec.allow_listed ? "listed" : "named";
  if (policy.exec.deny_writable) text += " unwritable";
  for (const ExecRule& rule : policy.exec.rules)
    text += (rule.allow ? " +" : " -") + rule.path + (rule.sha256.empty() ? "" : "=" + rule.sha256.substr(0, 2));
  return text;
}

TEST(ExecParse, rules_are_sorted_and_without_a_slash_at_their_end) {
  const Policy p = policy_of("process:\n  exec: {deny: [/usr/bin/nsenter], allow: [/usr/bin/, /bin]}");
  EXPECT_EQ(rules_of(p), "listed +/bin +/usr/bin -/usr/bin/nsenter");
  EXPECT_EQ(p.exec.rules[2].where.line, 4);
  EXPECT_EQ(p.exec.rules[2].where.column, 17);
  EXPECT_TRUE(p.exec.judged());
  EXPECT_FALSE(p.filesystem.judged());
}

TEST(ExecParse, programs_are_judged_where_something_is_said_of_them) {
  for (const char* body :
       {"", "process: {exec: {}}", "process: {exec: {deny: []}}", "process: {exec: {deny_writable: false}}"}) {
    EXPECT_FALSE(policy_of(body).exec.judged()) << body;
    EXPECT_EQ(canonical(policy_of(body)).find("exec"), std::string::npos) << body;
  }
  EXPECT_EQ(rules_of(policy_of("process: {exec: {allow: []}}")), "listed");
  EXPECT_TRUE(policy_of("process: {exec: {allow: []}}").exec.judged());
  EXPECT_EQ(rules_of(policy_of("filesystem: {}\nprocess: {exec: {deny_writable: true}}")), "named unwritable");
}

TEST(ExecParse, canonical_text) {
  const std::string listed = canonical(policy_of("process: {exec: {allow: [\"/a b\", /usr]}}"));
  EXPECT_NE(listed.find("process:\n  exec:\n    allow:\n      - \"/a b\"\n      - /usr\n    deny: []\n"
                        "    deny_writable: false\n  env:\n"),
            std::string::npos)
      << listed;
  const std::string named = canonical(policy_of("process: {exec: {deny: [/usr]}}"));
  EXPECT_NE(named.find("  exec:\n    deny:\n      - /usr\n    deny_writable: false\n"), std::string::npos) << named;
  const Policy unwritable = policy_of("filesystem: {}\nprocess: {exec: {deny_writable: true}}");
  EXPECT_NE(canonical(unwritable).find("    deny_writable: true\n"), std::string::npos) << canonical(unwritable);
}

const std::string kDigest(64, 'a');

TEST(ExecParse, a_pinned_path_is_allowed_with_its_digest) {
  const Policy p = policy_of("process: {exec: {sha256: {/usr/bin/tool: " + kDigest + "}, deny: [/bin]}}");
  EXPECT_EQ(rules_of(p), "listed -/bin +/usr/bin/tool=aa");
  const std::string text = canonical(p);
  EXPECT_NE(
      text.find("    allow: []\n    deny:\n      - /bin\n    sha256:\n      /usr/bin/tool: \"" + kDigest + "\"\n"),
      std::string::npos)
      << text;
  EXPECT_EQ(rules_of(policy_of("process: {exec: {sha256: {}}}")), "listed");
  EXPECT_EQ(canonical(parse(text, "canonical", nullptr).value()), text);
}

TEST(ExecParse, what_is_wrong_with_pins) {
  const auto code_of = [](const std::string& exec) {
    const auto policy = parse("version: 1\nname: p\nprocess: {exec: " + exec + "}\n", "p.yaml", nullptr);
    return policy ? "none" : policy.error().front().code + " " + policy.error().front().key;
  };
  EXPECT_EQ(code_of("{sha256: {/t: abc}}"), "bad_sha256 process.exec.sha256./t");
  EXPECT_EQ(code_of("{sha256: {/t: " + std::string(64, 'A') + "}}"), "bad_sha256 process.exec.sha256./t");
  EXPECT_EQ(code_of("{sha256: {t: " + kDigest + "}}"), "relative_path process.exec.sha256");
  EXPECT_EQ(code_of("{sha256: [/t]}"), "wrong_type process.exec.sha256");
  EXPECT_EQ(code_of("{sha256: null}"), "wrong_type process.exec.sha256");
  EXPECT_EQ(code_of("{sha256: {/t: " + kDigest + ", /t: " + kDigest + "}}"), "duplicate_value process.exec.sha256");
  EXPECT_EQ(code_of("{sha256: {/t: " + kDigest + "}, deny: [/t]}"), "conflicting_rules process.exec.deny[0]");
}

TEST(ExecExtends, rules_are_united_and_a_later_one_replaces_that_of_its_path) {
  const ProfileSource profiles = [](std::string_view name) -> std::optional<std::string> {
    if (name == "listed")
      return "version: 1\nname: listed\nfilesystem: {}\n"
             "process: {exec: {allow: [/usr, /bin], deny: [/usr/x], deny_writable: true}}\n";
    return "version: 1\nname: named\nprocess: {exec: {deny: [/bin]}}\n";
  };
  EXPECT_EQ(rules_of(policy_of("extends: [listed, named]", profiles)), "listed unwritable -/bin +/usr -/usr/x");
  EXPECT_EQ(rules_of(policy_of("extends: [named, listed]", profiles)), "listed unwritable +/bin +/usr -/usr/x");
  EXPECT_EQ(rules_of(policy_of("extends: [listed]\nprocess: {exec: {allow: [/], deny_writable: false}}", profiles)),
            "listed +/ +/bin +/usr -/usr/x");
}

// "3 rx by 0/2 writable": number, rights, the rules for files and for programs.
std::string node_at(const Image& image, const sbpf_rule_key& key) {
  const auto found = image.entries.find(key);
  if (found == image.entries.end()) return "none";
  sbpf_fs_node node;
  std::memcpy(&node, &found->second, sizeof node);
  const auto rule = [](std::uint32_t n) { return n == kNoRule ? std::string("-") : std::to_string(n); };
  std::string text = std::to_string(node.node) + " ";
  if (node.rights & SBPF_FS_READ) text += "r";
  if (node.rights & SBPF_FS_WRITE) text += "w";
  if (node.rights & SBPF_FS_EXEC) text += "x";
  text += " by " + rule(node.rule) + "/" + rule(node.exec_rule);
  if (node.flags & SBPF_FS_HOLDS) text += " holds";
  if (node.flags & SBPF_FS_RULE) text += " ruled";
  if (node.flags & SBPF_FS_DENY_WRITABLE) text += " writable";
  if (node.flags & SBPF_FS_PINNED) text += " pinned";
  return text;
}

Image compiled(const Policy& policy, const Host& host) {
  const auto image = compile(policy, 1, host.view(policy));
  EXPECT_TRUE(image) << (image ? "" : image.error().message);
  return image ? *image : Image{};
}

std::string inode(const Image& image, const Host& host, const std::string& path) {
  return node_at(image, fs_inode_key(host.inodes.at(path)));
}

TEST(ExecImage, one_tree_has_the_nearest_rule_of_either_kind) {
  Host host;
  host.make("/usr/bin/nsenter");
  host.make("/workspace/bin");
  const Policy p = policy_of(
      "filesystem: {read: [/usr], write: [/workspace]}\n"
      "process: {exec: {allow: [/usr/bin, /workspace], deny: [/usr/bin/nsenter], deny_writable: true}}");
  // For files: 0 /usr, 1 /workspace. For programs: 2 /usr/bin, 3 /usr/bin/nsenter, 4 /workspace.
  const Image image = compiled(p, host);
  EXPECT_EQ(inode(image, host, "/"), "1  by -/- holds");
  EXPECT_EQ(inode(image, host, "/usr"), "2 r by 0/- holds ruled");
  EXPECT_EQ(inode(image, host, "/usr/bin"), "3 rx by 0/2 holds");
  EXPECT_EQ(inode(image, host, "/usr/bin/nsenter"), "4 r by 0/3");
  EXPECT_EQ(inode(image, host, "/workspace"), "5 rw by 1/4 ruled writable");
  EXPECT_EQ(node_at(image, fs_name_key(3, "nsenter")), "4 r by 0/3");
  EXPECT_EQ(image.header().flags, static_cast<__u32>(SBPF_POLICY_FS | SBPF_POLICY_EXEC | SBPF_POLICY_DEVICES));
  EXPECT_EQ(image.header().exec_places_only, 1);
  EXPECT_EQ(rule_text(p, 1), "filesystem.write: /workspace");
  EXPECT_EQ(rule_text(p, 2), "process.exec.allow: /usr/bin");
  EXPECT_EQ(rule_text(p, 3), "process.exec.deny: /usr/bin/nsenter");
  EXPECT_EQ(rule_text(p, 5), "");
}

TEST(ExecImage, without_rules_for_files_nothing_is_held) {
  Host host;
  host.make("/usr/bin");
  const Policy p = policy_of("process: {exec: {deny: [/usr/bin]}}");
  const Image image = compiled(p, host);
  EXPECT_EQ(inode(image, host, "/"), "1 x by -/-");
  EXPECT_EQ(inode(image, host, "/usr"), "2 x by -/-");
  EXPECT_EQ(inode(image, host, "/usr/bin"), "3  by -/0");
  EXPECT_EQ(image.header().flags, static_cast<__u32>(SBPF_POLICY_EXEC));
  EXPECT_EQ(image.header().exec_places_only, 0);
  EXPECT_EQ(fs_rights_at(image, "/usr/bin/env"), static_cast<__u32>(SBPF_FS_READ | SBPF_FS_WRITE));
  EXPECT_EQ(fs_rights_at(image, "/usr/lib"), static_cast<__u32>(SBPF_FS_READ | SBPF_FS_WRITE | SBPF_FS_EXEC));
}

TEST(ExecImage, one_file_with_two_names_has_one_right) {
  Host host;
  host.make("/a");
  host.make("/b");
  host.inodes["/b"] = host.inodes["/a"];
  const Policy p = policy_of("process: {exec: {allow: [/a], deny: [/b]}}");
  const auto image = compile(p, 1, host.view(p));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code.text(), "fs_same_inode");
  EXPECT_NE(image.error().message.find("/b (by p.yaml:3:38: process.exec.deny: /b)"), std::string::npos)
      << image.error().message;
}

// Its inode may be run; its name alone may not, nor what might be below it one day.
TEST(ExecImage, a_pinned_program_is_known_by_its_inode) {
  Host host;
  host.make("/usr/bin/tool");
  const Policy p = policy_of(
      "filesystem: {read: [/usr, /usr/bin/tool/x]}\nprocess: {exec: {allow: [/usr/lib], sha256: {/usr/bin/tool: " +
      kDigest + "}}}");
  const Image image = compiled(p, host);
  const std::string allowed = inode(image, host, "/usr/bin/tool");
  EXPECT_NE(allowed.find(" rx "), std::string::npos) << allowed;
  const std::string bin = inode(image, host, "/usr/bin");
  const std::string named = node_at(image, fs_name_key(static_cast<std::uint32_t>(std::stoul(bin)), "tool"));
  EXPECT_NE(named.find(" r by"), std::string::npos) << named;
  EXPECT_NE(named.find(" pinned"), std::string::npos) << named;
  const std::string below = node_at(image, fs_name_key(static_cast<std::uint32_t>(std::stoul(allowed)), "x"));
  EXPECT_NE(below.find(" r by"), std::string::npos) << below;
  EXPECT_EQ(rule_text(p, 2), "process.exec.sha256: /usr/bin/tool");
}

TEST(ExecImage, one_file_is_pinned_under_all_its_names_or_none) {
  Host host;
  host.make("/a");
  host.make("/b");
  host.inodes["/b"] = host.inodes["/a"];
  const Policy p = policy_of("process: {exec: {allow: [/b], sha256: {/a: " + kDigest + "}}}");
  const auto image = compile(p, 1, host.view(p));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code.text(), "fs_same_inode");
  host.links["/c"] = "/a";
  const Policy two = policy_of("process: {exec: {allow: [/c], sha256: {/a: " + kDigest + "}}}");
  const auto conflict = compile(two, 1, host.view(two));
  ASSERT_FALSE(conflict);
  EXPECT_EQ(conflict.error().code.text(), "fs_conflict");
}

TEST(ExecImage, two_rules_that_lead_to_one_place_must_agree) {
  Host host;
  host.make("/usr/bin");
  host.links["/bin"] = "/usr/bin";
  const Policy p = policy_of("process: {exec: {allow: [/usr/bin], deny: [/bin]}}");
  const auto image = compile(p, 1, host.view(p));
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().code.text(), "fs_conflict");
  const Policy files = policy_of("filesystem: {read: [/usr/bin]}\nprocess: {exec: {deny: [/bin]}}");
  EXPECT_TRUE(compile(files, 1, host.view(files))) << "rules of two kinds are no conflict";
}

// A filesystem that is mounted twice has only what both places give.
TEST(ExecImage, mounts_have_the_least_rights_of_their_places) {
  Host host;
  host.make("/a/mnt");
  host.make("/b/mnt");
  host.inodes["/a/mnt"] = host.inodes["/b/mnt"] = FsInode{77, 9, 0, true};
  host.mounts = {"/", "/a/mnt", "/b/mnt"};
  const Policy p = policy_of("filesystem: {read: [/a], write: [/b]}\nprocess: {exec: {allow: [/b]}}");
  const Image image = compiled(p, host);
  EXPECT_EQ(inode(image, host, "/a/mnt").substr(2, 2), "r ");
}

// Filesystems that are mounted where no rule has a name are found as the root is, whatever their numbers.
TEST(ExecImage, rights_by_name_begin_at_the_root_itself) {
  for (const std::uint64_t ino : {1ul, 100'000ul}) {
    Host host;
    host.make("/usr/bin");
    host.make("/proc");
    host.inodes["/proc"] = FsInode{ino, 9, 0, true};
    host.mounts = {"/", "/proc"};
    const Image image =
        compiled(policy_of("filesystem: {default: write, deny: [/usr/bin]}\nnetwork: {unix: [/run/db]}"), host);
    EXPECT_EQ(fs_rights_at(image, "/usr/bin/env") & (SBPF_FS_READ | SBPF_FS_WRITE), 0u);
    EXPECT_NE(fs_rights_at(image, "/usr/lib") & SBPF_FS_WRITE, 0u);
    EXPECT_NE(fs_rights_at(image, "/run/db") & SBPF_FS_TALK, 0u);
    EXPECT_EQ(fs_rights_at(image, "/run/other") & SBPF_FS_TALK, 0u);
  }
}

// What is written would be run by way of a file that has no place.
TEST(ExecImage, without_writable_programs_only_places_count) {
  Host host;
  host.make("/w");
  EXPECT_EQ(compiled(policy_of("filesystem: {write: [/w]}\nprocess: {exec: {deny_writable: true}}"), host)
                .header()
                .exec_places_only,
            1);
  EXPECT_EQ(
      compiled(policy_of("filesystem: {write: [/w]}\nprocess: {exec: {deny: [/w]}}"), host).header().exec_places_only,
      0);
}

struct Row {
  const char* path;
  bool allowed;
  const char* rule;
  const char* suggestion;
};

void expect_rows(const Policy& policy, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Explanation why = explain_path(policy, FsOperation::exec, row.path);
    EXPECT_EQ(why.allowed, row.allowed) << row.path;
    EXPECT_EQ(why.rule, row.rule) << row.path;
    EXPECT_EQ(why.suggestion, row.suggestion) << row.path;
  }
}

TEST(ExecExplain, listed) {
  expect_rows(policy_of("process: {exec: {allow: [/usr], deny: [/usr/sbin]}}"),
              {{"/usr/bin/env", true, "process.exec.allow: /usr", ""},
               {"/usr/sbin/x", false, "process.exec.deny: /usr/sbin", "process: {exec: {allow: [/usr/sbin/x]}}"},
               {"/opt/x", false, "process.exec: not in allow", "process: {exec: {allow: [/opt/x]}}"}});
}

TEST(ExecExplain, pinned) {
  expect_rows(policy_of("process: {exec: {allow: [/usr], sha256: {/opt/tool: " + kDigest + "}}}"),
              {{"/opt/tool", true, "process.exec.sha256: /opt/tool", ""},
               {"/opt/x", false, "process.exec: not in allow", "process: {exec: {allow: [/opt/x]}}"}});
}

TEST(ExecExplain, named) {
  expect_rows(policy_of("process: {exec: {deny: [/usr/bin/nsenter]}}"),
              {{"/usr/bin/env", true, "process.exec: not in deny", ""},
               {"/usr/bin/nsenter", false, "process.exec.deny: /usr/bin/nsenter",
                "process: {exec: {allow: [/, /usr/bin/nsenter]}}"}});
}

// To allow all but one where everything is denied would open everything.
TEST(ExecExplain, where_all_are_denied_one_is_allowed_alone) {
  expect_rows(policy_of("process: {exec: {deny: [/, /opt]}}"),
              {{"/opt/x", false, "process.exec.deny: /opt", "process: {exec: {allow: [/opt/x]}}"},
               {"/usr/bin/env", false, "process.exec.deny: /", "process: {exec: {allow: [/usr/bin/env]}}"}});
}

TEST(ExecExplain, with_rules_for_files) {
  expect_rows(
      policy_of("filesystem: {read: [/usr], write: [/workspace]}\n"
                "process: {exec: {allow: [/usr, /opt, /workspace/bin], deny_writable: true}}"),
      {{"/usr/bin/env", true, "process.exec.allow: /usr", ""},
       {"/opt/x", false, "filesystem.default: deny", "filesystem: {read: [/opt/x]}"},
       {"/workspace/bin/x", false, "process.exec.deny_writable: true", "process: {exec: {deny_writable: false}}"},
       {"/workspace/x", false, "process.exec: not in allow",
        "process: {exec: {allow: [/workspace/x], deny_writable: false}}"},
       {"/srv/x", false, "process.exec: not in allow",
        "process: {exec: {allow: [/srv/x]}}\nfilesystem: {read: [/srv/x]}"}});
}

TEST(ExecExplain, untrusted_runs_the_systems_programs_and_nothing_of_its_own) {
  const Policy p = parse(built_in_profile("untrusted").value(), "p", built_in_profile).value();
  for (const char* path : {"/usr/bin/python3", "/bin/sh", "/lib64/ld-linux-x86-64.so.2"})
    EXPECT_TRUE(explain_path(p, FsOperation::exec, path).allowed) << path;
  for (const char* path : {"/workspace/a.out", "/tmp/x", "/dev/shm/x", "/opt/x", "/etc/x", "/proc/self/exe"})
    EXPECT_FALSE(explain_path(p, FsOperation::exec, path).allowed) << path;
}

}  // namespace
}  // namespace sbpf::policy
