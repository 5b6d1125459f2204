// SPDX-License-Identifier: Apache-2.0
// A listener from before: what it accepts belongs to the cgroup in which it was made.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(premade_listener_reply_is_refused,
       {.victim = Victim::early_client_tcp4, .at = "send", .launch = Launch::attach}) {
  const Fd listener = open_socket(AF_INET, SOCK_STREAM);
  bind_to(listener, v4("127.0.0.1", ctx.port));
  listen_on(listener);
  ctx.join();
  Fd fd(must(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
  send_text(fd, ctx.token);
  ctx.keep(std::move(fd));
}
