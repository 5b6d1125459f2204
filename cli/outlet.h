// SPDX-License-Identifier: Apache-2.0
// Lines for a descriptor on which nobody may wait: a pipe that is full, a terminal whose output is stopped, a file
// whose lock another process has.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::cli {

// What cannot be written waits here, up to a bound; what does not fit in is counted, and the count is told in its
// place. The descriptor's own flags stay as they are: others have it, too.
class Outlet {
 public:
  enum class Weight : unsigned char {
    ordinary,
    important
  };  // there is room for important lines when there is none for others

  static constexpr std::size_t kRoom = 512 * 1024;

  // `count_line`: the line that says how many lines are missing. A negative descriptor takes nothing. `room`: bytes,
  // half of them for ordinary lines. To a pipe or a file a process of its own writes, which begins here: who has it,
  // too, a program inside say, can keep its lock (by splice(2), or a long write), and then even a write that waits for
  // no room waits.
  Outlet(int fd, std::function<std::string(std::uint64_t)> count_line, std::size_t room = kRoom);
  ~Outlet();
  Outlet(const Outlet&) = delete;
  Outlet& operator=(const Outlet&) = delete;

  // Does it lead anywhere? What nobody reads need not be made.
  bool is_open() const { return fd_ >= 0; }
  // Adds a line, and writes what can be written at once. Errors: "write_failed", once: of a reader that went away,
  // after which nothing is written any more, and of all else (a full disk), after which it is tried again.
  Result<void> line(std::string_view text, Weight weight = Weight::ordinary);
  // Writes what can be written at once. Errors: as above.
  Result<void> flush();
  // Waits so long until the process that writes has written all. Errors: as above.
  Result<void> settle(std::chrono::milliseconds patience);
  // Writes all, but waits no longer than that for readers. Errors: as above.
  Result<void> finish(std::chrono::milliseconds patience);

 private:
  bool has_room(std::size_t size, Weight weight) const;
  void tell_count();
  bool start_writer();
  ssize_t write_some();
  int hear_writer();
  Result<void> failed(int error);

  int fd_;
  std::function<std::string(std::uint64_t)> count_line_;
  std::size_t room_;
  std::string waiting_;
  std::uint64_t untold_ = 0;
  bool told_error_ = false;
  bool by_writer_ = false;
  Fd writer_;  // leads to it
  pid_t writer_pid_ = -1;
  std::size_t with_writer_ = 0;  // bytes that it has not written yet
};

}  // namespace sbpf::cli
