// SPDX-License-Identifier: Apache-2.0
// The same by sendfile. Before 6.5 it passes socket_sendmsg by: there `sbpf attach` must not accept the socket.
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(
    premade_connection_sendfile_is_refused,
    {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "sendfile", .launch = Launch::attach, .gap_before_6_5 = true}) {
  const Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  ctx.join();
  const Fd file(static_cast<int>(must(memfd_create("token", MFD_CLOEXEC), "memfd_create")));
  write_text(file, ctx.token);
  off_t offset = 0;
  must(sendfile(fd.get(), file.get(), &offset, ctx.token.size()), "sendfile");
}
