// SPDX-License-Identifier: Apache-2.0
// cgroup v2: found by its mount, held by descriptors, spawned into by clone3.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/host/paths.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/seen.h"
#include "policy/policy.h"

namespace sbpf::agent {

// A directory of the cgroup2 filesystem, held open: a later cgroup of the same path is another one.
class Cgroup {
 public:
  // Opens an existing cgroup. Errors: "cgroup_not_found" with errno, "not_a_cgroup" (a v1 or plain directory).
  static Result<Cgroup> open(const std::string& path);
  // Opens the cgroup of this id. Errors: "cgroup_gone": the kernel says that there is none (is_gone());
  // "cgroup_hidden": it cannot be told, and nobody may act as if it were gone.
  static Result<Cgroup> open_by_id(std::uint64_t id);
  // The same for callers that open many: `mount` is cgroup2_mount().
  static Result<Cgroup> open_by_id(std::uint64_t id, const std::string& mount);
  // Makes a directory and opens it. Errors: "cgroup_exists", "cgroup_create".
  static Result<Cgroup> create(const std::string& path);

  int fd() const { return fd_.get(); }
  std::uint64_t id() const { return id_; }
  // Depth below the hierarchy's root, which has level 0.
  std::uint32_t level() const { return level_; }
  const std::string& path() const { return path_; }

  // Reads or writes one of its files, e.g. "cgroup.kill". Errors: "cgroup_io" with errno.
  Result<std::string> read(const char* file) const;
  Result<void> write(const char* file, const std::string& value) const;

  // Calls `each` with the path of this cgroup and of all below it, which gives 0 or an errno; one that is gone
  // meanwhile is passed over. 0, or the errno that ended it.
  int visit(const std::function<int(const std::string&)>& each) const;
  // Pids of this cgroup and all below it.
  Result<std::vector<pid_t>> processes() const;
  bool populated() const;  // also where it cannot be told
  bool frozen() const;
  // Was it, or one above it, told to freeze? A process that is started in it stops, even while a process that waits for
  // a disk keeps the cgroup from being frozen.
  bool is_freezing() const;
  // Is it, or one above it, at a limit of memory or processes, so that a process in it may have to wait or cannot
  // start?
  bool at_limit() const;
  // Is it there still? Needs no descriptor where none is free to tell that it is gone.
  Seen seen() const;
  // Freezes or thaws; returns when the kernel reports it done. Errors: "cgroup_freeze" after 10 s.
  Result<void> freeze(bool on) const;
  // Kills all processes and waits until they are gone. Errors: "cgroup_kill" after 10 s.
  Result<void> kill() const;
  // Kills them one by one, frozen so that none is born meanwhile, and does not wait. After cgroup.kill some kernels
  // (6.12) also kill whatever clone3 starts there from outside, for as long as the cgroup lives, and service managers
  // start units so. Errors: "cgroup_io".
  Result<void> kill_processes() const;

 private:
  static Result<Cgroup> adopt(Fd fd, const std::string& path, const std::string& mount);

  Fd fd_;
  std::uint64_t id_ = 0;
  std::uint32_t level_ = 0;
  std::string path_;
};

// Is this error of Cgroup::open_by_id() the kernel's word that there is no such cgroup?
bool is_gone(const Error& error);

// Mount point of the cgroup2 hierarchy (on hybrid hosts too). Errors: "no_cgroup2", "cgroup_namespace".
Result<std::string> cgroup2_mount();

// The id of sbpf's root cgroup, which is not made. Errors: "cgroup_gone", "cgroup_hidden"; those of cgroup2_mount().
Result<std::uint64_t> root_cgroup_id();

// sbpf's own root cgroup, made if it is not there, with pids, memory and cpu handed down.
Result<Cgroup> root_cgroup();

// Is the path that of a cgroup below sbpf's root: of a run, or of a program in one? `mount` is cgroup2_mount().
inline bool is_made_by_sbpf(const std::string& path, const std::string& mount) {
  return path.starts_with(fmt::format("{}/{}/", mount, kRootCgroupName));
}

// A cgroup at the top of the hierarchy, likewise.
Result<Cgroup> top_cgroup(const std::string& name);

// Removes an empty cgroup with all (empty) cgroups below it. Gone already is success.
Result<void> remove_cgroup(const std::string& path);

// Switches the controllers on that limits need, as far as they can be, at `mount` and in the slices above `path`, which
// have no processes of their own: systemd does so when it starts a unit, and a cgroup may be there before its unit.
void hand_down_in_slices(const std::string& mount, const std::string& path);

// clone3 straight into the cgroup; the child returns with pid 0. `pidfd` receives the child's pidfd in the parent.
// Errors: "spawn" with errno (EBUSY: the cgroup has controllers on and takes no processes itself).
Result<pid_t> clone_into(const Cgroup& cgroup, Fd& pidfd);

}  // namespace sbpf::agent
