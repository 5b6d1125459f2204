// SPDX-License-Identifier: Apache-2.0
// The relay between two addresses of this machine's loopback: what listens on one is served by what listens on the
// other, as both have the same port.
#include "agent/launch/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <numeric>
#include <string>
#include <thread>

#include "agent/host/socket_end.h"
#include "agent/launch/relay_datagram.h"

namespace sbpf::agent {
namespace {

policy::Address address(const char* text) { return policy::parse_address(text).value(); }

Fd socket_of(bool tcp) { return Fd(::socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC, 0)); }

bool is_connected(const Fd& socket, const SocketEnd& to) {
  sockaddr_storage peer{};
  const socklen_t size = sockaddr_of(to, peer);
  const timeval patience{20, 0};
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&peer), size) == 0;
}

Fd bound(bool tcp, const SocketEnd& at) {
  Fd socket = socket_of(tcp);
  sockaddr_storage local{};
  const socklen_t size = sockaddr_of(at, local);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&local), size) != 0) return {};
  if (tcp && ::listen(socket.get(), 16) != 0) return {};
  return socket;
}

SocketEnd end_of(const Fd& socket) {
  sockaddr_storage local{};
  socklen_t size = sizeof local;
  EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &size), 0);
  return socket_end(local).value_or(SocketEnd{});
}

// 127.0.0.3 stands for the sandbox's side, 127.0.0.2 for the host's. The port is free on both.
class RelayTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    for (int tries = 0; tries < 50 && !inside_; ++tries) {
      host_ = bound(GetParam(), {address("127.0.0.2"), 0});
      host_at_ = end_of(host_);
      inside_ = bound(GetParam(), {address("127.0.0.3"), host_at_.port});
    }
    ASSERT_TRUE(inside_);
    ASSERT_TRUE(GetParam() || tell_destinations(inside_, AF_INET) == 0);
    inside_at_ = {address("127.0.0.3"), host_at_.port};
    int stop[2];
    ASSERT_EQ(::pipe2(stop, O_CLOEXEC), 0);
    stopped_ = Fd(stop[0]);
    stop_ = Fd(stop[1]);
    std::vector<RelaySocket> all;
    all.push_back({{host_at_.address, host_at_.port, GetParam()}, std::move(inside_)});
    relay_ = std::thread(
        [this, all = std::move(all)]() mutable { serve_relay(std::move(all), stopped_, std::chrono::seconds(2)); });
  }
  void TearDown() override {
    stop_.reset();
    if (relay_.joinable()) relay_.join();
  }

  Fd host_, inside_, stop_, stopped_;
  SocketEnd host_at_, inside_at_;
  std::thread relay_;
};

class RelayTcp : public RelayTest {};
class RelayUdp : public RelayTest {};
INSTANTIATE_TEST_SUITE_P(Relay, RelayTcp, testing::Values(true));
INSTANTIATE_TEST_SUITE_P(Relay, RelayUdp, testing::Values(false));

std::string received(const Fd& socket) {
  std::string all;
  std::array<char, 65536> piece{};
  ssize_t n = 0;
  while ((n = ::recv(socket.get(), piece.data(), piece.size(), 0)) > 0)
    all.append(piece.data(), static_cast<std::size_t>(n));
  return n == 0 ? all : "recv: " + std::string(std::strerror(errno));
}

TEST_P(RelayTcp, passes_all_on_both_ways_and_the_end_of_each) {
  std::string sent(3 << 20, 'x');
  std::iota(sent.begin(), sent.end(), '\0');
  const Fd client = socket_of(true);
  ASSERT_TRUE(is_connected(client, inside_at_));
  const Fd server(::accept(host_.get(), nullptr, nullptr));
  ASSERT_TRUE(server);
  std::thread sender([&] {
    EXPECT_EQ(::send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL), static_cast<ssize_t>(sent.size()));
    EXPECT_EQ(::shutdown(client.get(), SHUT_WR), 0);
  });
  EXPECT_EQ(received(server), sent);
  sender.join();
  // The other way goes on after the end of the first.
  EXPECT_EQ(::send(server.get(), "answer", 6, MSG_NOSIGNAL), 6);
  EXPECT_EQ(::shutdown(server.get(), SHUT_WR), 0);
  EXPECT_EQ(received(client), "answer");
}

TEST_P(RelayTcp, resets_a_connection_that_nobody_takes) {
  host_.reset();
  const Fd client = socket_of(true);
  ASSERT_TRUE(is_connected(client, inside_at_));
  EXPECT_EQ(received(client), "recv: Connection reset by peer");
}

TEST_P(RelayTcp, tells_one_side_that_the_other_was_reset) {
  const Fd client = socket_of(true);
  ASSERT_TRUE(is_connected(client, inside_at_));
  Fd server(::accept(host_.get(), nullptr, nullptr));
  // Not while the relay still connects: that would be another reset.
  char byte = 'x';
  ASSERT_EQ(::send(server.get(), &byte, 1, 0), 1);
  ASSERT_EQ(::recv(client.get(), &byte, 1, 0), 1);
  const linger now{1, 0};
  ASSERT_EQ(::setsockopt(server.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
  server.reset();
  EXPECT_EQ(received(client), "recv: Connection reset by peer");
}

TEST_P(RelayTcp, resets_what_is_one_too_many_and_takes_the_next_when_one_has_ended) {
  std::vector<Fd> clients, servers;
  for (int i = 0; i < 400; ++i) {
    clients.push_back(socket_of(true));
    ASSERT_TRUE(is_connected(clients.back(), inside_at_));
    servers.emplace_back(::accept(host_.get(), nullptr, nullptr));
    ASSERT_TRUE(servers.back());
  }
  const Fd extra = socket_of(true);
  ASSERT_TRUE(is_connected(extra, inside_at_));
  EXPECT_EQ(received(extra), "recv: Connection reset by peer");
  clients.front().reset();
  EXPECT_EQ(received(servers.front()), "");
  servers.front().reset();
  for (int tries = 0; tries < 100; ++tries) {
    const Fd next = socket_of(true);
    ASSERT_TRUE(is_connected(next, inside_at_));
    EXPECT_EQ(::send(next.get(), "word", 4, MSG_NOSIGNAL), 4);
    pollfd taken{host_.get(), POLLIN, 0};
    if (::poll(&taken, 1, 100) == 1) return;
  }
  ADD_FAILURE() << "no connection was taken after one had ended";
}

// Of a client that ends with the relay, and whose connection nobody has taken yet.
TEST_P(RelayTcp, passes_on_what_was_sent_before_its_end) {
  const std::string sent(3 << 20, 'x');
  Fd client = socket_of(true);
  ASSERT_TRUE(is_connected(client, inside_at_));
  std::thread sender([&] {
    EXPECT_EQ(::send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL), static_cast<ssize_t>(sent.size()));
    client.reset();
    stop_.reset();
  });
  const Fd server(::accept(host_.get(), nullptr, nullptr));
  EXPECT_EQ(received(server).size(), sent.size());
  sender.join();
  relay_.join();
}

TEST_P(RelayTcp, takes_what_waits_to_be_accepted_at_its_end) {
  constexpr int kWaiting = 10;  // fewer than the host lets wait
  for (int i = 0; i < kWaiting; ++i) {
    Fd client = socket_of(true);
    ASSERT_TRUE(is_connected(client, inside_at_));
    ASSERT_EQ(::send(client.get(), "word", 4, MSG_NOSIGNAL), 4);
  }
  stop_.reset();
  relay_.join();
  for (int i = 0; i < kWaiting; ++i) EXPECT_EQ(received(Fd(::accept(host_.get(), nullptr, nullptr))), "word");
}

TEST_P(RelayTcp, resets_what_it_could_not_pass_on) {
  const std::string sent(16 << 20, 'x');
  Fd client = socket_of(true);
  ASSERT_TRUE(is_connected(client, inside_at_));
  const Fd server(::accept(host_.get(), nullptr, nullptr));
  (void)::fcntl(client.get(), F_SETFL, O_NONBLOCK);
  for (ssize_t n = 1; n > 0;) n = ::send(client.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
  stop_.reset();  // its patience ends before the server reads
  relay_.join();
  EXPECT_TRUE(received(server).ends_with("reset by peer"));
}

TEST_P(RelayTcp, does_not_connect_to_itself) {
  host_.reset();
  for (int i = 0; i < 2000; ++i) {
    const Fd client = socket_of(true);
    ASSERT_TRUE(is_connected(client, inside_at_));
    ASSERT_EQ(received(client), "recv: Connection reset by peer");
  }
}

TEST_P(RelayUdp, answers_each_client_with_what_the_host_answers_it) {
  std::array<Fd, 2> clients{socket_of(false), socket_of(false)};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const std::string word = "word " + std::to_string(i);
    ASSERT_TRUE(is_connected(clients[i], inside_at_));
    ASSERT_EQ(::send(clients[i].get(), word.data(), word.size(), 0), static_cast<ssize_t>(word.size()));
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    std::array<char, 100> word{};
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const ssize_t n = ::recvfrom(host_.get(), word.data(), word.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
    ASSERT_GT(n, 0);
    ASSERT_EQ(
        ::sendto(host_.get(), word.data(), static_cast<std::size_t>(n), 0, reinterpret_cast<sockaddr*>(&from), size),
        n);
  }
  for (std::size_t i = 0; i < clients.size(); ++i) {
    std::array<char, 100> word{};
    ASSERT_GT(::recv(clients[i].get(), word.data(), word.size(), 0), 0);
    EXPECT_EQ(std::string(word.data()), "word " + std::to_string(i));
  }
}

TEST_P(RelayUdp, goes_on_after_the_host_had_nobody_there) {
  const std::uint16_t port = host_at_.port;
  host_.reset();
  const Fd client = socket_of(false);
  ASSERT_TRUE(is_connected(client, inside_at_));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(::send(client.get(), "lost", 4, 0), 4);
  host_ = bound(false, {address("127.0.0.2"), port});
  ASSERT_TRUE(host_);
  const timeval patience{1, 0};
  (void)::setsockopt(host_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 100> word{};
  for (int tries = 0; tries < 20; ++tries) {
    ASSERT_EQ(::send(client.get(), "word", 4, 0), 4);
    if (::recv(host_.get(), word.data(), word.size(), 0) > 0) return;
  }
  ADD_FAILURE() << "nothing arrived";
}

}  // namespace
}  // namespace sbpf::agent
