// SPDX-License-Identifier: Apache-2.0
// process.seccomp, capabilities, user and limits: read, merged, written; OCI profiles read and written.
#include <gtest/gtest.h>

#include "policy/seccomp.h"

namespace sbpf::policy {
namespace {

Policy policy_of(const std::string& process, const ProfileSource& profiles = nullptr, const std::string& head = "") {
  const auto policy = parse("version: 1\nname: t\n" + head + "process:\n" + process, "t.yaml", profiles);
  EXPECT_TRUE(policy) << process << "\n" << (policy ? "" : format(policy.error()));
  return policy ? *policy : Policy{};
}

TEST(Launch, defaults_take_every_privilege) {
  const Launch launch = policy_of("  env: {}\n").launch;
  EXPECT_EQ(launch.seccomp.kind, SeccompKind::builtin_default);
  EXPECT_TRUE(launch.capabilities.keep.empty() && !launch.capabilities.dangerously_all);
  EXPECT_FALSE(launch.user || launch.dangerously_allow_new_privileges);
}

TEST(Launch, every_form_comes_back_from_the_canonical_text) {
  const std::string hash(64, 'a');
  for (const std::string& process :
       {std::string("  seccomp: strict\n"), std::string("  seccomp: default\n"),
        std::string("  seccomp: /etc/p.json\n"), "  seccomp: {file: /etc/p.json, sha256: \"" + hash + "\"}\n",
        std::string("  capabilities: [SYS_CHROOT, CHOWN, CHOWN]\n"),
        std::string("  user: {uid: 1000, gid: 1001, groups: [7, 5, 7]}\n"),
        std::string("  seccomp: dangerously_unconfined\n  capabilities: dangerously_all\n"
                    "  dangerously_allow_new_privileges: true\n"),
        std::string("  limits: {open_files: 64, file_size: 1GiB, core: 0, stack: 8MiB, locked_memory: 64KiB}\n")}) {
    const Policy policy = policy_of(process);
    const auto again = parse(canonical(policy), "canonical", nullptr);
    ASSERT_TRUE(again) << canonical(policy) << format(again.error());
    EXPECT_EQ(canonical(*again), canonical(policy));
    EXPECT_EQ(sha256(*again), sha256(policy));
    const bool says_nothing_new = process == "  seccomp: default\n";
    EXPECT_EQ(sha256(policy) == sha256(policy_of("  env: {}\n")), says_nothing_new) << process;
  }
  const Policy policy =
      policy_of("  capabilities: [SYS_CHROOT, CHOWN, CHOWN]\n  user: {uid: 1, gid: 2, groups: [7, 5, 7]}\n");
  EXPECT_EQ(policy.launch.capabilities.keep, (std::vector<unsigned>{0, 18}));
  EXPECT_EQ(policy.launch.user->groups, (std::vector<std::uint32_t>{5, 7}));
}

TEST(Launch, the_hash_follows_the_content_of_the_profile) {
  Policy policy = policy_of("  seccomp: /etc/p.json\n");
  policy.launch.seccomp.sha256 = std::string(64, 'a');
  const auto before = sha256(policy);
  policy.launch.seccomp.sha256 = std::string(64, 'b');
  EXPECT_NE(sha256(policy), before);
}

TEST(Launch, later_values_replace_earlier_ones_whole) {
  const auto profiles = [](std::string_view) -> std::optional<std::string> {
    return "version: 1\nname: a\nprocess:\n  seccomp: strict\n  capabilities: [CHOWN]\n"
           "  user: {uid: 5, gid: 5, groups: [6]}\n  limits: {open_files: 100, core: 1MiB}\n";
  };
  const Policy kept = policy_of("  limits: {core: 0}\n", profiles, "extends: [a]\n");
  EXPECT_EQ(kept.launch.seccomp.kind, SeccompKind::builtin_strict);
  EXPECT_EQ(kept.launch.user->groups.size(), 1u);
  EXPECT_EQ(kept.limits.open_files, 100u);
  EXPECT_EQ(kept.limits.core, 0u);
  const Policy other =
      policy_of("  seccomp: default\n  capabilities: []\n  user: {uid: 1, gid: 1}\n", profiles, "extends: [a]\n");
  EXPECT_EQ(other.launch.seccomp.kind, SeccompKind::builtin_default);
  EXPECT_TRUE(other.launch.capabilities.keep.empty());
  EXPECT_TRUE(other.launch.user->groups.empty());
}

TEST(Launch, capabilities_have_names_and_numbers) {
  EXPECT_EQ(capability_number("CHOWN"), 0u);
  EXPECT_EQ(capability_number("CAP_SYS_ADMIN"), 21u);
  EXPECT_EQ(capability_number("CHECKPOINT_RESTORE"), 40u);
  EXPECT_FALSE(capability_number("chown") || capability_number("") || capability_number("CAP_"));
  for (unsigned i = 0; i <= 40; ++i) EXPECT_EQ(capability_number(capability_name(i)), i);
  EXPECT_EQ(capability_name(41), "41");
}

TEST(Launch, loaders_variables_are_named_one_by_one) {
  for (const char* name : {"LD_PRELOAD", "LD_LIBRARY_PATH", "GCONV_PATH", "BASH_ENV", "BASH_FUNC_x%%", "NODE_OPTIONS"})
    EXPECT_TRUE(env_by_name_only(name)) << name;
  for (const char* name : {"LDFLAGS", "PATH", "LC_ALL", "ENVIRONMENT"}) EXPECT_FALSE(env_by_name_only(name)) << name;
  EXPECT_EQ(policy_of("  env: {allow: [LD_LIBRARY_PATH, L*]}\n").env.allow.size(), 2u);
}

// ---- OCI profiles ----

constexpr const char* kProfile = R"({
	"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 38,
	"archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]}],
	"syscalls": [
		{"names":["read","write"],"action":"SCMP_ACT_ALLOW","args":null,"comment":"a \"quoted\" \u0085 text","includes":{},"excludes":{}},
		{"names": ["clone"], "action": "SCMP_ACT_ALLOW",
		 "args": [{"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}],
		 "excludes": {"caps": ["CAP_SYS_ADMIN"], "arches": ["s390", "s390x"]}},
		{"names": ["ptrace"], "action": "SCMP_ACT_KILL_PROCESS", "includes": {"minKernel": "4.8"}},
		{"names": ["socket"], "action": "SCMP_ACT_ERRNO", "errnoRet": 22,
		 "args": [{"index": 0, "value": 16, "op": "SCMP_CMP_EQ"}, {"index": 2, "value": 18446744073709551615, "op": "SCMP_CMP_NE"}]}
	]
})";

TEST(OciProfile, is_read) {
  const auto profile = parse_seccomp(kProfile, "p.json");
  ASSERT_TRUE(profile) << format(profile.error());
  EXPECT_EQ(profile->default_action, SeccompAction::deny);
  EXPECT_EQ(profile->default_errno, 38u);
  ASSERT_EQ(profile->arch_map.size(), 1u);
  EXPECT_EQ(profile->arch_map[0].sub.size(), 2u);
  ASSERT_EQ(profile->rules.size(), 4u);
  EXPECT_EQ(profile->rules[0].comment, "a \"quoted\" \xc2\x85 text");
  EXPECT_EQ(profile->rules[1].args[0].op, SeccompOp::masked_eq);
  EXPECT_EQ(profile->rules[1].excludes.caps, std::vector<unsigned>{21});
  EXPECT_EQ(profile->rules[2].includes.min_kernel, std::pair(4u, 8u));
  EXPECT_EQ(profile->rules[3].args[1].value, ~0ull);
  EXPECT_EQ(profile->rules[3].where.line, 10);
}

TEST(OciProfile, is_written_so_that_it_reads_the_same) {
  for (const std::string& text :
       {std::string(kProfile), built_in_seccomp("default").value(), built_in_seccomp("strict").value()}) {
    const auto profile = parse_seccomp(text, "p");
    ASSERT_TRUE(profile) << format(profile.error());
    const std::string once = oci_json(*profile);
    const auto again = parse_seccomp(once, "p");
    ASSERT_TRUE(again) << once << format(again.error());
    EXPECT_EQ(oci_json(*again), once);
    ASSERT_EQ(again->rules.size(), profile->rules.size());
    for (std::size_t i = 0; i < profile->rules.size(); ++i) {
      const SeccompRule &a = profile->rules[i], &b = again->rules[i];
      EXPECT_TRUE(a.names == b.names && a.action == b.action && a.errno_ret == b.errno_ret && a.comment == b.comment);
      EXPECT_TRUE(a.includes == b.includes && a.excludes == b.excludes && a.args.size() == b.args.size());
    }
  }
}

TEST(OciProfile, what_is_wrong_has_a_place) {
  struct Case {
    const char *text, *place, *code;
  };
  for (
      const Case& c : std::initializer_list<Case>{
          {"{", "p:", "syntax"},
          {"[]", "p:1:1", "wrong_type"},
          {"{}", "p:1:1", "missing_key"},
          {"{\"defaultAction\": \"SCMP_ACT_NOTIFY\"}", "p:1:19", "unsupported"},
          {"{\"defaultAction\": \"SCMP_ACT_TRACE\"}", "p:1:19", "unsupported"},
          {"{\"defaultAction\": \"ALLOW\"}", "p:1:19", "unsupported"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n \"default\": 1}", "p:2:2", "unknown_key"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n \"flags\": [\"SECCOMP_FILTER_FLAG_LOG\"]}", "p:2:11",
           "unsupported"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n \"listenerPath\": \"/x\"}", "p:2:2", "unsupported"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n \"architectures\": [\"x86\"]}", "p:2:20", "bad_architecture"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\",\n \"defaultAction\": \"SCMP_ACT_ALLOW\"}", "p:2:2",
           "duplicate_key"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [\n {\"action\": \"SCMP_ACT_ERRNO\"}]}", "p:2:2",
           "missing_key"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [\n {\"names\": [\"a\"]}]}", "p:2:2", "missing_key"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [\n {\"names\": [\"a\"], \"action\": \"SCMP_ACT_ALLOW\", \"errnoRet\": 1}]}",
           "p:2:2", "contradiction"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"a\"], \"action\": \"SCMP_ACT_ERRNO\", \"args\": [\n {\"index\": 6, \"value\": 1, \"op\": \"SCMP_CMP_EQ\"}]}]}",
           "p:2:12", "bad_number"},
          {"{\"defaultAction\": \"SCMP_ACT_ALLOW\", \"syscalls\": [{\"names\": [\"a\"], \"action\": \"SCMP_ACT_ERRNO\", \"includes\":\n {\"caps\": [\"SYS_ROOT\"]}}]}",
           "p:2:12", "bad_capability"}}) {
    const auto profile = parse_seccomp(c.text, "p");
    ASSERT_FALSE(profile) << c.text;
    const std::string text = format(profile.error());
    EXPECT_EQ(text.rfind(c.place, 0), 0u) << c.text << "\n" << text;
    EXPECT_EQ(profile.error().front().code, c.code) << text;
  }
}

}  // namespace
}  // namespace sbpf::policy
