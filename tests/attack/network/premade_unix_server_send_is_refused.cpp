// SPDX-License-Identifier: Apache-2.0
// A connection to an AF_UNIX server that was made before the process joined: the server's socket is not the sandbox's.
// Nor is the connection when the same process has a server of the same name inside.
#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

Fd early_server(const Context& ctx) {
  Fd listener = open_socket(AF_UNIX, SOCK_STREAM);
  bind_to(listener, unix_abstract(ctx.text("name")));
  listen_on(listener);
  return listener;
}

Fd accepted_by(const Fd& listener) {
  return Fd(must(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
}

constexpr Spec kEarlyServer = {.victim = Victim::early_client_unix, .at = "send", .launch = Launch::attach};

}  // namespace

ATTACK(premade_unix_server_send_is_refused, {kEarlyServer}) {
  const Fd listener = early_server(ctx);
  ctx.join();
  Fd fd = accepted_by(listener);
  send_text(fd, ctx.token);
  ctx.keep(std::move(fd));
}

ATTACK(premade_unix_server_send_beside_own_server_is_refused, {kEarlyServer}) {
  Fd listener = early_server(ctx);
  ctx.join();
  Fd fd = accepted_by(listener);
  listener = Fd();
  const Fd own = early_server(ctx);
  send_text(fd, ctx.token);
  ctx.keep(std::move(fd));
}
