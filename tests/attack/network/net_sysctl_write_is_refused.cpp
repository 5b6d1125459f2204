// SPDX-License-Identifier: Apache-2.0
// /proc/sys/net belongs to root, without NET_ADMIN: forwarding, local routes, source routes.
#include <fcntl.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(net_sysctl_write_is_refused,
       {.victim = Victim::net_sysctl, .allow = kAudit, .at = "open", .root = true, .machine_wide = true}) {
  write_text(open_file(ctx.text("sysctl"), O_WRONLY), ctx.text("value"));
}
