// SPDX-License-Identifier: Apache-2.0
// A tun device that was opened before writes packets.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ioctl.h>

#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(attach_with_tun_device_is_refused, {.victim = Victim::interface,
                                           .launch = Launch::attach_refused,
                                           .root = true,
                                           .modules = "tun",
                                           .lacking = {{ENOENT, ENODEV, ENXIO}}}) {
  Fd fd = open_file("/dev/net/tun", O_RDWR);
  ctx.join();
  ifreq request{};
  std::strcpy(request.ifr_name, "sbpfattack0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  must(ioctl(fd.get(), TUNSETIFF, &request), "ioctl");
  ctx.keep(std::move(fd));
}
