// SPDX-License-Identifier: Apache-2.0
// SOCKET_URING_OP_SETSOCKOPT sets options without setsockopt(2), from 6.7 on.
#include <cstring>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

ATTACK(uring_setsockopt_source_route_is_refused,
       {.victim = Victim::wire4, .at = "uring setsockopt", .may_need_root = true, .lacking = {{EOPNOTSUPP, EINVAL}}}) {
  constexpr __u32 kSetSockOpt = 3;  // SOCKET_URING_OP_SETSOCKOPT
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  const std::string route = loose_source_route(kWire4);
  const __u32 level_and_name[2] = {IPPROTO_IP, IP_OPTIONS};
  Ring ring;
  io_uring_sqe* request = ring.request();
  io_uring_prep_rw(IORING_OP_URING_CMD, request, fd.get(), nullptr, 0, kSetSockOpt);
  std::memcpy(&request->addr, level_and_name, sizeof(level_and_name));
  request->file_index = static_cast<__u32>(route.size());
  request->addr3 = reinterpret_cast<std::uintptr_t>(route.data());
  ring.complete("uring setsockopt");
  send_text_to(fd, ctx.token, v4("127.0.0.1", ctx.decoy));
}
