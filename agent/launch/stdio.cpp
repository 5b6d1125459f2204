// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/stdio.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "agent/host/socket_end.h"

namespace sbpf::agent {
namespace {

// A connected AF_UNIX stream as stdio is the operator's own channel (a node parent, journald) and is named in the
// record; a datagram socket could be turned to other peers and is not. An inet socket is a way around the policy, as
// the cgroup hooks do not see it; the LSM layer judges what is sent by it, so one whose peer the policy allows anyway
// may stay.
bool peer_is_allowed(int fd, int type, const policy::Image& image) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if ((image.header().flags & SBPF_POLICY_NET_ALLOW_ALL) != 0) return true;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return false;
  policy::NetQuery query;
  query.proto = type == SOCK_STREAM ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;
  const auto peer = socket_end(storage);
  if (!peer) return false;
  query.address = peer->address;
  query.port = peer->port;
  return policy::allows(image, query);
}

}  // namespace

Result<std::array<std::uint64_t, 3>> inspect_stdio(const policy::Image& image, const std::array<int, 3>& fds) {
  std::array<std::uint64_t, 3> inodes{};
  for (std::size_t i = 0; i < fds.size(); i++) {
    const int fd = fds[i];
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    int family = 0, type = 0;
    socklen_t size = sizeof family;
    if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0 ||
        ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
      return fail("inherited_socket", fmt::format("descriptor {} is a socket of unknown kind", i), "", errno);
    if (family != AF_UNIX && !peer_is_allowed(fd, type, image))
      return fail("inherited_socket",
                  fmt::format("descriptor {} is a network socket whose peer the policy does not allow", i),
                  "redirect it: a socket made outside the sandbox is not under its policy");
    if (family == AF_UNIX && type != SOCK_DGRAM) inodes[i] = info.st_ino;
  }
  return inodes;
}

}  // namespace sbpf::agent
