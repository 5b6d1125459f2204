// SPDX-License-Identifier: Apache-2.0
// Lines for a descriptor on which nobody may wait: a pipe that is full, a terminal whose output is stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sbpf::cli {

// What cannot be written waits here, up to a bound; what does not fit in is counted, and the count is told in its place. The
// descriptor's own flags stay as they are: others have it, too.
class Outlet {
 public:
  enum class Weight : unsigned char { ordinary, important };  // there is room for important lines when there is none for others

  static constexpr std::size_t kRoom = 512 * 1024;

  // `count_line`: the line that says how many lines are missing. A negative descriptor takes nothing. `room`: bytes, half of them for
  // ordinary lines.
  Outlet(int fd, std::function<std::string(std::uint64_t)> count_line, std::size_t room = kRoom)
      : fd_(fd), count_line_(std::move(count_line)), room_(room) {}

  // Does it lead anywhere? What nobody reads need not be made.
  bool is_open() const { return fd_ >= 0; }
  // Adds a line, and writes what can be written at once. Errors: "write_failed" (a reader that went away), once.
  Result<void> line(std::string_view text, Weight weight = Weight::ordinary);
  // Writes what can be written at once. Errors: as above.
  Result<void> flush();
  // Writes all, but waits no longer than that for readers.
  void finish(std::chrono::milliseconds patience);

 private:
  bool has_room(std::size_t size, Weight weight) const;
  void tell_count();

  int fd_;
  std::function<std::string(std::uint64_t)> count_line_;
  std::size_t room_;
  std::string waiting_;
  std::uint64_t untold_ = 0;
};

}  // namespace sbpf::cli
