// SPDX-License-Identifier: Apache-2.0
// Lines for a reader who does not read: nobody waits, and what is missing is counted.
#include "cli/outlet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"

namespace sbpf::cli {
namespace {

using Clock = std::chrono::steady_clock;

std::array<Fd, 2> small_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
  return {Fd(ends[0]), Fd(ends[1])};
}

std::array<Fd, 2> small_socket() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const int little = 4096;
  ::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
  return {Fd(ends[0]), Fd(ends[1])};
}

enum class Kind { pipe, socket };

// To the one a process of its own writes, to the other the caller.
class Outlets : public testing::TestWithParam<Kind> {
 protected:
  Outlets() { ::signal(SIGPIPE, SIG_IGN); }

  // All that is there now.
  std::string taken() {
    std::string text;
    std::array<char, 65536> buffer{};
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = ::read(reader_.get(), buffer.data(), buffer.size())) > 0;)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    return text;
  }
  // What comes within that time, or until it ends so.
  std::string taken_until(const std::string& last, std::chrono::milliseconds time = std::chrono::seconds(20)) {
    std::string text = taken();
    for (const auto end = Clock::now() + time; !text.ends_with(last) && Clock::now() < end; text += taken()) {
      EXPECT_TRUE(outlet_.flush());
      ::usleep(1000);
    }
    return text;
  }

  std::array<Fd, 2> ends_ = GetParam() == Kind::pipe ? small_pipe() : small_socket();
  Fd& reader_ = ends_[0];
  Outlet outlet_{ends_[1].get(), [](std::uint64_t n) { return "missing " + std::to_string(n); }};
};

INSTANTIATE_TEST_SUITE_P(of, Outlets, testing::Values(Kind::pipe, Kind::socket),
                         [](const auto& kind) { return kind.param == Kind::pipe ? "a_pipe" : "a_socket"; });

TEST_P(Outlets, writes_what_there_is_room_for) {
  EXPECT_TRUE(outlet_.line("one"));
  EXPECT_TRUE(outlet_.settle(std::chrono::seconds(20)));
  EXPECT_EQ(taken(), "one\n");
  EXPECT_TRUE(outlet_.line("two"));
  EXPECT_EQ(taken_until("two\n"), "two\n");
}

TEST_P(Outlets, waits_for_nobody_and_loses_nothing_that_fits) {
  const auto begin = Clock::now();
  std::string wanted;
  for (int i = 0; i < 1000; i++) {
    const std::string line = "line " + std::to_string(i) + std::string(90, '.');
    wanted += line + "\n";
    EXPECT_TRUE(outlet_.line(line));
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(taken_until("line 999" + std::string(90, '.') + "\n") == wanted);
}

TEST_P(Outlets, loses_nothing_at_the_end) {
  std::string wanted, text;
  for (int i = 0; i < 1000; i++) {
    const std::string line = "line " + std::to_string(i) + std::string(90, '.');
    wanted += line + "\n";
    EXPECT_TRUE(outlet_.line(line));
  }
  std::thread reader([&] {
    for (const auto end = Clock::now() + std::chrono::seconds(20); text.size() < wanted.size() && Clock::now() < end;
         text += taken())
      ::usleep(1000);
  });
  EXPECT_TRUE(outlet_.finish(std::chrono::seconds(20)));
  reader.join();
  EXPECT_TRUE(text == wanted) << text.size() << " of " << wanted.size();
}

TEST_P(Outlets, counts_what_does_not_fit) {
  const std::string line(1023, 'x');
  for (int i = 0; i < 400; i++) EXPECT_TRUE(outlet_.line(line));
  EXPECT_TRUE(outlet_.line("the end", Outlet::Weight::important));
  const std::string text = taken_until("the end\n");
  ASSERT_GT(text.size(), 1000u);
  std::istringstream lines(text);
  std::size_t kept = 0, missing = 0;
  std::vector<std::string> last;
  // The lost lines are told wherever there is room again: more than once where the reader was quick.
  for (std::string read; std::getline(lines, read);) {
    if (read == line)
      kept++;
    else if (read.starts_with("missing "))
      missing += std::stoul(read.substr(8));
    else
      last.push_back(read);
  }
  EXPECT_GE(kept, 250u);
  EXPECT_GE(missing, 1u);
  EXPECT_EQ(kept + missing, 400u);
  EXPECT_EQ(last, std::vector<std::string>{"the end"});
}

TEST_P(Outlets, important_lines_have_a_bound_too) {
  const std::string line(1023, 'x');
  for (int i = 0; i < 1000; i++) EXPECT_TRUE(outlet_.line(line, Outlet::Weight::important));
  EXPECT_LE(taken_until("missing", std::chrono::seconds(3)).size(), 520u * 1024);
}

TEST(OutletsElsewhere, another_writer_takes_the_room) {
  // A TCP socket with this little room says that there is some, and then waits for more in the middle of a line.
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      writer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int least = 1, little = 4000;
  ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
  ::setsockopt(writer.get(), SOL_SOCKET, SO_SNDBUF, &little, sizeof little);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const address = reinterpret_cast<sockaddr*>(&place);
  ASSERT_EQ(::bind(listener.get(), address, size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), address, &size), 0);
  ASSERT_EQ(::connect(writer.get(), address, size), 0);
  const Fd reader(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  Outlet outlet(writer.get(), [](std::uint64_t n) { return std::to_string(n); });
  const auto begin = Clock::now();
  for (int i = 0; i < 50; i++) EXPECT_TRUE(outlet.line(std::string(4000, 'x')));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(20));
}

// Another process has the pipe's lock, as long as its splice() waits for something to read.
TEST(OutletsElsewhere, a_held_lock_is_waited_for_by_the_writer_alone) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<Fd, 2> pipe = small_pipe(), from = small_socket();
  std::thread holder([&] { (void)::splice(from[0].get(), nullptr, pipe[1].get(), nullptr, 4096, 0); });
  ::usleep(200'000);
  Outlet outlet(pipe[1].get(), [](std::uint64_t n) { return std::to_string(n); });
  const auto begin = Clock::now();
  for (int i = 0; i < 10; i++) EXPECT_TRUE(outlet.line("line"));
  EXPECT_TRUE(outlet.settle(std::chrono::milliseconds(300)));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  int there = 0;
  pollfd ready{pipe[0].get(), POLLIN, 0};
  EXPECT_EQ(::poll(&ready, 1, 0), 0);
  from[1].reset();
  holder.join();
  EXPECT_TRUE(outlet.finish(std::chrono::seconds(20)));
  EXPECT_EQ(::ioctl(pipe[0].get(), FIONREAD, &there), 0);
  EXPECT_EQ(there, 50);
}

TEST_P(Outlets, a_reader_that_went_away_is_told_once) {
  reader_.reset();
  Result<void> told;
  for (int i = 0; i < 2000 && told; i++) {
    told = outlet_.line("one");
    ::usleep(1000);
  }
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code.text(), "write_failed");
  EXPECT_EQ(told.error().sys_errno, EPIPE);
  EXPECT_FALSE(outlet_.is_open());
  EXPECT_TRUE(outlet_.line("two"));
  EXPECT_TRUE(outlet_.flush());
  EXPECT_TRUE(outlet_.finish(std::chrono::seconds(20)));
}

TEST_P(Outlets, the_end_is_patient_and_no_more_than_that) {
  for (int i = 0; i < 50; i++) EXPECT_TRUE(outlet_.line(std::string(1000, 'x')));
  const auto begin = Clock::now();
  EXPECT_TRUE(outlet_.finish(std::chrono::milliseconds(200)));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(150));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

// A program that has the file, too, may fill the disk, and make room again.
TEST(OutletsElsewhere, what_failed_is_told_and_tried_again) {
  const Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC)), file(::memfd_create("file", MFD_CLOEXEC));
  const Fd target(::fcntl(full.get(), F_DUPFD_CLOEXEC, 100));
  Outlet outlet(target.get(), [](std::uint64_t n) { return std::to_string(n); });
  const auto told = outlet.line("one");
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().sys_errno, ENOSPC);
  EXPECT_TRUE(outlet.line("two"));
  ASSERT_EQ(::dup2(file.get(), target.get()), target.get());
  EXPECT_TRUE(outlet.line("three"));
  std::array<char, 64> text{};
  const ssize_t n = ::pread(file.get(), text.data(), text.size(), 0);
  ASSERT_GT(n, 0);
  EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(n)), "one\ntwo\nthree\n");
}

// Who has it, too, can keep it locked by a long write.
TEST(OutletsElsewhere, a_file_has_a_writer_and_a_device_none) {
  const Fd file(::memfd_create("file", MFD_CLOEXEC)), device(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const auto count = [](std::uint64_t n) { return std::to_string(n); };
  {
    const Outlet outlet(device.get(), count);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  }
  {
    const Outlet outlet(file.get(), count);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

TEST(OutletsElsewhere, direct_writes_are_switched_off) {
  std::string path = testing::TempDir() + "outlet-XXXXXX";
  const Fd file(::mkstemp(path.data()));
  ASSERT_TRUE(file);
  (void)::fcntl(file.get(), F_SETFL, O_DIRECT);  // where the file system has it
  Outlet outlet(file.get(), [](std::uint64_t n) { return std::to_string(n); });
  (void)outlet.line("one");
  (void)outlet.finish(std::chrono::seconds(20));
  struct stat info {};
  EXPECT_EQ(::fstat(file.get(), &info), 0);
  EXPECT_EQ(info.st_size, 4);
  ::unlink(path.c_str());
}

TEST(OutletsElsewhere, no_descriptor_takes_nothing) {
  Outlet none(-1, [](std::uint64_t) { return ""; });
  EXPECT_TRUE(none.line("one"));
  EXPECT_TRUE(none.finish(std::chrono::milliseconds(10000)));
}

}  // namespace
}  // namespace sbpf::cli
