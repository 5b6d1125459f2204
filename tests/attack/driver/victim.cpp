// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/victim.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tests/attack/lib/kernel.h"

namespace attack::driver {

namespace {

// No victim: the attacker's claim is all there is.
class Nobody : public VictimState {
 public:
  Seen look(const Outcome& outcome, milliseconds) override { return outcome.error == 0 ? Seen::harm : Seen::nothing; }
};

Seen more(Seen a, Seen b) { return a > b ? a : b; }

}  // namespace

ExtraAddress::ExtraAddress(const char* address) : address_(address) {
  change_lo_address(open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), true, address_);
}

ExtraAddress::~ExtraAddress() {
  try {
    change_lo_address(open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), false, address_);
  } catch (const Failure&) {  // the address is gone already
  }
}

void non_blocking(const Fd& fd) { must(fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK), "fcntl"); }

std::uint16_t port_of(const Fd& fd) {
  Address address;
  address.length = sizeof(address.storage);
  must(getsockname(fd.get(), address.raw(), &address.length), "getsockname");
  // sin_port and sin6_port are the same bytes.
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address.storage)->sin_port);
}

std::uint16_t free_port() {
  const Fd tcp = open_socket(AF_INET, SOCK_STREAM);
  bind_to(tcp, v4("0.0.0.0", 0));
  return port_of(tcp);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) throw std::runtime_error("cannot write " + path);
}

Seen Receiver::judge(const std::string& data) const {
  return data.find(token_) == std::string::npos ? Seen::something : Seen::harm;
}

void Receiver::drain(Source& source) {
  char buffer[4096];
  for (;;) {
    const ssize_t got = recv(source.fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got <= 0) break;
    source.data.append(buffer, static_cast<std::size_t>(got));
    seen_ = more(seen_, judge(source.data));
    if (source.data.size() > 65536) source.data.erase(0, 32768);
  }
}

void Receiver::drain() {
  while (listener_) {
    Fd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) break;
    const int inline_urgent = 1;
    setsockopt(peer.get(), SOL_SOCKET, SO_OOBINLINE, &inline_urgent, sizeof(inline_urgent));
    seen_ = more(seen_, Seen::something);
    receivers_.push_back({std::move(peer), {}});
  }
  for (Source& source : receivers_) drain(source);
}

void Receiver::settle() {
  drain();
  seen_ = Seen::nothing;
}

Seen Receiver::look(const Outcome&, milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    drain();
    if (seen_ == Seen::harm || std::chrono::steady_clock::now() >= deadline) return seen_;
    poll(nullptr, 0, 2);
  }
}

Seen Thing::look(const Outcome& outcome, milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!harmed(outcome)) {
    if (std::chrono::steady_clock::now() >= deadline) return Seen::nothing;
    poll(nullptr, 0, 2);
  }
  return Seen::harm;
}

std::unique_ptr<VictimState> make_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::claim) return std::make_unique<Nobody>();
  for (const auto make :
       {make_inet_victim, make_local_victim, make_client_victim, make_bystander_victim, make_kernel_victim,
        make_control_victim, make_machine_victim, make_attacker_victim, make_file_victim})
    if (auto victim = make(kind, scene)) return victim;
  throw std::logic_error("a victim without a maker");
}

}  // namespace attack::driver
