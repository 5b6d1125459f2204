// SPDX-License-Identifier: Apache-2.0
// What a resolver's test asks and is asked: messages, sockets on loopback, and a server that misbehaves on demand.
#pragma once

#include "agent/dns/resolver.h"
#include "tests/unit/dns_packet.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <ldns/ldns.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace sbpf::agent::dns {

inline Packet parse(const Bytes& bytes) {
  ldns_pkt* packet = nullptr;
  if (ldns_wire2pkt(&packet, bytes.data(), bytes.size()) != LDNS_STATUS_OK) return nullptr;
  return Packet(packet);
}

inline sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

// Both sockets on one port of loopback, TCP listening.
struct Listeners {
  Fd udp, tcp;
  std::uint16_t port = 0;
  Listeners() {
    for (int tries = 0; tries < 20 && port == 0; ++tries) {
      udp = Fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      tcp = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address = loopback(0);
      socklen_t size = sizeof address;
      EXPECT_EQ(::bind(udp.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
      ::getsockname(udp.get(), reinterpret_cast<sockaddr*>(&address), &size);
      if (::bind(tcp.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 && ::listen(tcp.get(), 8) == 0)
        port = ntohs(address.sin_port);
    }
    EXPECT_NE(port, 0);
  }
};

inline Fd connected(int type, std::uint16_t port) {
  Fd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in address = loopback(port);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

// Empty after so many milliseconds, or at the end of a stream.
inline Bytes read_some(const Fd& fd, int ms = 5000) {
  pollfd waiting{fd.get(), POLLIN, 0};
  if (::poll(&waiting, 1, ms) != 1) return {};
  Bytes bytes(70000);
  const ssize_t n = ::read(fd.get(), bytes.data(), bytes.size());
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

inline Bytes read_message(const Fd& stream) {
  Bytes all;
  while (all.size() < 2 || all.size() < 2u + (all[0] << 8 | all[1])) {
    const Bytes more = read_some(stream);
    if (more.empty()) return {};
    all.insert(all.end(), more.begin(), more.end());
  }
  return {all.begin() + 2, all.end()};
}

inline void write_message(const Fd& stream, const Bytes& message) {
  Bytes framed{static_cast<std::uint8_t>(message.size() >> 8), static_cast<std::uint8_t>(message.size() & 0xff)};
  framed.insert(framed.end(), message.begin(), message.end());
  EXPECT_EQ(::write(stream.get(), framed.data(), framed.size()), static_cast<ssize_t>(framed.size()));
}

// Answers from a list of records by name; counts what it was asked. Its ways to misbehave are set before it is asked.
class Upstream4Test {
 public:
  Upstream4Test() : thread_([this] { serve(); }) {}
  ~Upstream4Test() {
    done_ = true;
    thread_.join();
  }
  std::uint16_t port() const { return listeners_.port; }
  std::map<std::string, std::vector<std::string>> records;  // by the question's name
  bool silent = false, wrong_id_first = false, garbage_first = false;
  std::function<void()> when_asked = [] {};
  std::atomic<int> asked{0}, asked_tcp{0};
  Bytes last() const {
    std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  Bytes answer(const Bytes& query, bool tcp) {
    const Packet asked_packet = parse(query);
    if (!asked_packet) return {};
    const ldns_rr* question = ldns_rr_list_rr(ldns_pkt_question(asked_packet.get()), 0);
    char* text = ldns_rdf2str(ldns_rr_owner(question));
    std::string name(text);
    std::free(text);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    Packet reply(ldns_pkt_new());
    ldns_pkt_set_id(reply.get(), ldns_pkt_id(asked_packet.get()));
    ldns_pkt_set_qr(reply.get(), true);
    ldns_pkt_push_rr(reply.get(), LDNS_SECTION_QUESTION, ldns_rr_clone(question));
    for (const std::string& line : records[name]) {
      ldns_rr* record = nullptr;
      EXPECT_EQ(ldns_rr_new_frm_str(&record, line.c_str(), 0, nullptr, nullptr), LDNS_STATUS_OK) << line;
      ldns_pkt_push_rr(reply.get(), LDNS_SECTION_ANSWER, record);
    }
    Bytes bytes = wire_of(*reply);
    if (!tcp && bytes.size() > kLargestUdp) {
      ldns_pkt_set_tc(reply.get(), true);
      ldns_rr_list_deep_free(ldns_pkt_answer(reply.get()));
      ldns_pkt_set_answer(reply.get(), ldns_rr_list_new());
      ldns_pkt_set_ancount(reply.get(), 0);
      bytes = wire_of(*reply);
    }
    return bytes;
  }
  void serve() {
    while (!done_) {
      pollfd waiting[2] = {{listeners_.udp.get(), POLLIN, 0}, {listeners_.tcp.get(), POLLIN, 0}};
      if (::poll(waiting, 2, 20) <= 0) continue;
      if (waiting[0].revents != 0) {
        Bytes query(4096);
        sockaddr_in from{};
        socklen_t size = sizeof from;
        const ssize_t n =
            ::recvfrom(listeners_.udp.get(), query.data(), query.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
        query.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        {
          std::lock_guard lock(mutex_);
          last_ = query;
        }
        ++asked;
        when_asked();
        if (silent) continue;
        const auto send = [&](const Bytes& bytes) {
          (void)::sendto(listeners_.udp.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
        };
        Bytes reply = answer(query, false);
        if (wrong_id_first) {
          reply[0] ^= 1;
          send(reply);
          reply[0] ^= 1;
        }
        if (garbage_first) send(Bytes(3, 0xff));
        send(reply);
      }
      if (waiting[1].revents != 0) {
        Fd client(::accept4(listeners_.tcp.get(), nullptr, nullptr, SOCK_CLOEXEC));
        ++asked_tcp;
        const Bytes query = read_message(client);
        if (!query.empty()) write_message(client, answer(query, true));
      }
    }
  }

  Listeners listeners_;
  mutable std::mutex mutex_;
  Bytes last_;
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace sbpf::agent::dns
