// SPDX-License-Identifier: Apache-2.0
#include "agent/guardian.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "agent/change.h"

namespace sbpf::agent {
namespace {

[[noreturn]] void wait_and_mend(Kernel& kernel, int pipe) {
  ::setsid();
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(number, SIG_IGN);
  // Whoever reads what the command prints does not wait for this process.
  const Fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int i = 0; i < 3; i++) (void)::dup2(nowhere.get(), i);
  char word = 0;
  ssize_t n = 0;
  do n = ::read(pipe, &word, 1);
  while (n < 0 && errno == EINTR);
  if (n == 0) mend(kernel);
  ::_exit(0);
}

}  // namespace

Guardian::Guardian(Kernel& kernel) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return;
  const Fd reader(ends[0]);
  pipe_ = Fd(ends[1]);
  pid_ = ::fork();
  if (pid_ != 0) return;
  pipe_.reset();
  wait_and_mend(kernel, reader.get());
}

Guardian::~Guardian() {
  if (pid_ <= 0) return;
  const char well = 1;
  if (::write(pipe_.get(), &well, 1) != 1) ::kill(pid_, SIGKILL);  // ours, and not waited for
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace sbpf::agent
