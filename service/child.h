// SPDX-License-Identifier: Apache-2.0
// Programs that the service runs: `sbpf watch` for good, `sbpf …` for a request.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "service/asio.h"

namespace sbpf::service {

struct Command {
  std::vector<std::string> arguments;  // [0] is the path of the executable
  int policy_fd = -1;                  // appears as descriptor 3; not owned
  int process_fd = -1;                 // appears as descriptor 4; not owned
  bool ends_with_us = true;            // SIGTERM when this process dies, however it does
  bool ordinary = false;               // with nice value 0, whatever this process has: it is done for a user
};

// A running program with pipes at its three streams. Destroyed while it runs, it is killed.
class Child {
 public:
  // Errors: "spawn". That the executable is none shows as exit code 127.
  static Result<Child> start(asio::io_context& context, const Command& command);
  Child(Child&&) = default;
  Child& operator=(Child&&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  asio::posix::stream_descriptor& out() { return out_; }
  asio::posix::stream_descriptor& err() { return err_; }
  asio::posix::stream_descriptor& ended() { return ended_; }  // readable once it has ended
  void close_stdin() { in_.reset(); }
  // By pidfd: never another process. Nothing happens if it has ended.
  void signal(int number);
  // After it has ended: its exit code, or 128 + signal. Blocks until then.
  int wait();

 private:
  explicit Child(asio::io_context& context) : out_(context), err_(context), ended_(context) {}

  pid_t pid_ = -1;
  Fd in_;
  asio::posix::stream_descriptor out_, err_, ended_;
};

// Calls `take` for each line of `from` (without its newline) until the stream ends or `take` returns false. A line
// longer than a mebibyte ends it.
asio::awaitable<void> each_line(asio::posix::stream_descriptor& from, std::function<bool(std::string_view)> take);

struct Finished {
  int exit_code = 0;
  std::string out, err;  // at most 16 MiB each; the program gets a broken pipe beyond that
};

// Runs it to its end. Past `limit` it gets SIGTERM, two seconds later SIGKILL. Errors: "spawn", "time".
asio::awaitable<Result<Finished>> run(asio::io_context& context, Command command, std::chrono::milliseconds limit);

}  // namespace sbpf::service
