// SPDX-License-Identifier: Apache-2.0
// AF_UNIX sockets of the outside, under policies that name others in network.unix: names that are alike, and ways to
// bring a socket to where a rule opens what lies there.
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

constexpr const char* kWholeHost = "unix: [\"{host}\"]";
constexpr const char* kBelowAbove = "unix: [\"{host}/above/open\", \"{host}/later/open/deeper\"]";

// The victim's socket, as open/x in a directory that no rule names.
std::string beside(const Context& ctx, const std::string& below) {
  const std::string directory = ctx.text("host") + "/beside-" + ctx.token;
  std::string made = directory;
  must(mkdir(made.c_str(), 0755), "mkdir");
  for (std::size_t at = 0; at < below.size();) {
    const std::size_t end = std::min(below.find('/', at), below.size());
    made += "/" + below.substr(at, end - at);
    must(mkdir(made.c_str(), 0755), "mkdir");
    at = end + 1;
  }
  must(rename(ctx.text("path").c_str(), (made + "/x").c_str()), "rename of the socket");
  return directory;
}

void make_directory(const std::string& path) {
  if (mkdir(path.c_str(), 0755) != 0 && errno != EEXIST) throw Failure{errno, "mkdir"};
}

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

// The directory above the rule's: its name is what counts, whatever bears it.
ATTACK(unix_directory_above_a_named_one_replaced_is_refused,
       {.victim = Victim::unix_stream, .allow = kWholeHost, .deny = kBelowAbove, .at = "rename", .root = true}) {
  const std::string above = ctx.text("host") + "/above", other = beside(ctx, "open");
  make_directory(above);
  must(rename(above.c_str(), (above + "-" + ctx.token).c_str()), "rename");
  must(rename(other.c_str(), above.c_str()), "rename of the other");
  talk(ctx, unix_path(above + "/open/x"));
}

ATTACK(unix_directory_above_a_named_one_exchanged_is_refused,
       {.victim = Victim::unix_stream, .allow = kWholeHost, .deny = kBelowAbove, .at = "renameat2", .root = true}) {
  const std::string above = ctx.text("host") + "/above", other = beside(ctx, "open");
  make_directory(above);
  must(syscall(SYS_renameat2, AT_FDCWD, other.c_str(), AT_FDCWD, above.c_str(), 2 /* RENAME_EXCHANGE */), "renameat2");
  talk(ctx, unix_path(above + "/open/x"));
}

// Two levels above, and not there when the policy was published.
ATTACK(unix_directory_above_a_named_one_made_later_is_refused,
       {.victim = Victim::unix_stream, .allow = kWholeHost, .deny = kBelowAbove, .at = "rename", .root = true}) {
  const std::string above = ctx.text("host") + "/later", other = beside(ctx, "open/deeper");
  must(rename(other.c_str(), above.c_str()), "rename");
  talk(ctx, unix_path(above + "/open/deeper/x"));
  rename(above.c_str(), (above + "-" + ctx.token).c_str());  // so that it is not there the next time either
}

// Removed while it is empty, which harms nobody, and replaced.
ATTACK(unix_directory_above_a_named_one_removed_is_refused,
       {.victim = Victim::unix_stream, .allow = kWholeHost, .deny = kBelowAbove, .at = "rename", .root = true}) {
  const std::string above = ctx.text("host") + "/above", other = beside(ctx, "open");
  rename(above.c_str(),
         (above + "-before-" + ctx.token).c_str());  // what a run before this one left, where that is allowed
  make_directory(above);
  rmdir(above.c_str());
  must(rename(other.c_str(), above.c_str()), "rename");
  talk(ctx, unix_path(above + "/open/x"));
  rename(above.c_str(), (above + "-" + ctx.token).c_str());
}
