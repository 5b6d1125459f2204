// SPDX-License-Identifier: Apache-2.0
// process.kernel: what a policy opens of the kernel, decided by the code that the programs run.
#include <gtest/gtest.h>
#include <linux/capability.h>

#include <iterator>
#include <map>
#include <set>
#include <string>

#include "bpf/capabilities.h"
#include "policy/filesystem.h"
#include "policy/image.h"

namespace sbpf::policy {
namespace {

Image image_of(const std::string& body) {
  const auto policy = parse("version: 1\nname: kernel\n" + body, "kernel.yaml", built_in_profile);
  EXPECT_TRUE(policy) << (policy ? "" : format(policy.error()));
  return compile(policy.value(), 1, empty_view(policy.value())).value();
}

// What Docker leaves to root, without NET_RAW, and IPC_LOCK: memory is limited.
const std::set<int> kOpen = {CAP_CHOWN,      CAP_DAC_OVERRIDE, CAP_FOWNER,      CAP_FSETID,           CAP_KILL,
                             CAP_SETGID,     CAP_SETUID,       CAP_SETPCAP,     CAP_NET_BIND_SERVICE, CAP_IPC_LOCK,
                             CAP_SYS_CHROOT, CAP_MKNOD,        CAP_AUDIT_WRITE, CAP_SETFCAP};

TEST(KernelAccess, by_default_only_these_capabilities_are_open) {
  const Image image = image_of("");
  for (int number = 0; number < 80; ++number)
    EXPECT_EQ(allows_capability(image, static_cast<std::uint32_t>(number)), kOpen.contains(number)) << number;
}

TEST(KernelAccess, a_named_capability_is_open_and_no_other) {
  const Image image = image_of("process: {kernel: {dangerously_allow_capabilities: [SYS_TIME, CHECKPOINT_RESTORE]}}\n");
  for (int number = 0; number <= CAP_LAST_CAP; ++number)
    EXPECT_EQ(allows_capability(image, static_cast<std::uint32_t>(number)),
              kOpen.contains(number) || number == CAP_SYS_TIME || number == CAP_CHECKPOINT_RESTORE)
        << number;
}

TEST(KernelAccess, the_network_opens_its_own_capabilities) {
  const Image all = image_of("network: {dangerously_allow_all: true}\n");
  EXPECT_TRUE(allows_capability(all, CAP_NET_ADMIN));
  EXPECT_TRUE(allows_capability(all, CAP_NET_RAW));
  EXPECT_FALSE(allows_capability(all, CAP_SYS_ADMIN));
  const Image raw = image_of("network: {dangerously_allow_sockets: [raw]}\n");
  EXPECT_TRUE(allows_capability(raw, CAP_NET_RAW));
  EXPECT_FALSE(allows_capability(raw, CAP_NET_ADMIN));
}

TEST(KernelAccess, interfaces_are_closed_but_for_io_uring) {
  const Image image = image_of("");
  for (int i = 0; i <= SBPF_KERNEL_MAX; ++i)
    EXPECT_EQ(opens(image, static_cast<sbpf_kernel_interface>(i)), i == SBPF_KERNEL_IO_URING) << i;
  const Image other = image_of("process: {kernel: {allow: [userfaultfd, perf], deny: [io_uring]}}\n");
  for (int i = 0; i <= SBPF_KERNEL_MAX; ++i)
    EXPECT_EQ(opens(other, static_cast<sbpf_kernel_interface>(i)),
              i == SBPF_KERNEL_USERFAULTFD || i == SBPF_KERNEL_PERF)
        << i;
}

TEST(KernelAccess, without_its_slot_nothing_is_open) {
  Image image = image_of("process: {kernel: {allow: [perf], dangerously_allow_capabilities: [SYS_TIME]}}\n");
  for (auto it = image.entries.begin(); it != image.entries.end();)
    it = it->first.kind == SBPF_RULE_HEADER && it->first.port == SBPF_SLOT_PROCESS ? image.entries.erase(it)
                                                                                   : std::next(it);
  EXPECT_FALSE(opens(image, SBPF_KERNEL_IO_URING));
  EXPECT_FALSE(opens(image, SBPF_KERNEL_PERF));
  EXPECT_FALSE(allows_capability(image, CAP_SYS_TIME));
}

TEST(KernelAccess, lists_of_extended_profiles_are_united) {
  const auto source = [](std::string_view) -> std::optional<std::string> {
    return "version: 1\nname: base\nprocess: {kernel: {allow: [perf], deny: [io_uring], "
           "dangerously_allow_capabilities: [SYS_TIME]}}\n";
  };
  const auto policy = parse(
                          "version: 1\nname: t\nextends: [base]\nprocess: {kernel: {allow: [keyrings, perf], "
                          "dangerously_allow_capabilities: [SYSLOG]}}\n",
                          "t", source)
                          .value();
  EXPECT_EQ(policy.kernel.allow, (std::vector{SBPF_KERNEL_PERF, SBPF_KERNEL_KEYRINGS}));
  EXPECT_EQ(policy.kernel.deny, std::vector{SBPF_KERNEL_IO_URING});
  EXPECT_EQ(policy.kernel.dangerously_allow_capabilities, (std::vector<std::uint8_t>{CAP_SYS_TIME, CAP_SYSLOG}));
}

TEST(KernelAccess, no_profile_that_ships_opens_anything) {
  for (const std::string& name : built_in_profile_names()) {
    const auto policy = parse("version: 1\nname: t\nextends: [" + name + "]\n", "t", built_in_profile).value();
    EXPECT_TRUE(policy.kernel.allow.empty()) << name;
    EXPECT_TRUE(policy.kernel.dangerously_allow_capabilities.empty()) << name;
  }
}

TEST(KernelAccess, the_numbers_are_the_kernels) {
  for (const auto& [name, number] : std::map<std::string, int>{{"CHOWN", CAP_CHOWN},
                                                               {"LINUX_IMMUTABLE", CAP_LINUX_IMMUTABLE},
                                                               {"NET_BIND_SERVICE", CAP_NET_BIND_SERVICE},
                                                               {"IPC_OWNER", CAP_IPC_OWNER},
                                                               {"SYS_ADMIN", CAP_SYS_ADMIN},
                                                               {"SYS_TIME", CAP_SYS_TIME},
                                                               {"LEASE", CAP_LEASE},
                                                               {"SETFCAP", CAP_SETFCAP},
                                                               {"SYSLOG", CAP_SYSLOG},
                                                               {"BPF", CAP_BPF},
                                                               {"CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE}}) {
    EXPECT_EQ(capability_number(name), static_cast<unsigned>(number)) << name;
    EXPECT_EQ(capability_name(static_cast<unsigned>(number)), name);
  }
  EXPECT_EQ(SBPF_CAP_COUNT, CAP_LAST_CAP + 1);
}

}  // namespace
}  // namespace sbpf::policy
