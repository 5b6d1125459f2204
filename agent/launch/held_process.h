// SPDX-License-Identifier: Apache-2.0
// Another user's process that is to be moved into a sandbox: its identity is checked, and cannot change during the
// move.
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

// By the text of /proc/PID/status (`status`): may the owner have this process confined? All of its ids must be the
// owner's. It must be a child of the asking process, have one thread, no capabilities unless it is root's, and
// no_new_privs, so that it cannot gain privileges by exec. Pure. Errors: "not_your_process", "process_unfit".
Result<void> check_process(std::string_view status, const Owner& owner);

// A process, stopped by ptrace from start to destruction: it runs nothing, and while it is traced its number cannot
// become another's, even if it is killed. If this process ends, it goes on.
class HeldProcess {
 public:
  // `pidfd` of a process that is alive; waits at most two seconds until it has stopped. Checks it by check_process(),
  // that it is in our own pid and user namespaces, and that it has no descriptors but stdio and pipes: the policy could
  // not take back other open files. Errors: "process_gone", "process_unfit", "process_busy", "not_your_process".
  static Result<HeldProcess> hold(int pidfd, const Owner& owner);
  HeldProcess(HeldProcess&& other) noexcept;
  HeldProcess& operator=(HeldProcess&&) = delete;
  ~HeldProcess();

  pid_t pid() const { return pid_; }
  // Is it in this process's network namespace?
  bool has_our_network() const;
  // In that of the other process?
  bool shares_network(pid_t other) const;
  // Is no other process in its namespace of this kind ("net", "mnt")? While it is held, none can come to be there but
  // by root. Errors: "cannot_tell".
  Result<bool> is_alone_in(const char* kind) const;
  // Its stdin, stdout and stderr; none where it has none. Errors: "process_gone".
  Result<std::array<Fd, 3>> stdio() const;
  // Its cgroup, below the root of the hierarchy: "/user.slice/…". Errors: "process_gone".
  Result<std::string> cgroup() const;
  // Moves it, and makes sure that it is there, and alive. Errors: "process_gone", "cgroup_io".
  Result<void> move_to(const Cgroup& to) const;

 private:
  HeldProcess(int pidfd, pid_t pid) : pidfd_(pidfd), pid_(pid) {}
  Result<void> wait_until_stopped() const;
  Result<void> check(const Owner& owner) const;
  bool alive() const;

  int pidfd_;
  pid_t pid_;
};

}  // namespace sbpf::agent
