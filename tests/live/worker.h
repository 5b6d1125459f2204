// SPDX-License-Identifier: Apache-2.0
// A process in a sandbox that does what is asked of it, through memory that both share and a pipe each way.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "tests/live/test_sandbox.h"

namespace sbpf::live {

template <typename Shared>
class Worker {
 public:
  // `work` runs in the sandbox, gets the ends of the pipes that are its own, and never returns.
  Worker(TestSandbox& sandbox, void (*work)(Shared& shared, int orders, int reports)) {
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int down[2], up[2];
    if (memory == MAP_FAILED || ::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) return;
    shared = static_cast<Shared*>(memory);
    auto pid = sandbox.clone(pidfd_);
    if (pid && *pid == 0) {
      ::close(down[1]);  // or it would not see that we are gone
      work(*shared, down[0], up[1]);
      ::_exit(1);
    }
    ::close(down[0]);
    ::close(up[1]);
    orders_ = Fd(down[1]);
    reports_ = Fd(up[0]);
    alive = pid.has_value();
  }

  // Lets it go on. False, and `alive` no more: it is gone.
  bool order() { return alive = alive && ::write(orders_.get(), "g", 1) == 1; }
  // Waits for what it writes. Likewise.
  template <typename Report>
  bool report(Report& told) {
    return alive = alive && ::read(reports_.get(), &told, sizeof told) == sizeof told;
  }

  Shared* shared = nullptr;
  bool alive = false;

 private:
  Fd orders_, reports_, pidfd_;
};

}  // namespace sbpf::live
