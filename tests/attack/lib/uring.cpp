// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/uring.h"

namespace attack {

namespace {

int checked(int rc, const char* step) {
  if (rc < 0) throw Failure{-rc, step};
  return rc;
}

}  // namespace

Ring::Ring(unsigned flags) { checked(io_uring_queue_init(8, &ring_, flags), "io_uring_setup"); }

Ring::~Ring() { io_uring_queue_exit(&ring_); }

io_uring_sqe* Ring::request() {
  io_uring_sqe* request = io_uring_get_sqe(&ring_);
  if (!request) throw Failure{EBUSY, "io_uring_get_sqe"};
  return request;
}

int Ring::complete(const char* step) {
  checked(io_uring_submit(&ring_), "io_uring_submit");
  io_uring_cqe* completion = nullptr;
  checked(io_uring_wait_cqe(&ring_, &completion), "io_uring_wait");
  const int result = completion->res;
  io_uring_cqe_seen(&ring_, completion);
  return checked(result, step);
}

void Ring::register_file(int fd) { checked(io_uring_register_files(&ring_, &fd, 1), "io_uring_register"); }

}  // namespace attack
