// SPDX-License-Identifier: Apache-2.0
// Fd: owner of one file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace sbpf {

// Owns a descriptor and closes it. -1 means none. Moves by swap; never copies; no implicit int.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  Fd(Fd&& other) noexcept { std::swap(fd_, other.fd_); }
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }

  // The descriptor, still owned here; -1 if none.
  int get() const { return fd_; }
  // Gives ownership to the caller.
  int release() { return std::exchange(fd_, -1); }
  // Closes it now.
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

}  // namespace sbpf
