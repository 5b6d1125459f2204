// SPDX-License-Identifier: Apache-2.0
// Every entry below sbpf's own pin directory. In the control and in audit mode only the stand-in is removed.
#include <unistd.h>

#include <filesystem>

#include "tests/attack/lib/attack.h"

using namespace attack;

ATTACK(real_pin_removal_is_refused,
       {.victim = Victim::bpf_pin, .allow = kAudit, .at = "unlink", .root = true, .machine_wide = true}) {
  if (!ctx.denied) {
    must(unlink(ctx.text("pin").c_str()), "unlink");
    return;
  }
  int tried = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/sys/fs/bpf/sbpf")) {
    if (entry.is_directory()) continue;
    tried++;
    if (unlink(entry.path().c_str()) == 0) throw Failure{0, "unlinked " + entry.path().string()};
    if (errno != EPERM) throw Failure{errno, "unlink " + entry.path().string()};
  }
  if (tried < 10) throw Failure{ENOENT, "pins found"};
  throw Failure{EPERM, "unlink"};
}
