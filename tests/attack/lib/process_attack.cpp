// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/process_attack.h"

namespace attack {

Spec spec_of(const ProcessSpec& process) {
  Spec spec;
  spec.victim = process.victim;
  spec.allow = process.allow;
  spec.deny = process.deny;
  spec.expected = process.expected;
  spec.or_expected = process.or_expected;
  spec.at = process.at;
  spec.launch = process.launch;
  spec.root = process.root;
  spec.machine_wide = process.machine_wide;
  spec.harmless = process.harmless;
  spec.claims = process.claims;
  spec.shows = process.shows;
  spec.lacking = process.lacking;
  spec.process = &process;
  spec.domain = "process";
  return spec;
}

}  // namespace attack
