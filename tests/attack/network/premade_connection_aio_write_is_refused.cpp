// SPDX-License-Identifier: Apache-2.0
// The same by io_submit.
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_connection_aio_write_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "aio write", .launch = Launch::attach}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  aio_context_t aio = 0;
  must(syscall(SYS_io_setup, 1, &aio), "io_setup");
  iocb request{};
  request.aio_fildes = static_cast<__u32>(fd.get());
  request.aio_lio_opcode = IOCB_CMD_PWRITE;
  request.aio_buf = reinterpret_cast<std::uintptr_t>(ctx.token.data());
  request.aio_nbytes = ctx.token.size();
  iocb* requests[1] = {&request};
  must(syscall(SYS_io_submit, aio, 1, requests), "io_submit");
  io_event event{};
  must(syscall(SYS_io_getevents, aio, 1, 1, &event, nullptr), "io_getevents");
  if (event.res < 0) throw Failure{static_cast<int>(-event.res), "aio write"};
}
