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

Result<Fd> lock_host() {
  const std::string path{kLockFile};
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!fd || ::flock(fd.get(), LOCK_EX) != 0)
    return fail("lock", "cannot lock " + path + ": " + std::strerror(errno), "sbpf must run as root", errno);
  return fd;
}

Result<Fd> lock_host(std::chrono::milliseconds patience) {
  const std::string path{kLockFile};
  const auto end = std::chrono::steady_clock::now() + patience;
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  while (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return fail("lock", "cannot lock " + path + ": " + std::strerror(errno), "", errno);
    if (std::chrono::steady_clock::now() >= end) return fail("locked", "another process has the host lock " + path, "", errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (!fd) return fail("lock", "cannot open " + path + ": " + std::strerror(errno), "", errno);
  return fd;
}

}  // namespace sbpf::agent
