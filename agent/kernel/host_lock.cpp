// SPDX-License-Identifier: Apache-2.0
// The host lock: agent/kernel/kernel.h.
#include <fcntl.h>
#include <sys/file.h>

#include <fmt/core.h>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

#include "agent/host/paths.h"
#include "agent/kernel/kernel.h"

namespace sbpf::agent {
namespace {

Fd open_lock() { return Fd(::open(std::string(kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)); }

tl::unexpected<Error> cannot_lock() {
  return fail("lock", SystemError{errno, "sbpf must run as root"}, "cannot lock {}", kLockFile);
}

// The byte of the lock's file that stands for this sandbox. Of the open file, as the host lock is, but a lock of
// another kind.
struct flock byte_of(std::uint64_t cgroup_id, short type) {
  struct flock byte {};
  byte.l_type = type;
  byte.l_whence = SEEK_SET;
  byte.l_start = static_cast<off_t>(cgroup_id & std::numeric_limits<off_t>::max());
  byte.l_len = byte.l_start == std::numeric_limits<off_t>::max() ? 0 : 1;
  return byte;
}

}  // namespace

Result<void> unlock_host(const Fd& lock) {
  if (::flock(lock.get(), LOCK_UN) != 0) return cannot_lock();
  return {};
}

Result<void> relock_host(const Fd& lock) {
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) return cannot_lock();
  return {};
}

Result<void> claim_sandbox(const Fd& lock, std::uint64_t cgroup_id) {
  struct flock byte = byte_of(cgroup_id, F_WRLCK);
  if (::fcntl(lock.get(), F_OFD_SETLK, &byte) != 0) return cannot_lock();
  return {};
}

void end_claim(const Fd& lock, std::uint64_t cgroup_id) {
  struct flock byte = byte_of(cgroup_id, F_UNLCK);
  (void)::fcntl(lock.get(), F_OFD_SETLK, &byte);
}

bool is_claimed(std::uint64_t cgroup_id) {
  const Fd fd = open_lock();
  struct flock byte = byte_of(cgroup_id, F_WRLCK);
  return !fd || ::fcntl(fd.get(), F_OFD_GETLK, &byte) != 0 || byte.l_type != F_UNLCK;
}

Result<Fd> lock_host() {
  Fd fd = open_lock();
  if (!fd || ::flock(fd.get(), LOCK_EX) != 0) return cannot_lock();
  return fd;
}

Result<Fd> lock_host(std::chrono::milliseconds patience) {
  const auto end = std::chrono::steady_clock::now() + patience;
  Fd fd = open_lock();
  if (!fd) return cannot_lock();
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return cannot_lock();
    if (std::chrono::steady_clock::now() >= end)
      return fail("locked", fmt::format("another process has the host lock {}", kLockFile), "", errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fd;
}

}  // namespace sbpf::agent
