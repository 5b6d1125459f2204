// SPDX-License-Identifier: Apache-2.0
// Assignments: the policy for the cgroup at a path, whichever cgroup that is. They outlive the cgroup, the programs and
// the host's restart. `attach` with `keep` makes one, `detach` and `kill` end it; `sbpf watch` sees that each holds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

inline constexpr std::string_view kAssignedDirectory = "/var/lib/sbpf/assigned";

struct Assignment {
  std::string name;    // of the sandbox
  std::string cgroup;  // absolute path
  policy::Policy policy;
};

// The contents of an assignment's file: the path on the first line, below it the policy in its canonical form. Pure.
std::string assignment_text(const std::string& cgroup, const policy::Policy& policy);
// Errors: "state" (not of our making).
Result<Assignment> parse_assignment(const std::string& name, const std::string& text);

// Makes or replaces it, on the disk when this returns. The caller holds the host lock, as for end_assignment().
// Errors: "state" with errno; "not_a_cgroup", "bad_name" (what cannot be written down).
Result<void> assign(const std::string& name, const std::string& cgroup, const policy::Policy& policy);
// Ends it; true: there was one. Errors: "state" with errno.
Result<bool> end_assignment(const std::string& name);

// Those of this host, in order; and one of them. Errors: "state".
std::vector<std::string> assigned_names();
Result<Assignment> read_assignment(const std::string& name);
// The path of the cgroup that is assigned under this name; "" if none is.
std::string assigned_cgroup(const std::string& name);

}  // namespace sbpf::agent
