// SPDX-License-Identifier: Apache-2.0
// A program that exists in no file system. The report is that program's.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(connect_from_memfd_program_is_refused, {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect"}) {
  const Fd self = open_file("/proc/self/exe", O_RDONLY);
  struct stat info {};
  must(fstat(self.get(), &info), "fstat");
  const Fd copy(static_cast<int>(must(memfd_create("program", MFD_CLOEXEC), "memfd_create")));
  for (off_t done = 0; done < info.st_size;)
    must(sendfile(copy.get(), self.get(), &done, static_cast<std::size_t>(info.st_size - done)), "copy");
  exec_attack_fd(copy.get(), "tcp4_connect_is_refused", ctx);
}
