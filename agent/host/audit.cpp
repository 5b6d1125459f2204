// SPDX-License-Identifier: Apache-2.0
#include "agent/host/audit.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/fd.h"

namespace sbpf::agent {

// Not by syslog(3), which waits for a log that is stopped for as long as it is. Waits a tenth of a second, and then for
// a minute no more: what is lost of one sandbox is not to be late because of another one.
void audit(const std::string& text) {
  using Clock = std::chrono::steady_clock;
  static Clock::time_point given_up;
  const bool wait = given_up == Clock::time_point() || Clock::now() - given_up > std::chrono::minutes(1);
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  (void)std::strftime(time.data(), time.size(), "%b %e %T", ::localtime_r(&now, &local));
  const std::string line = fmt::format("<{}>{} sbpf[{}]: {} (uid {}, parent {})", LOG_AUTH | LOG_WARNING, time.data(),
                                       ::getpid(), text, ::getuid(), ::getppid());
  sockaddr_un log{AF_UNIX, "/dev/log"};
  for (const int type : {SOCK_DGRAM, SOCK_STREAM}) {
    const Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    const timeval patience{0, wait ? 100'000 : 1};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&log), sizeof log) != 0) {
      if (errno == EPROTOTYPE) continue;
      return;
    }
    // A stream's messages end with a zero.
    const bool sent = ::send(socket.get(), line.c_str(), line.size() + (type == SOCK_STREAM ? 1 : 0), MSG_NOSIGNAL) > 0;
    if (!sent && errno == EAGAIN && wait) given_up = Clock::now();
    return;
  }
}

}  // namespace sbpf::agent
