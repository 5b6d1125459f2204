// SPDX-License-Identifier: Apache-2.0
// Attacks from a sandbox within a sandbox: both policies must allow.
#pragma once

#include <vector>

#include "tests/attack/driver/run.h"

namespace attack::driver {

struct NestedAttack {
  const Attack* attack;
  bool in_run;  // also where the outer sandbox is one of `sbpf run`
};

// One attack or two for each way in which a hook asks the sandboxes, sorted by name.
std::vector<NestedAttack> nested_attacks();

struct NestedCase {
  const char* name;
  Nesting nesting;
};

std::vector<NestedCase> nested_cases(const NestedAttack& nested);

}  // namespace attack::driver
