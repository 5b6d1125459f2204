// SPDX-License-Identifier: Apache-2.0
// poll_all(): poll(2) that goes on when the process's limit of descriptors is below their number.
#pragma once

#include <poll.h>

#include <cerrno>
#include <cstddef>
#include <ctime>

namespace sbpf {

// As poll(2) without a time limit, EINTR included. The kernel polls no more at once than a process may have open
// (EINVAL): then one after another, ten times a second.
inline int poll_all(pollfd* waiting, std::size_t count) {
  int ready = ::poll(waiting, count, -1);
  while (ready < 0 && (errno == EINVAL || errno == ENOMEM)) {
    ready = 0;
    for (std::size_t i = 0; i < count; i++) {
      waiting[i].revents = 0;
      if (waiting[i].fd >= 0 && ::poll(&waiting[i], 1, 0) > 0) ready++;
    }
    if (ready > 0) return ready;
    const timespec pause{0, 100'000'000};
    if (::nanosleep(&pause, nullptr) != 0) return -1;  // EINTR
    ready = ::poll(waiting, count, 0);
    if (ready == 0) ready = ::poll(waiting, count, -1);
  }
  return ready;
}

}  // namespace sbpf
