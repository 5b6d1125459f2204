// SPDX-License-Identifier: Apache-2.0
// Character devices that are a network. Whoever may open the node needs no capability.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"
#include "tests/attack/lib/wire.h"

using namespace attack;

namespace {

constexpr const char* kAllowTun = "dangerously_allow_sockets: [tun]";

void use_own_tun(const Fd& fd, const Context& ctx) {
  ifreq request{};
  std::strcpy(request.ifr_name, kOtherInterface);
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  must(ioctl(fd.get(), TUNSETIFF, &request), "ioctl");
  const std::string packet = udp4_packet("192.0.2.83", ctx.port, ctx.token, "192.0.2.84");
  must(write(fd.get(), packet.data(), packet.size()), "write");
}

// A frame behind the header that such devices expect.
void write_frame(const Fd& fd, const Context& ctx) {
  std::string frame(10, '\0');
  frame +=
      std::string("\x02\x53\x42\x50\x46\x02\x02\x53\x42\x50\x46\x01\x08\x00", 14) + udp4_packet(kBeyond4, 9, ctx.token);
  must(write(fd.get(), frame.data(), frame.size()), "write");
}

}  // namespace

ATTACK(own_tun_device_is_refused, {.victim = Victim::own_tun,
                                   .allow = kAllowTun,
                                   .at = "open",
                                   .root = true,
                                   .modules = "tun",
                                   .told = "network device 10:200"}) {
  use_own_tun(open_file("/dev/net/tun", O_RDWR), ctx);
}

// By another node of the same number, whatever it is called.
ATTACK(own_tun_device_by_another_node_is_refused,
       {.victim = Victim::own_tun, .allow = kAllowTun, .at = "open", .root = true, .modules = "tun"}) {
  const std::string node = "/tmp/sbpf-attack-node-" + std::to_string(getpid());
  must(mknod(node.c_str(), S_IFCHR | 0600, makedev(10, 200)), "mknod");
  const int fd = open(node.c_str(), O_RDWR | O_CLOEXEC);
  const int error = errno;
  unlink(node.c_str());
  errno = error;
  use_own_tun(Fd(must(fd, "open")), ctx);
}

ATTACK(
    macvtap_device_is_refused,
    {.victim = Victim::other_tap, .allow = kAllowTun, .at = "open", .root = true, .modules = "dummy macvtap ipvtap"}) {
  write_frame(open_file(ctx.text("macvtap"), O_RDWR), ctx);
}

ATTACK(
    ipvtap_device_is_refused,
    {.victim = Victim::other_tap, .allow = kAllowTun, .at = "open", .root = true, .modules = "dummy macvtap ipvtap"}) {
  write_frame(open_file(ctx.text("ipvtap"), O_RDWR), ctx);
}

// The open node is the harm: what is behind it is a virtual machine's.
ATTACK(vhost_net_device_is_refused, {.victim = Victim::attacker_file,
                                     .allow = kAllowTun,
                                     .at = "open",
                                     .root = true,
                                     .modules = "vhost_net",
                                     .lacking = {{ENOENT, ENODEV, ENXIO}},
                                     .shows = "/dev/vhost-net"}) {
  ctx.keep(open_file("/dev/vhost-net", O_RDWR));
}

ATTACK(vhost_vsock_device_is_refused, {.victim = Victim::attacker_file,
                                       .allow = kAllowTun,
                                       .at = "open",
                                       .root = true,
                                       .modules = "vhost_vsock",
                                       .lacking = {{ENOENT, ENODEV, ENXIO}},
                                       .shows = "/dev/vhost-vsock"}) {
  ctx.keep(open_file("/dev/vhost-vsock", O_RDWR));
}

// In a directory that a rule opens, where files are found without asking again.
ATTACK(network_device_in_writable_directory_is_refused,
       {.victim = Victim::attacker_file,
        .allow = "dangerously_allow_sockets: [tun]\nfilesystem: {default: write}",
        .deny = "connect: [{address: 127.0.0.1, ports: [{decoy}]}]\nfilesystem: {default: write}",
        .at = "open",
        .root = true,
        .modules = "vhost_net",
        .lacking = {{ENOENT, ENODEV, ENXIO}},
        .shows = "/dev/vhost-net"}) {
  for (int i = 0; i < 3; i++) must(open("/dev/null", O_RDWR | O_CLOEXEC), "open null");
  ctx.keep(Fd(must(open("/dev/vhost-net", O_RDWR | O_CLOEXEC), "open")));
}

// Others with a number that drivers are given as they come are none of them.
ATTACK(other_devices_stay_allowed, {.victim = Victim::tcp4, .harmless = true}) {
  for (const char* node : {"/dev/null", "/dev/urandom", "/dev/full", "/dev/ptmx"}) open_file(node, O_RDWR);
}
