// SPDX-License-Identifier: Apache-2.0
// SignalsBlocked: holds back all signals that others send, as long as it lives. A child of fork() starts with them
// blocked.
#pragma once

#include <signal.h>

namespace sbpf {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    // A process's own faults are its own.
    for (const int fault : {SIGSEGV, SIGILL, SIGBUS, SIGFPE, SIGTRAP, SIGSYS}) ::sigdelset(&all, fault);
    ::sigprocmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace sbpf
