// SPDX-License-Identifier: Apache-2.0
// A connection from before that no descriptor of the process names: in the table of one of its threads, on its way in a socket,
// registered with an io_uring.
#include <sched.h>
#include <unistd.h>

#include <cstring>

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
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  char byte = 'f';
  iovec part = {&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  {
    const Fd fd = connection(ctx);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = fd.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof(number));
    must(sendmsg(from.get(), &message, 0), "sendmsg");
  }
  ctx.join();
  must(recvmsg(to.get(), &message, 0), "recvmsg");
  int number = -1;
  if (cmsghdr* header = CMSG_FIRSTHDR(&message)) std::memcpy(&number, CMSG_DATA(header), sizeof(number));
  send_text(Fd(number), ctx.token);
}

ATTACK(attach_with_connection_registered_with_uring_is_refused, {.victim = Victim::tcp4, .launch = Launch::attach_refused}) {
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

// The tables of the process's own network namespace do not have it.
ATTACK(attach_with_connection_of_other_netns_is_refused, {.victim = Victim::tcp4, .launch = Launch::attach_refused, .root = true}) {
  const Fd fd = connection(ctx);
  must(unshare(CLONE_NEWNET), "unshare");
  ctx.join();
  send_text(fd, ctx.token);
}
