// SPDX-License-Identifier: Apache-2.0
// A socket made before the process joined, and bound to loopback: there the kernel leads it from 0.0.0.0, which is
// allowed.
#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

constexpr const char* kWildcardTcp = "connect: [{address: 0.0.0.0, ports: [{port}], protocol: tcp}]";
constexpr const char* kWildcardUdp = "connect: [{address: 0.0.0.0, ports: [{port}], protocol: udp}]";

}  // namespace

ATTACK(premade_wildcard_connect_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kWildcardTcp, .at = "connect", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  bind_to(fd, v4("127.0.0.1", 0));
  ctx.join();
  connect_to(fd, v4("0.0.0.0", ctx.port));
  send_text(fd, ctx.token);
}

ATTACK(premade_wildcard_send_is_refused,
       {.victim = Victim::udp4, .allow = kAllowUdp4, .deny = kWildcardUdp, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  bind_to(fd, v4("127.0.0.1", 0));
  ctx.join();
  send_text_to(fd, ctx.token, v4("0.0.0.0", ctx.port));
}
