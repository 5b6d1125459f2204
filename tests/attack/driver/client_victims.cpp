// SPDX-License-Identifier: Apache-2.0
// Clients of the outside, that an attacker must not be able to serve.
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

#include "tests/attack/driver/victim.h"

namespace attack::driver {

namespace {

class Client : public VictimState {
 public:
  Client(const Scene& scene, int family, int type, int protocol)
      : token_(scene.token), family_(family), type_(type), protocol_(protocol), port_(free_port()) {}
  Arguments arguments() const override { return {{"port", std::to_string(port_)}}; }

  Seen look(const Outcome& outcome, milliseconds patience) override {
    Address to = family_ == AF_INET6 ? v6("::1", port_) : v4("127.0.0.1", port_);
    if (const auto comma = outcome.served.find(','); comma != std::string::npos)
      to = place(outcome.served.substr(0, comma), outcome.served.substr(comma + 1), to);
    return look(to, patience);
  }

 protected:
  Seen look(const Address& to, milliseconds patience) const {
    const Fd fd(socket(family_, type_ | SOCK_CLOEXEC, protocol_));
    if (!fd || connect(fd.get(), to.raw(), to.length) != 0) return Seen::nothing;
    return ask(fd, patience);
  }
  Seen ask(const Fd& fd, milliseconds patience) const {
    const bool connected = type_ != SOCK_DGRAM;
    if (!connected) send(fd.get(), "?", 1, 0);
    pollfd answer = {fd.get(), POLLIN, 0};
    poll(&answer, 1, static_cast<int>(patience.count()));
    char buffer[256];
    const ssize_t got = recv(fd.get(), buffer, sizeof(buffer), MSG_DONTWAIT);
    if (got > 0 && std::string(buffer, static_cast<std::size_t>(got)).find(token_) != std::string::npos)
      return Seen::harm;
    return connected || got > 0 ? Seen::something : Seen::nothing;
  }
  std::uint16_t port() const { return port_; }

 private:
  // Where the attacker says that it serves; an unspecified address stands for loopback.
  static Address place(const std::string& host, const std::string& port, const Address& otherwise) {
    const auto number = static_cast<std::uint16_t>(std::stoul(port));
    if (host == "0.0.0.0" || host == "::" || host.starts_with("::ffff:")) return v4("127.0.0.1", number);
    if (otherwise.storage.ss_family == AF_INET6) return v6(host.c_str(), number);
    return v4(host.c_str(), number);
  }

  std::string token_;
  int family_, type_, protocol_;
  std::uint16_t port_;
};

// Comes by an address of the machine that is not loopback.
class FarClient : ExtraAddress, public Client {
 public:
  FarClient(const Scene& scene, int type) : ExtraAddress(kFar4), Client(scene, AF_INET, type, 0) {}
  Seen look(const Outcome&, milliseconds patience) override { return Client::look(v4(kFar4, port()), patience); }
};

// Connects before the attacker joins its sandbox and waits for the answer.
class EarlyClient : public Client {
 public:
  EarlyClient(const Scene& scene, int family)
      : Client(scene, family, SOCK_STREAM, 0), family_(family), name_("sbpf-attack-" + scene.token) {}
  Arguments arguments() const override {
    Arguments all = Client::arguments();
    all.insert_or_assign("name", name_);
    return all;
  }
  void before_attack() override {
    fd_ = open_socket(family_, SOCK_STREAM);
    connect_to(fd_, family_ == AF_UNIX ? unix_abstract(name_) : v4("127.0.0.1", port()));
  }
  Seen look(const Outcome&, milliseconds patience) override {
    // The connection is the driver's own doing; only an answer counts.
    return ask(fd_, patience) == Seen::harm ? Seen::harm : Seen::nothing;
  }

 private:
  int family_;
  std::string name_;
  Fd fd_;
};

// There is a server on the port, of the outside: the attacker must get none of its clients.
class SharedPortClient : public Client {
 public:
  SharedPortClient(const Scene& scene, int type) : Client(scene, AF_INET, type, 0) {
    const bool connected = type == SOCK_STREAM;
    server_ = open_socket(AF_INET, type);
    set_option(server_, SOL_SOCKET, connected ? SO_REUSEPORT : SO_REUSEADDR, 1);
    bind_to(server_, v4(connected ? "127.0.0.1" : "0.0.0.0", port()));
    if (connected) must(listen(server_.get(), 128), "listen");
  }
  Seen look(const Outcome& outcome, milliseconds patience) override {
    for (int i = 0; i < 40; i++)
      if (Client::look(outcome, std::min(patience, milliseconds(50))) == Seen::harm) return Seen::harm;
    return Seen::nothing;
  }

 private:
  Fd server_;
};

}  // namespace

std::unique_ptr<VictimState> make_client_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::client_tcp4) return std::make_unique<Client>(scene, AF_INET, SOCK_STREAM, 0);
  if (kind == Victim::client_tcp6) return std::make_unique<Client>(scene, AF_INET6, SOCK_STREAM, 0);
  if (kind == Victim::client_udp4) return std::make_unique<Client>(scene, AF_INET, SOCK_DGRAM, 0);
  if (kind == Victim::client_sctp4) return std::make_unique<Client>(scene, AF_INET, SOCK_STREAM, IPPROTO_SCTP);
  if (kind == Victim::far_client_tcp4) return std::make_unique<FarClient>(scene, SOCK_STREAM);
  if (kind == Victim::far_client_udp4) return std::make_unique<FarClient>(scene, SOCK_DGRAM);
  if (kind == Victim::client_tcp4_shared) return std::make_unique<SharedPortClient>(scene, SOCK_STREAM);
  if (kind == Victim::client_udp4_shared) return std::make_unique<SharedPortClient>(scene, SOCK_DGRAM);
  if (kind == Victim::early_client_tcp4) return std::make_unique<EarlyClient>(scene, AF_INET);
  if (kind == Victim::early_client_unix) return std::make_unique<EarlyClient>(scene, AF_UNIX);
  return nullptr;
}

}  // namespace attack::driver
