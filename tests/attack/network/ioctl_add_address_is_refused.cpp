// SPDX-License-Identifier: Apache-2.0
// The same by the old ioctl, on an ordinary UDP socket.
#include <net/if.h>
#include <sys/ioctl.h>

#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(ioctl_add_address_is_refused, {.victim = Victim::lo_address, .at = "ioctl", .root = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_DGRAM);
  const Address address = v4("192.0.2.83", 0);
  ifreq request{};
  std::strcpy(request.ifr_name, "lo:83");
  std::memcpy(&request.ifr_addr, address.raw(), sizeof(request.ifr_addr));
  must(ioctl(fd.get(), SIOCSIFADDR, &request), "ioctl");
}
