// SPDX-License-Identifier: Apache-2.0
// Every other family and type that this kernel can make: none is allowed. The denied run must get EPERM from each,
// before the kernel looks whether it has the family or loads a module for it.
#include <string>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(exotic_families_are_refused,
       {.at = "socket", .root = true, .claims = "of so many families, one socket is made after the other"}) {
  bool made_one = false;
  for (int family = 0; family < 64; family++) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_RDM, SOCK_SEQPACKET}) {
      const Fd fd(socket(family, type, 0));
      if (fd) made_one = true;
      if (ctx.denied && !fd && errno != EPERM && family != AF_UNSPEC && family < AF_MAX)
        throw Failure{errno, "socket of family " + std::to_string(family) + " type " + std::to_string(type)};
    }
  }
  if (!made_one) throw Failure{EPERM, "socket"};
}
