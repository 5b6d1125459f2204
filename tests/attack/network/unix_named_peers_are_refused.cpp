// SPDX-License-Identifier: Apache-2.0
// AF_UNIX sockets of the outside, under policies that name others in network.unix: names that are alike, and ways to bring a
// socket to where a rule opens what lies there.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

constexpr const char* kThisPath = "unix: [\"{path}\"]";
constexpr const char* kThisName = "unix: [\"@{name}\"]";
constexpr const char* kOtherPaths = "unix: [\"{path}s\", \"{path}s/below\", \"{host}/open\"]";
constexpr const char* kOtherNames = "unix: [\"@{name}s\", \"@sbpf-attack\", \"/{name}\"]";
constexpr const char* kBothPlaces = "unix: [\"{path}\", \"{host}/open\"]";

// A directory whose sockets the policy opens. It stays for the runs after this one.
std::string open_directory(const Context& ctx) {
  const std::string path = ctx.text("host") + "/open";
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) throw Failure{errno, "mkdir"};
  return path;
}

void talk(const Context& ctx, const Address& peer, int type = SOCK_STREAM) {
  const Fd fd = open_socket(AF_UNIX, type);
  connect_to(fd, peer);
  send_text(fd, ctx.token);
}

}  // namespace

ATTACK(unix_stream_beside_named_ones_is_refused,
       {.victim = Victim::unix_stream, .allow = kThisPath, .deny = kOtherPaths, .at = "connect"}) {
  talk(ctx, unix_path(ctx.text("path")));
}

ATTACK(unix_seqpacket_beside_named_ones_is_refused,
       {.victim = Victim::unix_seqpacket, .allow = kThisPath, .deny = kOtherPaths, .at = "connect"}) {
  talk(ctx, unix_path(ctx.text("path")), SOCK_SEQPACKET);
}

ATTACK(unix_dgram_beside_named_ones_is_refused,
       {.victim = Victim::unix_dgram, .allow = kThisPath, .deny = kOtherPaths, .at = "sendto"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  send_text_to(fd, ctx.token, unix_path(ctx.text("path")));
}

ATTACK(unix_connected_dgram_beside_named_ones_is_refused,
       {.victim = Victim::unix_dgram, .allow = kThisPath, .deny = kOtherPaths, .at = "connect"}) {
  talk(ctx, unix_path(ctx.text("path")), SOCK_DGRAM);
}

ATTACK(unix_stream_beside_named_directory_is_refused,
       {.victim = Victim::unix_stream, .allow = "unix: [\"{host}\"]", .deny = kOtherPaths, .at = "connect"}) {
  talk(ctx, unix_path(ctx.text("path")));
}

ATTACK(unix_abstract_stream_beside_named_ones_is_refused,
       {.victim = Victim::unix_stream_abstract, .allow = kThisName, .deny = kOtherNames, .at = "connect"}) {
  talk(ctx, unix_abstract(ctx.text("name")));
}

ATTACK(unix_abstract_dgram_beside_named_ones_is_refused,
       {.victim = Victim::unix_dgram_abstract, .allow = kThisName, .deny = kOtherNames, .at = "sendto"}) {
  const Fd fd = open_socket(AF_UNIX, SOCK_DGRAM);
  send_text_to(fd, ctx.token, unix_abstract(ctx.text("name")));
}

ATTACK(unix_symlink_in_named_directory_is_refused,
       {.victim = Victim::unix_stream, .allow = kThisPath, .deny = kOtherPaths, .at = "connect", .root = true}) {
  const std::string link = open_directory(ctx) + "/link";
  unlink(link.c_str());
  must(symlink(ctx.text("path").c_str(), link.c_str()), "symlink");
  talk(ctx, unix_path(link));
}

ATTACK(unix_hard_link_in_named_directory_is_refused,
       {.victim = Victim::unix_stream, .allow = kThisPath, .deny = kOtherPaths, .at = "connect", .root = true}) {
  const std::string link = open_directory(ctx) + "/hard";
  unlink(link.c_str());
  must(::link(ctx.text("path").c_str(), link.c_str()), "link");
  talk(ctx, unix_path(link));
}

ATTACK(unix_socket_moved_into_named_directory_is_refused,
       {.victim = Victim::unix_stream, .allow = kBothPlaces, .deny = kOtherPaths, .at = "rename", .root = true}) {
  const std::string moved = open_directory(ctx) + "/moved";
  must(rename(ctx.text("path").c_str(), moved.c_str()), "rename");
  talk(ctx, unix_path(moved));
}

ATTACK(unix_socket_exchanged_with_named_one_is_refused,
       {.victim = Victim::unix_stream, .allow = kBothPlaces, .deny = kOtherPaths, .at = "renameat2", .root = true}) {
  const std::string bait = open_directory(ctx) + "/bait";
  unlink(bait.c_str());
  close(must(open(bait.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600), "open"));
  must(syscall(SYS_renameat2, AT_FDCWD, bait.c_str(), AT_FDCWD, ctx.text("path").c_str(), 2 /* RENAME_EXCHANGE */),
       "renameat2");
  talk(ctx, unix_path(bait));
}
