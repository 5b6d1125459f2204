// SPDX-License-Identifier: Apache-2.0
// How the sandboxed program's process starts.
#pragma once

#include <sys/types.h>

#include "agent/agent.h"
#include "agent/cgroup.h"
#include "agent/privileges.h"
#include "agent/seccomp.h"
#include "base/fd.h"

namespace sbpf::agent {

// What the child sets before exec; made before anything starts, so that a mistake in the policy starts nothing.
struct Launch {
  Privileges privileges;
  SeccompFilters filters;
};

// Clones a child straight into the cgroup, where it goes through a flat list of steps, the last of which is exec. Returns
// when it has exec'd, or has said why it could not: then it is gone. `pidfd` receives the child's.
// Errors: "spawn"; "launch_failed" (a step before exec); "command_not_found", "command_not_executable".
Result<pid_t> spawn(const Cgroup& cgroup, const Launch& launch, const RunOptions& options, Fd& pidfd);

// A child that waits, outside of any sandbox, until it is told to become the program: for a caller who is not root, whose
// child the service moves into one meanwhile (agent/held.h). It cannot gain privileges, has a session keyring of its own, no
// descriptors but stdio and pipes, and ends with its parent. Destroyed before it was told, it is killed.
class WaitingChild {
 public:
  // Errors: "spawn".
  static Result<WaitingChild> start(const Launch& launch, const RunOptions& options);
  WaitingChild(WaitingChild&& other) noexcept;
  WaitingChild& operator=(WaitingChild&&) = delete;
  ~WaitingChild();

  pid_t pid() const { return pid_; }
  const Fd& pidfd() const { return pidfd_; }
  // Returns when it has exec'd; from then on the caller waits for it. Errors: as of spawn(), and it is gone.
  Result<void> go_on();

 private:
  WaitingChild() = default;
  pid_t pid_ = -1;
  bool waits_ = true;
  std::string program_;
  Fd pidfd_, go_, report_;
};

// Becomes the program: argv[0] is looked up in the PATH of `env`, as above. Returns why that failed: "command_not_found",
// "command_not_executable".
Error exec_program(const std::vector<std::string>& argv, const std::vector<std::string>& env);

}  // namespace sbpf::agent
