// SPDX-License-Identifier: Apache-2.0
// Lines for a reader who does not read: nobody waits, and what is missing is counted.
#include "cli/outlet.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/fd.h"

namespace sbpf::cli {
namespace {

using Clock = std::chrono::steady_clock;

class Outlets : public testing::Test {
 protected:
  Outlets() { ::signal(SIGPIPE, SIG_IGN); }

  static std::array<Fd, 2> small_pipe() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    ::fcntl(ends[1], F_SETPIPE_SZ, 4096);
    return {Fd(ends[0]), Fd(ends[1])};
  }

  // All that is in the pipe now.
  std::string taken() {
    std::string text;
    std::array<char, 65536> buffer{};
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = ::read(reader_.get(), buffer.data(), buffer.size())) > 0;) text.append(buffer.data(), static_cast<std::size_t>(n));
    return text;
  }
  std::string all_taken() {
    std::string text = taken();
    for (std::string more; outlet_.flush() && !(more = taken()).empty();) text += more;
    return text;
  }

  std::array<Fd, 2> pipe_ = small_pipe();
  Fd& reader_ = pipe_[0];
  Outlet outlet_{pipe_[1].get(), [](std::uint64_t n) { return "missing " + std::to_string(n); }};
};

TEST_F(Outlets, writes_at_once_where_there_is_room) {
  EXPECT_TRUE(outlet_.line("one"));
  EXPECT_EQ(taken(), "one\n");
  EXPECT_TRUE(outlet_.line("two"));
  EXPECT_EQ(taken(), "two\n");
}

TEST_F(Outlets, waits_for_nobody_and_loses_nothing_that_fits) {
  const auto begin = Clock::now();
  std::string wanted;
  for (int i = 0; i < 1000; i++) {
    const std::string line = "line " + std::to_string(i) + std::string(90, '.');
    wanted += line + "\n";
    EXPECT_TRUE(outlet_.line(line));
  }
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(all_taken() == wanted);
}

TEST_F(Outlets, counts_what_does_not_fit) {
  const std::string line(1023, 'x');
  for (int i = 0; i < 400; i++) EXPECT_TRUE(outlet_.line(line));
  EXPECT_TRUE(outlet_.line("the end", Outlet::Weight::important));
  const std::string text = all_taken();
  ASSERT_GT(text.size(), 1000u);
  const std::size_t kept = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) - 2;
  ASSERT_GE(kept, 250u);
  EXPECT_LT(kept, 400u);
  EXPECT_TRUE(text.ends_with("missing " + std::to_string(400 - kept) + "\nthe end\n")) << text.substr(text.size() - 40);
}

TEST_F(Outlets, important_lines_have_a_bound_too) {
  const std::string line(1023, 'x');
  for (int i = 0; i < 1000; i++) EXPECT_TRUE(outlet_.line(line, Outlet::Weight::important));
  EXPECT_LE(all_taken().size(), 520u * 1024);
}

TEST_F(Outlets, another_writer_takes_the_room) {
  // A TCP socket with this little room says that there is some, and then waits for more in the middle of a line.
  const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), writer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
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

TEST_F(Outlets, a_reader_that_went_away_is_told_once) {
  reader_.reset();
  const auto first = outlet_.line("one");
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, "write_failed");
  EXPECT_TRUE(outlet_.line("two"));
  EXPECT_TRUE(outlet_.flush());
}

TEST_F(Outlets, the_end_is_patient_and_no_more_than_that) {
  for (int i = 0; i < 10; i++) EXPECT_TRUE(outlet_.line(std::string(1000, 'x')));
  const auto begin = Clock::now();
  outlet_.finish(std::chrono::milliseconds(200));
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(150));
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(5));
}

TEST_F(Outlets, no_descriptor_takes_nothing) {
  Outlet none(-1, [](std::uint64_t) { return ""; });
  EXPECT_TRUE(none.line("one"));
  none.finish(std::chrono::milliseconds(10000));
}

}  // namespace
}  // namespace sbpf::cli
