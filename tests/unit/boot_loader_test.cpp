// SPDX-License-Identifier: Apache-2.0
// Boot loaders' files, as distributions have them.
#include "agent/host/boot_loader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "tests/unit/temp_dir.h"

namespace sbpf::agent {
namespace {

constexpr const char* kUbuntu = "lockdown,capability,landlock,yama,apparmor,ima,evm";

class BootLoader : public InTempDir {
 protected:
  void has(const std::string& path, const std::string& text = "") {
    const std::string file = top_.string() + path;
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file) << text;
  }
  Result<BootChange> change(const std::string& list = kUbuntu) { return add_bpf_at_boot(top_.string(), "6.8.0", list); }
};

TEST_F(BootLoader, grub_gets_a_file_of_its_own_that_keeps_the_list) {
  has("/usr/sbin/update-grub");
  has("/etc/default/grub", "GRUB_CMDLINE_LINUX=\"quiet\"\n");
  const auto found = change();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, "/etc/default/grub.d/zz-sbpf-lsm.cfg");
  EXPECT_EQ(found->before, "");
  EXPECT_EQ(found->after,
            "# Adds bpf to the kernel's LSMs, which sbpf needs. Written by `sbpf preflight --fix`.\n"
            "GRUB_CMDLINE_LINUX=\"${GRUB_CMDLINE_LINUX:-} lsm=lockdown,landlock,yama,apparmor,ima,evm,bpf\"\n"
            "GRUB_CMDLINE_LINUX_DEFAULT=\"${GRUB_CMDLINE_LINUX_DEFAULT:-} "
            "lsm=lockdown,landlock,yama,apparmor,ima,evm,bpf\"\n");
  EXPECT_EQ(found->apply, "update-grub");
  EXPECT_EQ(found->revert, (std::vector<std::string>{"rm /etc/default/grub.d/zz-sbpf-lsm.cfg", "update-grub"}));
}

TEST_F(BootLoader, what_is_written_already_is_told_by_its_contents) {
  has("/usr/sbin/update-grub");
  has("/etc/default/grub");
  has("/etc/default/grub.d/zz-sbpf-lsm.cfg", change()->after);
  EXPECT_EQ(change()->before, change()->after);
  EXPECT_NE(change("lockdown,capability,tomoyo")->before, change("lockdown,capability,tomoyo")->after);
}

TEST_F(BootLoader, proxmox_has_one_line_and_its_other_words_stay) {
  has("/usr/sbin/update-grub");
  has("/etc/default/grub");
  has("/etc/kernel/proxmox-boot-uuids", "ABCD-EF01\n");
  has("/etc/kernel/cmdline", "root=ZFS=rpool/ROOT/pve-1 lsm=lockdown,yama boot=zfs\n");
  const auto found = change("lockdown,capability,yama");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->file, "/etc/kernel/cmdline");
  EXPECT_EQ(found->after, "root=ZFS=rpool/ROOT/pve-1 boot=zfs lsm=lockdown,yama,bpf\n");
  EXPECT_EQ(found->apply, "proxmox-boot-tool refresh");
  EXPECT_EQ(found->revert.front(), "echo 'root=ZFS=rpool/ROOT/pve-1 lsm=lockdown,yama boot=zfs' > /etc/kernel/cmdline");
}

TEST_F(BootLoader, a_line_that_is_more_than_words_is_left_alone) {
  has("/usr/bin/kernel-install");
  for (const char* line :
       {"# a comment\nroot=/dev/sda1\n", "root=/dev/sda1 dyndbg=\"file a  b\"\n", "a\nb\n", "", "a'b\n"}) {
    has("/etc/kernel/cmdline", line);
    const auto found = change();
    ASSERT_FALSE(found) << line;
    EXPECT_EQ(found.error().code.text(), "boot_loader_unknown");
  }
}

TEST_F(BootLoader, systemd_boot_is_told_by_kernel_install) {
  has("/usr/bin/kernel-install");
  has("/etc/kernel/cmdline", "root=/dev/sda1\n");
  EXPECT_EQ(change()->apply, "kernel-install add 6.8.0 /boot/vmlinuz-6.8.0");
  has("/lib/modules/6.8.0/vmlinuz");
  EXPECT_EQ(change()->apply, "kernel-install add 6.8.0 /lib/modules/6.8.0/vmlinuz");
}

TEST_F(BootLoader, one_that_is_not_known_gets_the_parameter_in_the_hint) {
  const auto found = change("lockdown,capability,yama\n");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code.text(), "boot_loader_unknown");
  EXPECT_NE(found.error().hint.find(": lsm=lockdown,yama,bpf;"), std::string::npos) << found.error().hint;
}

TEST_F(BootLoader, a_kernel_without_it_is_not_mended_by_a_parameter) {
  has("/usr/sbin/update-grub");
  has("/etc/default/grub");
  has("/boot/config-6.8.0", "CONFIG_BPF=y\n# CONFIG_BPF_LSM is not set\n");
  ASSERT_FALSE(change());
  EXPECT_EQ(change().error().code.text(), "no_bpf_lsm");
  has("/boot/config-6.8.0", "CONFIG_BPF=y\nCONFIG_BPF_LSM=y\n");
  EXPECT_TRUE(change());
}

TEST_F(BootLoader, the_file_is_written_whole_with_its_directory) {
  BootChange wanted;
  wanted.file = top_.string() + "/etc/default/grub.d/zz-sbpf-lsm.cfg";
  has("/etc/default/grub");
  wanted.after = "one\n";
  ASSERT_TRUE(write_change(wanted));
  EXPECT_EQ(read_file(wanted.file), "one\n");
  std::filesystem::permissions(wanted.file, std::filesystem::perms(0640));
  wanted.before = "one\n";
  wanted.after = "two\n";
  ASSERT_TRUE(write_change(wanted));
  EXPECT_EQ(read_file(wanted.file), "two\n");
  EXPECT_EQ(std::filesystem::status(wanted.file).permissions(), std::filesystem::perms(0640));
  ASSERT_TRUE(take_back(wanted));
  EXPECT_EQ(read_file(wanted.file), "one\n");
  wanted.before = "";
  ASSERT_TRUE(take_back(wanted));
  EXPECT_FALSE(std::filesystem::exists(wanted.file));
  std::filesystem::create_symlink(top_ / "etc/default/grub", wanted.file);
  EXPECT_FALSE(write_change(wanted));
  EXPECT_TRUE(std::filesystem::is_symlink(wanted.file));
  wanted.file = top_.string() + "/nowhere/at/all";
  EXPECT_FALSE(write_change(wanted));
}

}  // namespace
}  // namespace sbpf::agent
