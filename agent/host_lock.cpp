// SPDX-License-Identifier: Apache-2.0
// The host lock: agent/kernel.h.
#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "agent/kernel.h"

namespace sbpf::agent {
namespace {

Fd open_lock() { return Fd(::open(std::string(kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)); }

tl::unexpected<Error> cannot_lock() {
  return fail("lock", "cannot lock " + std::string(kLockFile) + ": " + std::strerror(errno), "sbpf must run as root", errno);
}

}  // namespace

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
      return fail("locked", "another process has the host lock " + std::string(kLockFile), "", errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return fd;
}

}  // namespace sbpf::agent
