// SPDX-License-Identifier: Apache-2.0
// Connections to servers of the outside from before, which go on hearing them: by a path, by an abstract name, and as
// packets. One bound the client's end first, as one's own server would have it; one is known by the rule of another
// socket.
#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

constexpr const char* kThisPath = "unix: [\"{path}\"]";
constexpr const char* kThisName = "unix: [\"@{name}\"]";

// Connects, and uses the connection once it is in the sandbox.
void hold(const Context& ctx, const Fd& fd, const Address& peer) {
  connect_to(fd, peer);
  ctx.join();
  send_text(fd, ctx.token);
}

}  // namespace

ATTACK(attach_with_unix_connection_is_refused,
       {.victim = Victim::unix_stream, .allow = kThisPath, .launch = Launch::attach_inside_refused}) {
  hold(ctx, open_socket(AF_UNIX, SOCK_STREAM), unix_path(ctx.text("path")));
}

ATTACK(attach_with_unix_connection_and_another_rule_is_refused, {.victim = Victim::unix_stream,
                                                                 .allow = kThisPath,
                                                                 .deny = "unix: [\"{path}.other\", \"@{path}\"]",
                                                                 .launch = Launch::attach_inside_refused}) {
  hold(ctx, open_socket(AF_UNIX, SOCK_STREAM), unix_path(ctx.text("path")));
}

ATTACK(attach_with_named_unix_connection_is_refused,
       {.victim = Victim::unix_stream, .allow = kThisPath, .launch = Launch::attach_inside_refused}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_STREAM);
  const sockaddr_un automatic{.sun_family = AF_UNIX, .sun_path = {}};
  must(bind(fd.get(), reinterpret_cast<const sockaddr*>(&automatic), sizeof(sa_family_t)), "bind");
  hold(ctx, fd, unix_path(ctx.text("path")));
}

ATTACK(attach_with_abstract_unix_connection_is_refused,
       {.victim = Victim::unix_stream_abstract, .allow = kThisName, .launch = Launch::attach_inside_refused}) {
  hold(ctx, open_socket(AF_UNIX, SOCK_STREAM), unix_abstract(ctx.text("name")));
}

ATTACK(attach_with_unix_seqpacket_connection_is_refused,
       {.victim = Victim::unix_seqpacket, .allow = kThisPath, .launch = Launch::attach_inside_refused}) {
  hold(ctx, open_socket(AF_UNIX, SOCK_SEQPACKET), unix_path(ctx.text("path")));
}
