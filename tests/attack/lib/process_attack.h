// SPDX-License-Identifier: Apache-2.0
// Attacks on the kernel, and on other processes.
#pragma once

#include "tests/attack/lib/attack.h"
#include "tests/attack/lib/process.h"

namespace attack {

struct ProcessSpec {
  const char* at = "";  // the step that must be refused…
  int expected = EPERM;
  int or_expected = 0;
  // What stands below `process:` in the allowing policy (or kAudit), and in the one under test. The network is open.
  const char* allow = kAudit;
  const char* deny = "env: {}";
  Victim victim = Victim::claim;
  const char* claims = nullptr;  // as in Spec
  const char* shows = "";
  bool boxed = false;  // the bystander is in a sandbox of its own
  // `sbpf run` does not even show what is attacked: attached instead, but for profiles. The body calls join() first.
  bool hidden_by_run = false;
  Launch launch = Launch::run;
  bool root = false;
  bool machine_wide = false;
  bool harmless = false;    // no attack: it must get through in all three runs
  const char* unload = "";  // modules that must not be there before any of the runs
  Lacking lacking = {};
};

Spec spec_of(const ProcessSpec& process);

// The policy gives SYS_ADMIN over the host.
inline constexpr const char* kAdmin = "kernel: {dangerously_allow_capabilities: [SYS_ADMIN]}";

// PROCESS_ATTACK(name_of_what_is_refused, {.at = "prctl", …}) { body }
#define PROCESS_ATTACK(name, ...)                                                                            \
  static void name([[maybe_unused]] attack::Context& ctx);                                                   \
  static const attack::ProcessSpec process_of_##name __VA_ARGS__;                                            \
  static const attack::Registration registration_of_##name{#name, attack::spec_of(process_of_##name), name}; \
  static void name([[maybe_unused]] attack::Context& ctx)

}  // namespace attack
