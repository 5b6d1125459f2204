// SPDX-License-Identifier: Apache-2.0
#include "service/child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio.hpp>
#include <csignal>
#include <cstring>

#include "base/signals.h"

namespace sbpf::service {
namespace {

constexpr std::size_t kLongestLine = 1 << 20, kLargestOutput = 16 << 20;
constexpr auto kMercy = std::chrono::seconds(2);

struct Pipe {
  Fd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("spawn", SystemError{errno}, "cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

// Between fork and exec, with all signals blocked; only calls that are safe there.
[[noreturn]] void become(const Command& command, char* const* arguments, char* const* environment,
                         std::array<int, 3> streams, pid_t parent) {
  for (int i = 0; i < 3; i++)
    if (::dup2(streams[static_cast<std::size_t>(i)], i) < 0) ::_exit(125);
  // Asio's sockets are inherited otherwise: a connection would not end with the service.
  if (::syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) != 0) ::_exit(125);
  // Out of the way first: one may have the other's number.
  const int policy = ::fcntl(command.policy_fd, F_DUPFD_CLOEXEC, 10),
            process = ::fcntl(command.process_fd, F_DUPFD_CLOEXEC, 10);
  if (command.policy_fd >= 0 && ::dup2(policy, 3) < 0) ::_exit(125);
  if (command.process_fd >= 0 && ::dup2(process, 4) < 0) ::_exit(125);
  if (command.ends_with_us && (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || ::getppid() != parent)) ::_exit(125);
  if (command.ordinary) (void)::setpriority(PRIO_PROCESS, 0, 0);
  for (int number : {SIGPIPE, SIGIO, SIGHUP, SIGTERM, SIGINT}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

// What a pipe holds until it ends. It is a coroutine of its own, so the text is shared with who waits.
asio::awaitable<void> collect(asio::posix::stream_descriptor& from, std::string& text) {
  std::array<char, 16384> part;
  for (;;) {
    boost::system::error_code error;
    const std::size_t n =
        co_await from.async_read_some(asio::buffer(part), asio::redirect_error(asio::use_awaitable, error));
    if (error || text.size() + n > kLargestOutput) break;
    text.append(part.data(), n);
  }
  boost::system::error_code ignored;
  from.close(ignored);
}

}  // namespace

Result<Child> Child::start(asio::io_context& context, const Command& command) {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) return fail("spawn", "cannot make pipes", "raise LimitNOFILE= of the service", EMFILE);
  std::vector<char*> arguments;
  for (const std::string& argument : command.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  // Nothing of the service's own environment is the program's business.
  static const char* const kEnvironment[] = {"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", nullptr};
  const pid_t self = ::getpid();
  Child child(context);
  // Until exec the child would run the service's own handlers, which write into a pipe that both have: who signals the
  // child of a client that hangs up early would end the service.
  const SignalsBlocked blocked;
  child.pid_ = ::fork();
  if (child.pid_ == 0)
    become(command, arguments.data(), const_cast<char* const*>(kEnvironment),
           {in->read.get(), out->write.get(), err->write.get()}, self);
  if (child.pid_ < 0)
    return fail("spawn", SystemError{errno, "raise TasksMax= of the service"}, "cannot start a process");
  const int ended = static_cast<int>(::syscall(SYS_pidfd_open, child.pid_, 0));
  if (ended < 0) {
    const int number = errno;
    ::kill(child.pid_, SIGKILL);  // ours and not waited for: nobody else has its number
    ::waitpid(child.pid_, nullptr, 0);
    child.pid_ = -1;
    return fail("spawn", SystemError{number}, "cannot watch a process");
  }
  ::fcntl(ended, F_SETFD, FD_CLOEXEC);
  child.ended_.assign(ended);
  child.in_ = std::move(in->write);
  child.out_.assign(out->read.release());
  child.err_.assign(err->read.release());
  return child;
}

Child::~Child() {
  if (pid_ <= 0 || !ended_.is_open()) return;  // moved from, or waited for
  signal(SIGKILL);
  (void)wait();
}

void Child::signal(int number) {
  if (pid_ > 0 && ended_.is_open()) (void)::syscall(SYS_pidfd_send_signal, ended_.native_handle(), number, nullptr, 0);
}

int Child::wait() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  pid_ = -1;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

asio::awaitable<void> each_line(asio::posix::stream_descriptor& from, std::function<bool(std::string_view)> take) {
  std::string buffer;
  for (;;) {
    boost::system::error_code error;
    const std::size_t n = co_await asio::async_read_until(from, asio::dynamic_buffer(buffer, kLongestLine), '\n',
                                                          asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    if (!take(std::string_view(buffer).substr(0, n - 1))) co_return;
    buffer.erase(0, n);
  }
}

asio::awaitable<Result<Finished>> run(asio::io_context& context, Command command, std::chrono::milliseconds limit) {
  auto started = Child::start(context, command);
  if (!started) co_return tl::unexpected<Error>(started.error());
  struct Running {
    Child child;
    Finished finished;
    asio::steady_timer timer;
    bool late = false;
  };
  const auto state = std::make_shared<Running>(Running{std::move(*started), {}, asio::steady_timer(context), false});
  state->child.close_stdin();
  const auto keep = [state](std::exception_ptr) {};
  asio::co_spawn(context, collect(state->child.err(), state->finished.err), keep);
  asio::co_spawn(
      context,
      [state, limit]() -> asio::awaitable<void> {
        boost::system::error_code error;
        state->timer.expires_after(limit);
        co_await state->timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return;
        state->late = true;
        state->child.signal(SIGTERM);
        state->timer.expires_after(kMercy);
        co_await state->timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (!error) state->child.signal(SIGKILL);
      },
      keep);
  co_await collect(state->child.out(), state->finished.out);
  boost::system::error_code error;
  co_await state->child.ended().async_wait(asio::posix::stream_descriptor::wait_read,
                                           asio::redirect_error(asio::use_awaitable, error));
  state->timer.cancel();
  state->finished.exit_code = state->child.wait();
  // What it said last may still be in the pipe. Its children, if it left any, may keep the stream open for longer than
  // that.
  for (int i = 0; i < 100 && state->child.err().is_open(); i++) co_await asio::post(context, asio::use_awaitable);
  state->child.err().close(error);
  if (state->late)
    co_return fail("time", fmt::format("{} took longer than allowed", command.arguments.at(1)),
                   "raise limits.request_seconds of sbpfd.yaml");
  co_return std::move(state->finished);
}

}  // namespace sbpf::service
