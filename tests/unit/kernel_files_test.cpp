// SPDX-License-Identifier: Apache-2.0
// What is told from texts of /proc: whose a file there is, and which terminal is one's own; and which devices are
// everyone's.
#include <gtest/gtest.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/host/devices.h"
#include "agent/host/fdinfo.h"
#include "agent/host/kernel_files.h"

namespace sbpf::agent {
namespace {

TEST(KernelFiles, whose_a_file_of_proc_is) {
  EXPECT_EQ(owner_in_proc("12/mem"), "12");
  EXPECT_EQ(owner_in_proc("12"), "12");
  EXPECT_EQ(owner_in_proc("12/task/34/mem"), "12");
  EXPECT_EQ(owner_in_proc("12/net"), "12") << "the directory is the process's";
  EXPECT_EQ(owner_in_proc("12/net/tcp"), "") << "and what is in it the network's";
  EXPECT_EQ(owner_in_proc("12/task/34/net/tcp"), "");
  EXPECT_EQ(owner_in_proc(""), "");
  EXPECT_EQ(owner_in_proc("sys/12/mem"), "");
  EXPECT_EQ(owner_in_proc("meminfo"), "");
}

TEST(KernelFiles, numbers_stand_behind_a_key_that_begins_a_line) {
  const std::string text = "Name:\tTracerPid: 7\npos:\t0\nflags:\t0100002\nTracerPid:\t41\nUserFiles:\t0\nempty:\n";
  EXPECT_EQ(fdinfo_number(text, "TracerPid:"), 41);
  EXPECT_EQ(fdinfo_number(text, "flags:", 8), 0100002);
  EXPECT_EQ(fdinfo_number(text, "UserFiles:"), 0);
  EXPECT_EQ(fdinfo_number(text, "scm_fds:"), std::nullopt) << "which is not the same as 0";
  EXPECT_EQ(fdinfo_number(text, "empty:"), std::nullopt);
  EXPECT_EQ(fdinfo_number("", "flags:"), std::nullopt);
  EXPECT_EQ(fdinfo_number("scm_fds: 3", "scm_fds:"), 3);
  EXPECT_EQ(fdinfo_number("some 1234 flags: 3\nflags: 2", "flags:"), 2) << "a key begins its line";
}

TEST(KernelFiles, terminal_of_a_task) {
  EXPECT_EQ(terminal_in("7 (a) b) S 1 2 3 34816 7 4194304"), ::makedev(136, 0));
  EXPECT_EQ(terminal_in("7 (sh) S 1 2 3 1025 7 4194304"), ::makedev(4, 1));
  EXPECT_EQ(terminal_in("7 (sh) S 1 2 3 1083441 7 4194304"), ::makedev(136, 305)) << "a minor of more than 8 bits";
  EXPECT_EQ(terminal_in("7 (sh) S 1 2 3 0 -1 4194304"), 0u);
  EXPECT_EQ(terminal_in(""), 0u);
}

struct statx device(mode_t type, unsigned major, unsigned minor) {
  struct statx info {};
  info.stx_mode = static_cast<__u16>(type);
  info.stx_rdev_major = major;
  info.stx_rdev_minor = minor;
  return info;
}

TEST(KernelFiles, devices_of_everyone_and_of_the_machine) {
  const std::string nobody = "/nowhere";  // has no terminal
  for (const auto& [major, minor] : {std::pair(1u, 3u),
                                     {1u, 5u},
                                     {1u, 7u},
                                     {1u, 8u},
                                     {1u, 9u},
                                     {5u, 0u},
                                     {5u, 2u},
                                     {136u, 4u},
                                     {10u, 229u},
                                     {10u, 232u}})
    EXPECT_EQ(machine_device(device(S_IFCHR, major, minor), true, nobody), nullptr) << major << ":" << minor;
  for (const auto& [major, minor] : {std::pair(1u, 1u),
                                     {1u, 2u},
                                     {1u, 4u},
                                     {4u, 1u},
                                     {5u, 1u},
                                     {7u, 1u},
                                     {10u, 63u},
                                     {10u, 235u},
                                     {10u, 236u},
                                     {13u, 64u},
                                     {21u, 0u},
                                     {202u, 0u}})
    EXPECT_NE(machine_device(device(S_IFCHR, major, minor), false, nobody), nullptr) << major << ":" << minor;
  EXPECT_EQ(machine_device(device(S_IFCHR, 1, 11), false, nobody), nullptr) << "the log, to read";
  EXPECT_NE(machine_device(device(S_IFCHR, 1, 11), true, nobody), nullptr);
  EXPECT_NE(machine_device(device(S_IFBLK, 1, 3), false, nobody), nullptr);
  EXPECT_EQ(machine_device(device(S_IFREG, 4, 1), true, nobody), nullptr);
  EXPECT_EQ(machine_device(device(S_IFCHR, 10, 200), true, nobody), nullptr) << "a network, which is judged as such";
  EXPECT_NE(network_device(device(S_IFCHR, 10, 200)), nullptr);
  EXPECT_EQ(network_device(device(S_IFBLK, 10, 200)), nullptr);
}

TEST(KernelFiles, handles_of_devices) {
  EXPECT_TRUE(is_handle_of_device("anon_inode:[vfio-device]"));
  EXPECT_TRUE(is_handle_of_device("anon_inode:gpio-line"));
  for (const char* harmless :
       {"anon_inode:[eventfd]", "anon_inode:kvm-vm", "anon_inode:[io_uring]", "/tmp/anon_inode:[vfio", ""})
    EXPECT_FALSE(is_handle_of_device(harmless)) << harmless;
}

// This process, looked at as an attached one.
TEST(KernelFiles, own_files_and_those_of_others) {
  const auto forbidden = [](const char* path, pid_t inside) {
    const Fd file(::open(path, O_RDONLY | O_CLOEXEC));
    const std::string number = std::to_string(file.get()), link = "/proc/self/fd/" + number;
    const std::set<pid_t> all{inside};
    std::error_code ec;
    return KernelFiles(getpid(), all)
        .forbidden(link, std::filesystem::read_symlink(link, ec).string(), read_file("/proc/self/fdinfo/" + number),
                   false);
  };
  for (const char* path : {"/proc/self/status", "/proc/thread-self/comm", "/proc/meminfo", "/proc/net/tcp", "/proc",
                           "/proc/self", "/dev/null", "/etc"})
    EXPECT_EQ(forbidden(path, getpid()), "") << path;
  EXPECT_NE(forbidden(("/proc/" + std::to_string(getppid()) + "/status").c_str(), getpid()), "");
  EXPECT_EQ(forbidden(("/proc/" + std::to_string(getppid()) + "/status").c_str(), getppid()), "");
}

}  // namespace
}  // namespace sbpf::agent
