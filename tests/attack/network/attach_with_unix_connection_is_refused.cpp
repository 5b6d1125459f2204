// SPDX-License-Identifier: Apache-2.0
// Connections to servers of the outside from before, which go on hearing them: by a path, by an abstract name, and as packets.
// One bound the client's end first, as one's own server would have it; one is known by the rule of another socket.
#include "tests/attack/lib/net.h"

using namespace attack;

ATTACK(attach_with_unix_connection_is_refused, {.victim = Victim::unix_stream, .allow = "unix: [\"{path}\"]", .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_path(ctx.text("path")));
  ctx.join();
  send_text(fd, ctx.token);
}

ATTACK(attach_with_unix_connection_and_another_rule_is_refused,
       {.victim = Victim::unix_stream, .allow = "unix: [\"{path}\"]", .deny = "unix: [\"{path}.other\", \"@{path}\"]", .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_path(ctx.text("path")));
  ctx.join();
  send_text(fd, ctx.token);
}

ATTACK(attach_with_named_unix_connection_is_refused, {.victim = Victim::unix_stream, .allow = "unix: [\"{path}\"]", .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  const sockaddr_un automatic{.sun_family = AF_UNIX, .sun_path = {}};
  must(bind(fd.get(), reinterpret_cast<const sockaddr*>(&automatic), sizeof(sa_family_t)), "bind");
  connect_to(fd, unix_path(ctx.text("path")));
  ctx.join();
  send_text(fd, ctx.token);
}

ATTACK(attach_with_abstract_unix_connection_is_refused,
       {.victim = Victim::unix_stream_abstract, .allow = "unix: [\"@{name}\"]", .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  connect_to(fd, unix_abstract(ctx.text("name")));
  ctx.join();
  send_text(fd, ctx.token);
}

ATTACK(attach_with_unix_seqpacket_connection_is_refused,
       {.victim = Victim::unix_seqpacket, .allow = "unix: [\"{path}\"]", .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_SEQPACKET);
  connect_to(fd, unix_path(ctx.text("path")));
  ctx.join();
  send_text(fd, ctx.token);
}
