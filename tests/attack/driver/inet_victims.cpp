// SPDX-License-Identifier: Apache-2.0
// Servers of this machine, and sniffers where nobody listens.
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/vm_sockets.h>
#include <net/if.h>

#include <cstdio>
#include <optional>

#include "tests/attack/driver/victim.h"
#include "tests/attack/lib/kernel.h"

namespace attack::driver {

namespace {

class Server : public Receiver {
 public:
  Server(const Scene& scene, int family, int type, int protocol, const Address& at) : Receiver(scene.token) {
    Fd fd = open_socket(family, type | SOCK_NONBLOCK, protocol);
    bind_to(fd, at);
    port_ = port_of(fd);
    const bool listens = type == SOCK_STREAM || protocol == IPPROTO_SCTP;
    if (listens) listen_on(fd);
    const bool one_to_many = type == SOCK_SEQPACKET;
    if (listens && !one_to_many)
      listen_at(std::move(fd));
    else
      receive_at(std::move(fd));
  }
  Arguments arguments() const override { return {{"port", std::to_string(port_)}}; }
  Fd connection() override {
    Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", port_));
    settle();
    return fd;
  }

 private:
  std::uint16_t port_;
};

// On every address, and member of the multicast group.
class OpenServer : public Server {
 public:
  explicit OpenServer(const Scene& scene) : Server(scene, AF_INET, SOCK_DGRAM, 0, v4("0.0.0.0", 0)) {
    ip_mreqn membership{};
    inet_pton(AF_INET, kMulticast, &membership.imr_multiaddr);
    membership.imr_ifindex = static_cast<int>(if_nametoindex("lo"));
    set_option(receiver(0), IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof(membership));
  }
};

// What a cloud gives a machine's credentials out by.
class MetadataServer : ExtraAddress, public Server {
 public:
  MetadataServer(const Scene& scene, bool v6)
      : ExtraAddress(v6 ? kMetadata6 : kMetadata4),
        Server(scene, v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0, v6 ? attack::v6(kMetadata6, 0) : v4(kMetadata4, 0)) {}
};

// Echo requests, seen by a raw socket. Other ICMP is everyone's.
class EchoSniffer : public Receiver {
 public:
  EchoSniffer(const Scene& scene, bool v6) : Receiver(scene.token) {
    write_file("/proc/sys/net/ipv4/ping_group_range", "0 2147483647");
    const int protocol = v6 ? int{IPPROTO_ICMPV6} : int{IPPROTO_ICMP};
    receive_at(open_socket(v6 ? AF_INET6 : AF_INET, SOCK_RAW | SOCK_NONBLOCK, protocol));
  }

 private:
  Seen judge(const std::string& data) const override {
    return Receiver::judge(data) == Seen::harm ? Seen::harm : Seen::nothing;
  }
};

// Packets on lo to an address where nobody listens: what counts is where they went.
class WireSniffer : public Receiver {
 public:
  WireSniffer(const Scene& scene, bool v6) : Receiver(scene.token), v6_(v6) {
    if (v6_) address_.emplace(kWire6);
    Fd fd = open_socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(v6_ ? ETH_P_IPV6 : ETH_P_IP));
    sockaddr_ll lo{};
    lo.sll_family = AF_PACKET;
    lo.sll_protocol = htons(v6_ ? ETH_P_IPV6 : ETH_P_IP);
    lo.sll_ifindex = static_cast<int>(if_nametoindex("lo"));
    must(bind(fd.get(), reinterpret_cast<sockaddr*>(&lo), sizeof(lo)), "bind to lo");
    receive_at(std::move(fd));
    settle();
  }

 private:
  Seen judge(const std::string& data) const override {
    unsigned char to[16];
    const std::size_t size = inet_pton(v6_ ? AF_INET6 : AF_INET, v6_ ? kWire6 : kWire4, to) == 1 && v6_ ? 16 : 4;
    if (data.find(std::string(reinterpret_cast<char*>(to), size)) == std::string::npos) return Seen::nothing;
    return Receiver::judge(data);
  }
  bool v6_;
  std::optional<ExtraAddress> address_;
};

// One program for all commands: its start costs more than what it does.
void ip(std::initializer_list<std::string> commands) {
  FILE* program = popen("ip -batch -", "w");
  if (program == nullptr) throw Failure{errno, "popen"};
  for (const std::string& command : commands) std::fprintf(program, "%s\n", command.c_str());
  if (pclose(program) != 0) throw Failure{EIO, "ip " + *commands.begin()};
}

// With what is on top of it.
void remove_interface(const char* interface) {
  try {
    ip({std::string("link del ") + interface});
  } catch (const Failure&) {  // it is gone already
  }
}

Fd frames_of(const char* interface) {
  Fd fd = open_socket(AF_PACKET, SOCK_DGRAM | SOCK_NONBLOCK, htons(ETH_P_ALL));
  sockaddr_ll at{};
  at.sll_family = AF_PACKET;
  at.sll_protocol = htons(ETH_P_ALL);
  at.sll_ifindex = static_cast<int>(if_nametoindex(interface));
  must(bind(fd.get(), reinterpret_cast<sockaddr*>(&at), sizeof(at)), "bind to an interface");
  return fd;
}

// An interface that leads to another network than the host's routes do for an address, and all that leaves by it.
class OtherWire : public Receiver {
 public:
  explicit OtherWire(const Scene& scene) : Receiver(scene.token), token_(scene.token) {
    const std::string name = kOtherInterface;
    ip({"link add " + name + " type dummy", "link set " + name + " addrgenmode none up",
        "address add 192.0.2.83/24 dev " + name, "address add fe80::1/64 dev " + name + " nodad",
        "address add 2001:db8:1::1/64 dev " + name + " nodad", "route add " + std::string(kBeyond6) + " dev " + name});
    receive_at(frames_of(kOtherInterface));
    settle();
  }
  ~OtherWire() override { remove_interface(kOtherInterface); }

 private:
  // The address of a group, or of a source, has room for a few bytes of the token.
  Seen judge(const std::string& data) const override {
    return data.find(token_.substr(kTokenInGroup, kTokenInGroupSize)) == std::string::npos ? Seen::nothing : Seen::harm;
  }
  std::string token_;
};

// Tap devices on top of that interface, and of another one like it: their nodes are a way to write frames.
class OtherTap : public OtherWire {
 public:
  explicit OtherTap(const Scene& scene) : OtherWire(scene) {
    ip({"link add sbpfother2 type dummy", "link set sbpfother2 addrgenmode none up",
        "link add sbpfmacvtap link " + std::string(kOtherInterface) + " type macvtap",
        "link add sbpfipvtap link sbpfother2 type ipvtap mode l2", "link set sbpfmacvtap up",
        "link set sbpfipvtap up"});
    receive_at(frames_of("sbpfother2"));
    settle();
  }
  ~OtherTap() override { remove_interface("sbpfother2"); }
  Arguments arguments() const override {
    return {{"macvtap", "/dev/tap" + std::to_string(if_nametoindex("sbpfmacvtap"))},
            {"ipvtap", "/dev/tap" + std::to_string(if_nametoindex("sbpfipvtap"))}};
  }
};

// What is written to the device is a packet that came from outside.
class OwnTun : public Receiver {
 public:
  explicit OwnTun(const Scene& scene) : Receiver(scene.token) {
    const std::string name = kOtherInterface;
    ip({"tuntap add dev " + name + " mode tun user " + std::to_string(scene.uid),
        "address add 192.0.2.83/24 dev " + name, "link set " + name + " up"});
    Fd fd = open_socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK);
    bind_to(fd, v4("192.0.2.83", 0));
    port_ = port_of(fd);
    receive_at(std::move(fd));
  }
  ~OwnTun() override { remove_interface(kOtherInterface); }
  Arguments arguments() const override { return {{"port", std::to_string(port_)}}; }

 private:
  std::uint16_t port_;
};

class VsockServer : public Receiver {
 public:
  explicit VsockServer(const Scene& scene) : Receiver(scene.token) {
    Fd fd(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return;  // the control will say so
    bind_to(fd, vsock(VMADDR_CID_ANY, kPort));
    listen_on(fd);
    listen_at(std::move(fd));
  }
  Arguments arguments() const override { return {{"port", std::to_string(kPort)}}; }

 private:
  static constexpr unsigned kPort = 8366;
};

class NetlinkListener : public Receiver {
 public:
  NetlinkListener(const Scene& scene, int protocol) : Receiver(scene.token) {
    Fd fd = open_socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, protocol);
    bind_to(fd, netlink(0));
    sockaddr_nl own{};
    socklen_t size = sizeof(own);
    must(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size), "getsockname");
    netlink_port_ = own.nl_pid;
    receive_at(std::move(fd));
  }
  Arguments arguments() const override { return {{"netlink_port", std::to_string(netlink_port_)}}; }

 private:
  unsigned netlink_port_ = 0;
};

// A protocol that this kernel may lack: then there is nobody, and the control must say why.
std::unique_ptr<VictimState> server_or_plain_tcp(const Scene& scene, int type, int protocol) {
  if (const Fd probe(socket(AF_INET, type, protocol)); probe)
    return std::make_unique<Server>(scene, AF_INET, type, protocol, v4("127.0.0.1", 0));
  return std::make_unique<Server>(scene, AF_INET, SOCK_STREAM, 0, v4("127.0.0.1", 0));
}

}  // namespace

std::unique_ptr<VictimState> make_inet_victim(Victim kind, const Scene& scene) {
  const Address local4 = v4("127.0.0.1", 0), local6 = v6("::1", 0);
  if (kind == Victim::tcp4 || kind == Victim::smc4)
    return std::make_unique<Server>(scene, AF_INET, SOCK_STREAM, 0, local4);
  if (kind == Victim::tcp6) return std::make_unique<Server>(scene, AF_INET6, SOCK_STREAM, 0, local6);
  if (kind == Victim::udp4) return std::make_unique<Server>(scene, AF_INET, SOCK_DGRAM, 0, local4);
  if (kind == Victim::udp6) return std::make_unique<Server>(scene, AF_INET6, SOCK_DGRAM, 0, local6);
  if (kind == Victim::metadata4) return std::make_unique<MetadataServer>(scene, false);
  if (kind == Victim::metadata6) return std::make_unique<MetadataServer>(scene, true);
  if (kind == Victim::udp_any) return std::make_unique<OpenServer>(scene);
  if (kind == Victim::udplite4) return server_or_plain_tcp(scene, SOCK_DGRAM, IPPROTO_UDPLITE);
  if (kind == Victim::mptcp4) return server_or_plain_tcp(scene, SOCK_STREAM, IPPROTO_MPTCP);
  if (kind == Victim::sctp4) return server_or_plain_tcp(scene, SOCK_STREAM, IPPROTO_SCTP);
  if (kind == Victim::sctp4_many) return server_or_plain_tcp(scene, SOCK_SEQPACKET, IPPROTO_SCTP);
  if (kind == Victim::icmp4) return std::make_unique<EchoSniffer>(scene, false);
  if (kind == Victim::icmp6) return std::make_unique<EchoSniffer>(scene, true);
  if (kind == Victim::wire4) return std::make_unique<WireSniffer>(scene, false);
  if (kind == Victim::wire6) return std::make_unique<WireSniffer>(scene, true);
  if (kind == Victim::other_wire) return std::make_unique<OtherWire>(scene);
  if (kind == Victim::other_tap) return std::make_unique<OtherTap>(scene);
  if (kind == Victim::own_tun) return std::make_unique<OwnTun>(scene);
  if (kind == Victim::vsock) return std::make_unique<VsockServer>(scene);
  if (kind == Victim::netlink_user) return std::make_unique<NetlinkListener>(scene, NETLINK_USERSOCK);
  if (kind == Victim::netlink_route) return std::make_unique<NetlinkListener>(scene, NETLINK_ROUTE);
  return nullptr;
}

}  // namespace attack::driver
