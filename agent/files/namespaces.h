// SPDX-License-Identifier: Apache-2.0
// Private places of a sandbox that `run` makes: on a plain host programs of one uid share them, but each sandbox has
// its own. They are made from outside, before anything runs in the sandbox, because inside the hooks refuse mounts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// /proc and the like: what a sandbox of `run` has of its own, whatever its policy says.
std::set<std::string> places_made_anew();

// For good, what NamespaceStay does for a time: for a process that is to become a program of the sandbox. It has one
// thread, and is not trusted after an error. Errors: those of in_private_places(), of in_sandbox().
Result<void> enter_private_places(const Fd& network, const Fd& workspace, const std::set<std::string>& places);
Result<void> enter_sandbox(pid_t pid, std::uint64_t mounts);

// This thread's stay in other namespaces. Ends with the object; back() also says whether it did.
class NamespaceStay {
 public:
  // Could this thread return after it has left? Once the program's process exists it would be too late to ask. Errors:
  // "namespace".
  static Result<void> check_way_back();
  // Enters a mount and an IPC namespace of its own, in which these are made anew:
  //   /proc         shows a task only to those that may trace it, so that the hooks hide every other sandbox and the host
  //   /dev/shm      a tmpfs (where the host has the directory)
  //   /dev/mqueue   the new IPC namespace's (where the host has it mounted); System V IPC is that namespace's, too
  // and the directories `places` (private_places.h), and joins a new session keyring, which this thread keeps. Mounts
  // that the host makes later still appear. It also enters `network`, if that is open: the network namespace that was
  // made for the sandbox; and `workspace`, a directory, likewise, which is /workspace there. Errors: "private_places",
  // naming the place; this thread is then where it was.
  static Result<NamespaceStay> in_private_places(const Fd& network, const Fd& workspace,
                                                 const std::set<std::string>& places);
  // Enters the mount namespace of a process; "/" is then that namespace's root, even if the process has another root
  // directory. Errors: "namespace".
  static Result<NamespaceStay> with(pid_t pid);
  // Enters the places of a sandbox's program: the mount namespace of this number, in which the process `pid` is, its
  // IPC and its network namespace; and its working directory, if it has one still. Joins a new session keyring, which
  // this thread keeps. Errors: "no_namespace" (the process is elsewhere by now, or has ended), "namespace".
  static Result<NamespaceStay> in_sandbox(pid_t pid, std::uint64_t mounts);

  // Returns to the namespaces and the root that this thread had. From then on its working directory is that root: the
  // old working directory may lie on a file system that gives no answer by now. Errors: "namespace".
  Result<void> back();

  NamespaceStay(NamespaceStay&&) noexcept = default;
  NamespaceStay& operator=(NamespaceStay&&) noexcept = default;
  ~NamespaceStay() { (void)back(); }

 private:
  NamespaceStay() = default;
  static Result<NamespaceStay> begin();

  Fd mounts_, ipc_, network_, root_;  // where this thread was; none: it is there
};

// The base for looking up paths: a root directory, and the mounts that can be reached from it.
struct MountView {
  Fd root;                   // O_PATH
  std::string mountinfo;     // as /proc/PID/mountinfo
  std::uint64_t mounts = 0;  // the number of the mount namespace; 0: it is not told
  uid_t asker = 0;           // the user that the policy is for: this user's symbolic links are followed, as uid 0's are
  bool owner_asks = false;   // who owns the root is, of a container whose root is another user of the host
  // A directory in which no symbolic link is followed, whoever made it; "": there is none.
  std::string left_by_others = {};
  bool made_by_run = false;  // root's `sbpf run` made the sandbox, or makes it
};

// The number of a namespace of a task, by its directory in /proc and the kind ("mnt", "net"…); 0: it has none any more,
// or it cannot be told.
std::uint64_t namespace_number(const std::string& task_directory, const char* kind);
// The number of the mount namespace of a task, a name in /proc; 0: it cannot be told.
std::uint64_t mount_namespace(const std::string& task);

// This thread's own mount view; that of a process (its root directory); that of the mount namespace in which a process
// is. Errors: "fs_view", "namespace".
Result<MountView> own_mount_view();
Result<MountView> mount_view_of_process(pid_t pid);
Result<MountView> mount_view_of_namespace(pid_t pid);

}  // namespace sbpf::agent
