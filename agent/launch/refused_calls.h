// SPDX-License-Identifier: Apache-2.0
// What a seccomp filter refuses, told: the kernel asks a listener of sbpf's, which answers EPERM. Without the listener
// the call is refused as well, with ENOSYS: no answer lets it through.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "agent/launch/spawn.h"
#include "agent/sandbox/events.h"
#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

struct RefusedCall {
  int number = -1;
  pid_t pid = -1, thread = -1;
  uid_t uid = 0;        // root's where the process may not be looked into
  std::string program;  // the name of the task
};

// Has the last filter of the launch ask where it refused with EPERM, and send its listener to this socket. A call that
// it says does not exist (ENOSYS) stays one: programs look for such calls, and do without.
void ask(Launch& launch, int listener_to);

// Where the calls of one program, and of its children, are told.
class RefusedCalls {
 public:
  // For a launch by this policy's filters; nothing comes of it where they are an operator's own, which need not let
  // their listener be sent, or there are none. Errors: "spawn".
  static Result<RefusedCalls> make(Launch& launch, const policy::Seccomp& seccomp);
  // The program's process was started, and has its end of the socket; this process closes its own copy.
  void child_started() { child_end_.reset(); }
  // The inode of that end, which the sandbox's hooks have to let pass; 0: there is none.
  std::uint64_t child_inode() const;
  // Readable when take() has something to do; -1: nothing comes any more.
  int fd() const { return listener_ ? listener_.get() : socket_.get(); }
  // Takes the listener, or answers some of those that wait and tells `told` of them. A sandbox may have any number of
  // them, so that in each period of pass() only so many are answered, and few at once; the rest waits.
  void take(const std::function<void(const RefusedCall&)>& told);
  // Has this period had its number?
  bool is_over_rate() const { return answered_ >= kMost; }
  void pass() { answered_ = 0; }

  static constexpr unsigned kMost = 2000;

 private:
  void take_listener();
  void answer(const std::function<void(const RefusedCall&)>& told);

  Fd socket_, child_end_, listener_;
  unsigned answered_ = 0;
};

// Sends the listener of a filter that was just installed. 0, or the errno.
int send_listener(int to, int listener);

// Puts it into the sandbox's ring.
void announce_call(const Kernel& kernel, std::uint64_t cgroup_id, const RefusedCall& call);

// As an event that is in no ring.
Event event_of(const RefusedCall& call, const std::string& sandbox);

}  // namespace sbpf::agent
