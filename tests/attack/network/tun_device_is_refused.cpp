// SPDX-License-Identifier: Apache-2.0
// A tun interface of one's own: to make it also takes NET_ADMIN, which others refuse.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cstring>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(
    tun_device_is_refused,
    {.victim = Victim::interface, .at = "open", .root = true, .modules = "tun", .lacking = {{ENOENT, ENODEV, ENXIO}}}) {
  Fd fd = open_file("/dev/net/tun", O_RDWR);
  ifreq request{};
  std::strcpy(request.ifr_name, "sbpfattack0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  must(ioctl(fd.get(), TUNSETIFF, &request), "ioctl");
  ctx.keep(std::move(fd));
}
