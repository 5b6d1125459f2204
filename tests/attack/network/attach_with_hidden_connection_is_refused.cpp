// SPDX-License-Identifier: Apache-2.0
// A connection from before that no descriptor of the process names: in the table of one of its threads, on its way in a
// socket, registered with an io_uring.
#include <sched.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

namespace {

Fd connection(const Context& ctx) {
  Fd fd = open_socket(AF_INET, SOCK_STREAM);
  connect_to(fd, v4("127.0.0.1", ctx.port));
  return fd;
}

}  // namespace

ATTACK(attach_with_connection_of_thread_is_refused, {.victim = Victim::tcp4, .launch = Launch::attach_refused}) {
  in_thread([&] {
    must(unshare(CLONE_FILES), "unshare");
    const Fd fd = connection(ctx);
    ctx.join();
    send_text(fd, ctx.token);
  });
}

ATTACK(attach_with_connection_on_its_way_is_refused, {.victim = Victim::tcp4, .launch = Launch::attach_refused}) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const Fd from(ends[0]), to(ends[1]);
  send_fd(from.get(), connection(ctx));
  ctx.join();
  send_text(receive_fd(to.get()), ctx.token);
}

// What is registered cannot be told, so no policy lets it be.
ATTACK(attach_with_connection_registered_with_uring_is_refused,
       {.victim = Victim::tcp4, .allow = kNever, .launch = Launch::attach_refused}) {
  Ring ring;
  {
    const Fd fd = connection(ctx);
    ring.register_file(fd.get());
  }
  ctx.join();
  io_uring_sqe* request = ring.request();
  io_uring_prep_write(request, 0, ctx.token.data(), static_cast<unsigned>(ctx.token.size()), 0);
  io_uring_sqe_set_flags(request, IOSQE_FIXED_FILE);
  ring.complete("write");
}

// A ring with nothing registered hides nothing.
ATTACK(attach_with_empty_ring_is_free, {.victim = Victim::tcp4, .launch = Launch::attach_refused, .harmless = true}) {
  const Ring ring;
  ctx.join();
}

// The tables of the process's own network namespace do not have it.
ATTACK(attach_with_connection_of_other_netns_is_refused,
       {.victim = Victim::tcp4, .launch = Launch::attach_refused, .root = true}) {
  const Fd fd = connection(ctx);
  must(unshare(CLONE_NEWNET), "unshare");
  ctx.join();
  send_text(fd, ctx.token);
}
