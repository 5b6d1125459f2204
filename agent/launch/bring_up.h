// SPDX-License-Identifier: Apache-2.0
// Setting up a sandbox: the steps that run, adopt, attach and preflight share, and the undoing of each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "agent/launch/run_options.h"
#include "agent/sandbox/sandbox.h"
#include "agent/sandbox/status.h"

namespace sbpf::agent {

// Holds the host lock and the programs. Unless keep_all() was called, its destructor undoes what was done, in reverse;
// each part is safe to undo when it was never done.
class BringUp {
 public:
  // Takes the host lock, and loads the programs if they are not loaded. Where they are, or keep_programs() is called,
  // they stay. Errors: those of lock_host_to_load() and ready_kernel(), with what the host lacks.
  static Result<std::unique_ptr<BringUp>> begin();
  // The same for a test of this host's abilities: if programs are not pinned, they are loaded for this object alone,
  // and the sandbox is not pinned either. Errors: those of lock_host_to_load(), Kernel::ensure() and Kernel::load(), as
  // they are.
  static Result<std::unique_ptr<BringUp>> begin_unpinned();
  BringUp(const BringUp&) = delete;
  BringUp& operator=(const BringUp&) = delete;
  ~BringUp();

  Kernel& kernel() { return *kernel_; }
  // The host lock.
  const Fd& lock() const { return lock_; }

  // Makes the cgroup /sbpf/NAME with these limits. Undoing this ends the processes in it, the sandbox and the cgroup
  // itself. The name is free: check_new_name(). Errors: those of root_cgroup(), Cgroup::create() and apply_limits().
  Result<void> make_cgroup(const std::string& name, const policy::Limits& limits);
  // The same in another one.
  Result<void> make_cgroup_in(const Cgroup& above, const std::string& name, const policy::Limits& limits);
  // The one that was made.
  const Cgroup& cgroup() const { return *made_; }

  // Attaches the hooks, publishes the policy, and pins everything (sandbox.h: set_up). Errors: those of set_up(), or
  // what the host lacks.
  Result<void> set_up(const Cgroup& cgroup, const SandboxSpec& spec, const policy::Image& image);
  // Reads back how the sandbox stands, by a canary too if `canary`: then others may have the host lock meanwhile, if
  // the programs are pinned, as what runs inside can keep a canary from answering; the caller has no entry in the
  // journal. Errors: "isolation_not_active" where `is_enough` does not take it; "sandbox_setup" where its record is
  // gone; "sandbox_ended" where another one ended it meanwhile; "lock". Where another one swapped its policy meanwhile,
  // the status is read back once more, without a canary: was_swapped().
  template <typename IsEnough>
  Result<Status> prove(const Cgroup& cgroup, bool canary, IsEnough is_enough) {
    auto status = canary && pinned_ ? prove_unlocked(cgroup) : read_back(cgroup, canary);
    if (status && !is_enough(*status)) return not_active(*status);
    return status;
  }

  // Did another process publish a policy while the canary ran? Then that process reports the policy in force.
  bool was_swapped() const { return was_swapped_; }

  // Takes the sandbox in the cgroup that was made down again.
  void take_down();

  // The sandbox is up, and the programs stay, whatever becomes of it.
  void keep_programs() { keep_programs_ = true; }
  // All went well, and everything stays.
  void keep_all();
  // Lets others have the host lock while the program runs: its cgroup is populated, so no one collects it. Who undoes
  // takes it again.
  void release_lock();
  // For the undoing, once nothing runs in it any more: takes the lock again. Where another one keeps it, the cgroup is
  // left to the next command, with a warning.
  void lock_for_rollback(const RunOptions& options);

 private:
  // A user who may remove an empty cgroup may have removed sbpf's root: makes the programs know it again.
  Result<void> take(Kernel kernel);
  BringUp(Fd lock, bool pinned) : lock_(std::move(lock)), pinned_(pinned), keep_programs_(Kernel::is_pinned()) {}
  Result<Status> read_back(const Cgroup& cgroup, bool canary);
  Result<Status> prove_unlocked(const Cgroup& cgroup);
  static tl::unexpected<Error> not_active(const Status& status);
  // Is it proven that no sandbox but this one came up since the host lock was taken? Others could while it was not
  // held.
  bool nobody_came() const;

  Fd lock_;
  bool pinned_;
  bool keep_programs_;
  bool keep_cgroup_ = false;
  bool unlocked_ = false;  // the host lock was not held all the while
  bool was_swapped_ = false;
  std::optional<Kernel> kernel_;
  std::optional<Cgroup> made_;
  std::string name_;       // of the sandbox in the cgroup that was made
  std::vector<Fd> links_;  // that no pin holds
};

}  // namespace sbpf::agent
