// SPDX-License-Identifier: Apache-2.0
// A tun interface is a way to write packets, by a character device. Needs NET_ADMIN.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>

#include <cstring>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(tun_device_is_refused, {.victim = Victim::interface,
                               .at = "ioctl",
                               .root = true,
                               .modules = "tun",
                               .lacking = {{ENOENT, ENODEV, ENXIO}}}) {
  Fd fd = open_file("/dev/net/tun", O_RDWR);
  ifreq request{};
  std::strcpy(request.ifr_name, "sbpfattack0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  must(ioctl(fd.get(), TUNSETIFF, &request), "ioctl");
  ctx.keep(std::move(fd));
}
