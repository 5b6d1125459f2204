// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/launch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>

#include "tests/attack/lib/net.h"

namespace attack::driver {

namespace {

using Clock = std::chrono::steady_clock;

int milliseconds_until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::max<long>(left, 0));
}

struct Ends {
  Fd ours, theirs;
};

Ends make_input(Command& command) {
  int ends[2];
  switch (command.input) {
    case Stdin::pipe:
      must(pipe2(ends, O_CLOEXEC), "pipe");
      return {Fd(ends[1]), Fd(ends[0])};
    case Stdin::unix_stream:
    case Stdin::unix_dgram:
      must(
          socketpair(AF_UNIX, (command.input == Stdin::unix_stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0, ends),
          "socketpair");
      return {Fd(ends[1]), Fd(ends[0])};
    case Stdin::tcp4:
    case Stdin::file:
      return {Fd(), std::move(command.given_input)};
  }
  return {};
}

}  // namespace

Process::Process(Command command) {
  int output[2];
  must(pipe2(output, O_CLOEXEC), "pipe");
  output_ = Fd(output[0]);
  const Fd output_end(output[1]);
  errors_ = Fd(static_cast<int>(must(memfd_create("stderr", MFD_CLOEXEC), "memfd_create")));
  Ends input = make_input(command);
  input_ = std::move(input.ours);
  pid_ = must(fork(), "fork");
  if (pid_ == 0) start(command, input.theirs.get(), output_end.get());
}

void Process::start(const Command& command, int input, int output) {
  std::signal(SIGPIPE, SIG_DFL);
  if (!command.cgroup.empty()) {
    const int procs = open((command.cgroup + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC);
    if (procs < 0 || write(procs, "0", 1) != 1) _exit(121);
  }
  if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors_.get(), 2) < 0) _exit(122);
  if (command.inheritance >= 0) fcntl(command.inheritance, F_SETFD, 0);
  std::vector<char*> argv;
  for (const std::string& part : command.argv) argv.push_back(const_cast<char*>(part.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(123);
}

Process::~Process() {
  if (!exit_code_) finish(milliseconds(0));
}

std::optional<std::string> Process::line_with(const std::vector<std::string>& words, milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    for (auto end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      for (const std::string& word : words)
        if (line.starts_with(word)) return line;
    }
    pollfd readable = {output_.get(), POLLIN, 0};
    if (poll(&readable, 1, milliseconds_until(deadline)) <= 0) return std::nullopt;
    char buffer[1024];
    const ssize_t got = read(output_.get(), buffer, sizeof(buffer));
    if (got <= 0) return std::nullopt;
    pending_.append(buffer, static_cast<std::size_t>(got));
  }
}

void Process::tell(char byte) {
  // A pipe is no socket, and a dead reader no error: the caller hears of it by the missing answer.
  if (input_ && write(input_.get(), &byte, 1) != 1) input_.reset();
}

void Process::hand_over(const Fd& fd) { send_fd(input_.get(), fd); }

int Process::finish(milliseconds limit) {
  tell('q');
  input_.reset();
  const auto deadline = Clock::now() + limit;
  int status = 0;
  pid_t done = 0;
  while ((done = waitpid(pid_, &status, WNOHANG)) == 0 && Clock::now() < deadline) usleep(1000);
  if (done == 0) {
    killed_ = true;
    kill(pid_, SIGKILL);
    while ((done = waitpid(pid_, &status, 0)) > 0 && WIFSTOPPED(status)) kill(pid_, SIGKILL);
  }
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return *exit_code_;
}

std::string Process::errors() const {
  char buffer[2048];
  const ssize_t got = pread(errors_.get(), buffer, sizeof(buffer), 0);
  return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
}

int run_command(const std::vector<std::string>& argv, std::string* errors) {
  Process process({.argv = argv, .input = Stdin::pipe, .given_input = Fd(), .inheritance = -1, .cgroup = {}});
  const int code = process.finish(std::chrono::minutes(2));
  if (errors) *errors = process.errors();
  return code;
}

}  // namespace attack::driver
