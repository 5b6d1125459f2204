// SPDX-License-Identifier: Apache-2.0
// What a policy is to allow beside what it does, by what a run under it was denied. Pure, but for a look at what
// lies in directories.
#pragma once

#include <string>
#include <vector>

#include "cli/format.h"
#include "policy/policy.h"

namespace sbpf::cli {

// A denial that is not allowed by itself: a person decides.
struct Withheld {
  std::string line;  // what was denied
  std::string why;
  std::string change;  // that would allow it; "": none does, or only a relaxation
  friend bool operator==(const Withheld&, const Withheld&) = default;
};

struct Lesson {
  std::vector<std::string> changes;
  std::vector<std::string> opened;  // what they allow that was never asked for, a line each
  std::vector<Withheld> withheld;
  bool whole = true;  // false: there were more denials than are looked at
};

// By the events of a run under `policy`, as event_json() has them. Of several files in a directory the directory is
// opened; temporary files become places of the sandbox's own, and ports that the kernel chose a loopback of its own, as
// their names and numbers are others each time; so is the port of a server of the sandbox's own. Of a name the port is
// not known before it is asked for: 443 is taken. `own_places`: the sandbox may have such places: root runs it, or
// sbpf-enter is there. Withheld is what may hold secrets, what the host may run, a directory below which one of these
// is, or that is too large to be looked through, or close to the root; devices and the kernel's own files; what a rule
// of the policy denies or protects; services of the host behind a socket file; interfaces of the kernel, and what the
// sandbox wrote itself as a program; and what no change allows but a relaxation.
Lesson learn_from(const policy::Policy& policy, const std::vector<Json>& events, bool own_places);

// Appends to `all` those of `more` that are not in it. Two are the same if their changes are; of two without a change,
// if the same was denied.
void add_withheld(std::vector<Withheld>& all, std::vector<Withheld> more);

}  // namespace sbpf::cli
