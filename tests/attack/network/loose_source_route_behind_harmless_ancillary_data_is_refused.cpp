// SPDX-License-Identifier: Apache-2.0
// The route comes after harmless items: whoever looks at the first only, or at so many, is passed by.
#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

static void send_route_behind_harmless(Context& ctx, std::size_t items) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  const Address to = v4("127.0.0.1", ctx.decoy);
  const std::string route = loose_source_route(kWire4);
  alignas(cmsghdr) char control[1024] = {};
  iovec part = {ctx.token.data(), ctx.token.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to.raw());
  message.msg_namelen = to.length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = items * CMSG_SPACE(sizeof(int)) + CMSG_SPACE(route.size());
  cmsghdr* item = CMSG_FIRSTHDR(&message);
  for (std::size_t i = 0; i < items; i++, item = CMSG_NXTHDR(&message, item)) {
    *item = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL};
    *CMSG_DATA(item) = 64;
  }
  *item = {.cmsg_len = CMSG_LEN(route.size()), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_RETOPTS};
  std::memcpy(CMSG_DATA(item), route.data(), route.size());
  must(sendmsg(fd.get(), &message, 0), "sendmsg");
}

ATTACK(loose_source_route_behind_harmless_ancillary_data_is_refused,
       {.victim = Victim::wire4, .at = "sendmsg", .may_need_root = true}) {
  send_route_behind_harmless(ctx, 1);
}

// Where the policy opens CAP_NET_RAW, which later kernels ask for.
ATTACK(loose_source_route_behind_harmless_ancillary_data_beside_raw_sockets_is_refused,
       {.victim = Victim::wire4, .deny = kDenyBesideRaw, .at = "sendmsg", .may_need_root = true}) {
  send_route_behind_harmless(ctx, 1);
}

// More than the hook walks through: it cannot tell what comes after them.
ATTACK(loose_source_route_behind_many_ancillary_items_is_refused,
       {.victim = Victim::wire4, .deny = kDenyBesideRaw, .at = "sendmsg", .may_need_root = true}) {
  send_route_behind_harmless(ctx, 20);
}
