// SPDX-License-Identifier: Apache-2.0
#include "service/peer.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/mounts.h"
#include "base/proc_cgroup.h"

namespace sbpf::service {
namespace {

constexpr std::string_view kOwnCgroup = "/sbpf";  // where `sbpf run` puts its sandboxes

bool within(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

Error unknown(std::string what, int number) {
  return Error{"peer_unknown",
               fmt::format("cannot tell who is calling: {}", what),
               "call from a process that still runs",
               number,
               "",
               false};
}

}  // namespace

Result<Peer> peer_of(int connected_socket) {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(connected_socket, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0)
    return tl::unexpected<Error>(unknown(std::strerror(errno), errno));
  Peer peer{found.pid, found.uid, found.gid, {}};
  constexpr std::size_t kMostGroups = 65536;  // the kernel's NGROUPS_MAX
  peer.groups.resize(kMostGroups);
  size = static_cast<socklen_t>(kMostGroups * sizeof(gid_t));
  if (::getsockopt(connected_socket, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) != 0)
    return tl::unexpected<Error>(unknown(std::strerror(errno), errno));
  peer.groups.resize(size / sizeof(gid_t));
  peer.groups.shrink_to_fit();
  return peer;
}

Result<std::string> cgroup_of(pid_t pid) {
  if (pid <= 0) return tl::unexpected<Error>(unknown("its process is in another PID namespace", 0));
  const std::string cgroups = read_file(fmt::format("/proc/{}/cgroup", pid));
  const std::string_view path = unified_cgroup(cgroups);
  if (path.empty()) return tl::unexpected<Error>(unknown(fmt::format("its process {} is gone", pid), ESRCH));
  return std::string(path);
}

std::string cgroup_root(const std::string& mountinfo) {
  for (const Mount& mount : parse_mounts(mountinfo))
    if (mount.type == "cgroup2" && mount.root == "/") return mount.point;
  return "";
}

std::string sandbox_of(const std::string& cgroup, const std::string& root,
                       const std::map<std::string, Json>& sandboxes) {
  for (const auto& [name, sandbox] : sandboxes) {
    const auto found = sandbox.find("cgroup");
    if (found == sandbox.end() || !found->is_string()) continue;
    const std::string path = found->get<std::string>();
    if (within(path, root) && path.size() > root.size() && within(cgroup, std::string_view(path).substr(root.size())))
      return name;
  }
  if (within(cgroup, kOwnCgroup) && cgroup.size() > kOwnCgroup.size() + 1) {
    const std::string below = cgroup.substr(kOwnCgroup.size() + 1);
    return below.substr(0, below.find('/'));
  }
  return "";
}

Result<void> may(const Peer& peer, Wants what, gid_t group) {
  if (peer.uid == 0) return {};
  if (what == Wants::change)
    return fail("not_permitted", fmt::format("only root may change sandboxes, and the caller has uid {}", peer.uid),
                "call as root");
  if (peer.gid == group || std::ranges::find(peer.groups, group) != peer.groups.end()) return {};
  return fail("not_permitted", fmt::format("uid {} is not in the service's group", peer.uid),
              "add the user to the service's group, or call as root");
}

}  // namespace sbpf::service
