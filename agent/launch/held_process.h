// SPDX-License-Identifier: Apache-2.0
// A process of another user's that is to go into a sandbox: who it is, and that it stays who it is while it is moved.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/host/cgroup.h"
#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Whose process it must be.
struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t parent = 0;  // it is a child of this one
};

// Is what /proc/PID/status says (`status`) a process that its owner may have confined: with all of its ids the owner's, a child
// of the one that asks, with one thread, without capabilities unless it is root's, and with no_new_privs, so that it cannot
// become more than that by exec? Pure. Errors: "not_your_process", "process_unfit".
Result<void> check_process(std::string_view status, const Owner& owner);

// A process, stopped by ptrace from start to destruction: it runs nothing, and while it is traced its number cannot become
// another's, even if it is killed. If this process ends, it goes on.
class HeldProcess {
 public:
  // `pidfd` of a process that is alive; waits at most two seconds until it has stopped. Checks it by check_process(), that it
  // is in our own pid and user namespaces, and that it has no descriptors but stdio and pipes: what else it had open the
  // policy could not take back. Errors: "process_gone", "process_unfit", "process_busy", "not_your_process".
  static Result<HeldProcess> hold(int pidfd, const Owner& owner);
  HeldProcess(HeldProcess&& other) noexcept;
  HeldProcess& operator=(HeldProcess&&) = delete;
  ~HeldProcess();

  pid_t pid() const { return pid_; }
  // Is it in this process's network namespace?
  bool has_our_network() const;
  // Its stdin, stdout and stderr; none where it has none. Errors: "process_gone".
  Result<std::array<Fd, 3>> stdio() const;
  // Its cgroup, below the root of the hierarchy: "/user.slice/…". Errors: "process_gone".
  Result<std::string> cgroup() const;
  // Moves it, and makes sure that it is there, and alive. Errors: "process_gone", "cgroup_io".
  Result<void> move_to(const Cgroup& cgroup) const;

 private:
  HeldProcess(int pidfd, pid_t pid) : pidfd_(pidfd), pid_(pid) {}
  Result<void> wait_until_stopped() const;
  Result<void> check(const Owner& owner) const;
  bool alive() const;

  int pidfd_;
  pid_t pid_;
};

}  // namespace sbpf::agent
