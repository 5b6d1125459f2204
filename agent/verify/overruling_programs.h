// SPDX-License-Identifier: Apache-2.0
// Programs of others that overrule those of sbpf, although no link of ours is changed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "agent/kernel/losses.h"
#include "policy/policy.h"

namespace sbpf::agent {

// A program that the kernel runs after ours, for sockets of a sandbox: it may lift a denial, or put another address in
// the place of the one that was judged.
struct Later {
  std::string hook;  // "connect4"…, "setsockopt"
  std::uint32_t prog_id = 0;
  bool operator==(const Later&) const = default;
};

// Those that are in force for the cgroup behind this descriptor; and of the cgroup above, those that run after ours for
// each cgroup that is right below it, however many these are. Errors: "overruled" where the kernel does not say.
Result<std::vector<Later>> programs_after(const Kernel& kernel, int cgroup_fd);
Result<std::vector<Later>> programs_above(const Kernel& kernel, int parent_fd);

// Those that are in force for this cgroup, and of options those of the cgroups below it, but for the trusted ones.
// Errors: "overruled" where the kernel does not say.
Result<std::vector<Later>> later_programs(const Kernel& kernel, const Cgroup& cgroup,
                                          const std::vector<policy::ProgramTag>& trusted);

// Those that came during the watch. Programs from before are reported by the status, and are no loss.
class LaterSeen {
 public:
  // Of those that are in force now. None at the first call. Nor did one come that ran as a trusted one, and is not
  // trusted by the policy of now. Errors: that of `later`; "bpf_info": one cannot be asked. Then nothing is remembered.
  Result<std::vector<Later>> newcomers(Result<std::vector<Later>> later,
                                       const std::vector<policy::ProgramTag>& trusted);

 private:
  bool first_ = true;
  std::vector<Later> known_, trusted_;
};

// For a person: the program's name, number and tag, and the user who loaded it.
std::string describe(const Later& later);

// Programs that answer in the place of the kernel functions that call our hooks: these are not called then, whatever is
// attached to them. Errors: "overruled".
Result<std::vector<Lost>> modified_functions(const Kernel& kernel);

// Likewise those that a live patch of the kernel replaces: they may call our hooks, or not. `root`: where the kernel
// lists its patches; a kernel that has none lacks it. Errors: "overruled".
Result<std::vector<Lost>> patched_functions(const std::string& root = "/sys/kernel/livepatch");

}  // namespace sbpf::agent
