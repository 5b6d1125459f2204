// SPDX-License-Identifier: Apache-2.0
// Rules with `via`: their destinations are reached through the proxy alone. Here it is a port where nobody listens, so
// that what was led there is told ECONNREFUSED, and the victim sees nothing.
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

namespace {

constexpr const char* kLed4 =
    "connect: [{address: 127.0.0.1, ports: [{port}], protocol: tcp, via: {address: 127.0.0.1, port: 1}}]";
// At another address, where nobody listens on the victim's port.
constexpr const char* kLed4ByAddress =
    "connect: [{address: 127.0.0.1, ports: [{port}], protocol: tcp, via: {address: 127.0.0.2, port: {port}}}]";
constexpr const char* kLed6 =
    "connect: [{address: \"::1\", ports: [{port}], protocol: tcp, via: {address: \"::1\", port: 1}}]";
constexpr const char* kLed6To4 =
    "connect: [{address: \"::1\", ports: [{port}], protocol: tcp, via: {address: 127.0.0.1, port: 1}}]";
constexpr const char* kLedNetwork =
    "connect: [{cidr: 0.0.0.0/0, ports: [1-65535], protocol: tcp, via: {address: 127.0.0.1, port: 1}}]";
constexpr const char* kIsProxy =
    "connect: [{address: 127.0.0.1, ports: [1], protocol: tcp, via: {address: 127.0.0.1, port: {port}}}]";
constexpr const char* kLedMptcp =
    "dangerously_allow_sockets: [mptcp]\n"
    "  connect: [{address: 127.0.0.1, ports: [{port}], protocol: tcp, via: {address: 127.0.0.1, port: 1}}]";

void connect_and_send(const Context& ctx, int family, const Address& to) {
  const Fd fd = open_socket(family, SOCK_STREAM);
  connect_to(fd, to);
  send_text(fd, ctx.token);
}

}  // namespace

ATTACK(led_tcp4_connect_goes_to_proxy,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .expected = ECONNREFUSED, .at = "connect"}) {
  connect_and_send(ctx, AF_INET, v4("127.0.0.1", ctx.port));
}

ATTACK(
    led_tcp4_connect_goes_to_address_of_proxy,
    {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4ByAddress, .expected = ECONNREFUSED, .at = "connect"}) {
  connect_and_send(ctx, AF_INET, v4("127.0.0.1", ctx.port));
}

ATTACK(led_tcp4_connect_under_network_goes_to_proxy,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLedNetwork, .expected = ECONNREFUSED, .at = "connect"}) {
  connect_and_send(ctx, AF_INET, v4("127.0.0.1", ctx.port));
}

ATTACK(led_tcp6_connect_goes_to_proxy,
       {.victim = Victim::tcp6, .allow = kAllowTcp6, .deny = kLed6, .expected = ECONNREFUSED, .at = "connect"}) {
  connect_and_send(ctx, AF_INET6, v6("::1", ctx.port));
}

ATTACK(led_tcp6_connect_goes_to_ipv4_proxy,
       {.victim = Victim::tcp6, .allow = kAllowTcp6, .deny = kLed6To4, .expected = ECONNREFUSED, .at = "connect"}) {
  connect_and_send(ctx, AF_INET6, v6("::1", ctx.port));
}

ATTACK(led_ipv6_only_connect_to_ipv4_proxy_is_refused,
       {.victim = Victim::tcp6, .allow = kAllowTcp6, .deny = kLed6To4, .expected = ENETUNREACH, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET6, SOCK_STREAM);
  set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  connect_to(fd, v6("::1", ctx.port));
  send_text(fd, ctx.token);
}

ATTACK(led_mapped_connect_goes_to_proxy,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .expected = ECONNREFUSED, .at = "connect"}) {
  connect_and_send(ctx, AF_INET6, v6("::ffff:127.0.0.1", ctx.port));
}

ATTACK(led_fastopen_sendto_goes_to_proxy,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .expected = ECONNREFUSED, .at = "sendto"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port), MSG_FASTOPEN);
}

ATTACK(led_uring_connect_goes_to_proxy,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .expected = ECONNREFUSED, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  const Address to = v4("127.0.0.1", ctx.port);
  Ring ring;
  io_uring_prep_connect(ring.request(), fd.get(), to.raw(), to.length);
  ring.complete("connect");
  send_text(fd, ctx.token);
}

ATTACK(led_again_after_disconnect_goes_to_proxy,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .expected = ECONNREFUSED, .at = "again"}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  const Address to = v4("127.0.0.1", ctx.port);
  (void)::connect(fd.get(), to.raw(), to.length);
  connect_to(fd, unspec());
  connect_to(fd, to, "again");
  send_text(fd, ctx.token);
}

ATTACK(led_mptcp_connect_is_refused, {.victim = Victim::mptcp4,
                                      .allow = kAllowMptcp4,
                                      .deny = kLedMptcp,
                                      .at = "connect",
                                      .lacking = {{EPROTONOSUPPORT, ENOPROTOOPT}}}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}

ATTACK(proxy_of_led_connections_is_not_open_itself,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kIsProxy, .at = "connect"}) {
  connect_and_send(ctx, AF_INET, v4("127.0.0.1", ctx.port));
}

ATTACK(udp_to_where_tcp_is_led_is_refused,
       {.victim = Victim::udp4, .allow = kAllowUdp4, .deny = kLed4, .at = "connect"}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}

ATTACK(premade_socket_past_the_proxy_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .at = "connect", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  ctx.join();
  connect_to(fd, v4("127.0.0.1", ctx.port));
  send_text(fd, ctx.token);
}

ATTACK(premade_connection_past_the_proxy_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .at = "send", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}

ATTACK(premade_fastopen_past_the_proxy_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .at = "sendto", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  ctx.join();
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.port), MSG_FASTOPEN);
}

ATTACK(attach_with_connection_past_the_proxy_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .deny = kLed4, .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  send_text(fd, ctx.token);
}
