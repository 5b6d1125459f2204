// SPDX-License-Identifier: Apache-2.0
// A version 1 hierarchy of one's own, whose release agent the kernel starts outside every sandbox.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <string>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(cgroup1_release_agent_is_refused, {.victim = Victim::tcp4,
                                          .allow = kAudit,
                                          .at = "open",
                                          .root = true,
                                          .machine_wide = true,
                                          .lacking = {{ENODEV, EINVAL}}}) {
  private_mounts();
  must(mount("none", "/tmp", "cgroup", 0, "none,name=sbpfattack"), "mount");
  write_text(open_file("/tmp/release_agent", O_WRONLY), ctx.text("program"));
  const std::string group = "/tmp/" + std::to_string(ctx.port) + "-" + ctx.token;
  if (mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) throw Failure{errno, "mkdir"};
  write_text(open_file(group + "/notify_on_release", O_WRONLY), "1");
  in_child([&] { move_to_cgroup(group); });
}
