// SPDX-License-Identifier: Apache-2.0
// In the place of libc's, for this program and its libraries: bpf(2) is the fake's while one answers, and sbpf's pins
// are on a BPF filesystem that shows no directories. What a host is faked by is in fake_host.cpp.
#include <dirent.h>
#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <string_view>

#include "agent/host/paths.h"
#include "tests/unit/fake_host.h"
#include "tests/unit/fake_kernel.h"
#include "tests/unit/fake_libc.h"

using sbpf::agent::libc;

namespace {

bool is_faked(std::string_view path) {
  const std::string_view pins = sbpf::agent::kPinRoot;
  return sbpf::agent::FakeKernel::answering() != nullptr && path.starts_with(pins.substr(0, pins.rfind('/')));
}

}  // namespace

extern "C" long syscall(long number, ...) noexcept {
  static auto* const real = libc<long(long, ...)>("syscall");
  va_list list;
  va_start(list, number);
  long arguments[6];
  for (long& argument : arguments) argument = va_arg(list, long);
  va_end(list);
  sbpf::agent::FakeKernel* const fake = sbpf::agent::FakeKernel::answering();
  if (number == SYS_bpf && fake != nullptr)
    return fake->bpf(static_cast<int>(arguments[0]), *reinterpret_cast<bpf_attr*>(arguments[1]));
  return real(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]);
}

extern "C" int statfs(const char* path, struct statfs* info) noexcept {
  static auto* const real = libc<int(const char*, struct statfs*)>("statfs");
  if (is_faked(path)) {
    *info = {};
    info->f_type = BPF_FS_MAGIC;
    return 0;
  }
  const int result = real(path, info);
  const bool cgroups =
      sbpf::agent::FakeHost::answering() != nullptr && std::string_view(path).starts_with(sbpf::agent::kFakeCgroups);
  if (result == 0 && cgroups) info->f_type = CGROUP2_SUPER_MAGIC;
  return result;
}

extern "C" int unlink(const char* path) noexcept {
  static auto* const real = libc<int(const char*)>("unlink");
  if (!is_faked(path)) return real(path);
  return sbpf::agent::FakeKernel::answering()->unpin(path) ? 0 : (errno = ENOENT, -1);
}

// A ring is a file here, for which nobody can wait.
extern "C" int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  static auto* const real = libc<int(int, int, int, epoll_event*)>("epoll_ctl");
  sbpf::agent::FakeKernel* const fake = sbpf::agent::FakeKernel::answering();
  return fake != nullptr && fake->find(fd) != nullptr ? 0 : real(epoll, operation, fd, event);
}

extern "C" DIR* opendir(const char* path) {
  static auto* const real = libc<DIR*(const char*)>("opendir");
  if (!is_faked(path)) return real(path);
  errno = ENOENT;
  return nullptr;
}
