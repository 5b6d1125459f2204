// SPDX-License-Identifier: Apache-2.0
// io_uring for attackers.
#pragma once

#include <liburing.h>

#include "tests/attack/lib/attack.h"

namespace attack {

class Ring {
 public:
  // "io_uring_setup"
  explicit Ring(unsigned flags = 0);
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring();

  // The next request, zeroed.
  io_uring_sqe* request();
  // Submits it, waits, and returns its result; a negative one is a Failure at `step`.
  int complete(const char* step);
  // "io_uring_register"
  void register_file(int fd);
  io_uring* get() { return &ring_; }

 private:
  io_uring ring_{};
};

}  // namespace attack
