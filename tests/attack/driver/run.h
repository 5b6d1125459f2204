// SPDX-License-Identifier: Apache-2.0
// One run of an attack: the victim is set up, the attacker is confined and attacks, the victim is looked at.
#pragma once

#include <optional>
#include <string>

#include "tests/attack/driver/sandbox.h"

namespace attack::driver {

// No sandbox; a policy that allows the attack; the policy under test.
enum class Phase { control, allowed, denied };

// A sandbox within a sandbox.
struct Nesting {
  enum class Kind {
    attached,  // both cgroups by `sbpf attach`
    in_run,    // the outer one by `sbpf run`, the inner one by `sbpf attach` of a cgroup below it
  };
  Kind kind = Kind::attached;
  Phase outer = Phase::allowed, inner = Phase::allowed;
};

// What came of it.
struct Result {
  std::optional<Outcome> outcome;
  std::optional<int> attach_code;  // of `sbpf attach`, if it was run
  Seen seen = Seen::nothing;
  std::string details;  // of what was seen
  int exit_code = 0;    // of the attacker, or of sbpf around it
  bool hung = false;    // it did not end by itself
  std::string errors;
};

// `sbpf attach` must refuse the attacker, who is then not confined.
bool attach_refuses(const Spec& spec);

Result run(const Host& host, const Attack& attack, Phase phase);

// The attacker is in both sandboxes. For attacks of Launch::run and Launch::attach; of Kind::in_run only for those of
// Launch::run that do not call join().
Result run_nested(const Host& host, const Attack& attack, const Nesting& nesting);

}  // namespace attack::driver
