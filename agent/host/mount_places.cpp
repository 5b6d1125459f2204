// SPDX-License-Identifier: Apache-2.0
#include "agent/host/mount_places.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

namespace sbpf::agent {
namespace {

std::string joined(const std::string& top, const std::string& rest) {
  if (rest.empty()) return top;
  return (top == "/" ? "" : top) + rest;
}

// Is it mounted on none of the others? (The root of all is mounted on itself.)
bool is_bottom(const std::vector<Mount>& mounts, const Mount& mount) {
  return mount.parent == mount.id ||
         std::ranges::none_of(mounts, [&](const Mount& other) { return other.id == mount.parent; });
}

// The first mount that the kernel enters on its way to `path` from the mount `on`, or at all.
const Mount* next_on_the_way(const std::vector<Mount>& mounts, const std::string& path, const Mount* on) {
  const Mount* first = nullptr;
  for (const Mount& mount : mounts) {
    const bool on_it = on ? mount.parent == on->id && mount.id != on->id : is_bottom(mounts, mount);
    if (on_it && path_below(path, mount.point) && (!first || mount.point.size() < first->point.size())) first = &mount;
  }
  return first;
}

}  // namespace

std::optional<std::string> path_below(const std::string& path, const std::string& top) {
  if (top == "/") return path == "/" ? "" : path;
  if (path != top && !path.starts_with(top + "/")) return std::nullopt;
  return path.substr(top.size());
}

const Mount* mount_of(const std::vector<Mount>& mounts, const std::string& path) {
  const Mount* on = nullptr;
  while (const Mount* next = next_on_the_way(mounts, path, on)) on = next;
  return on;
}

std::vector<OtherPlace> other_places(const std::vector<Mount>& mounts, const Mount& on, const std::string& path) {
  std::vector<OtherPlace> others;
  const auto rest = path_below(path, on.point);
  if (!rest) return others;
  const std::string in_filesystem = joined(on.root, *rest);
  for (const Mount& mount : mounts) {
    const auto there =
        mount.device == on.device && mount.id != on.id ? path_below(in_filesystem, mount.root) : std::nullopt;
    if (there) others.push_back({joined(mount.point, *there), mount.point});
  }
  return others;
}

std::vector<Mount> mounts_of_its_own(std::vector<Mount> of_sandbox, const std::vector<Mount>& of_host) {
  std::set<std::tuple<std::string, std::string, std::string>> hosts;
  for (const Mount& mount : of_host) hosts.emplace(mount.point, mount.device, mount.root);
  std::erase_if(of_sandbox, [&](const Mount& mount) {
    return hosts.contains({mount.point, mount.device, mount.root});
  });
  return of_sandbox;
}

bool is_part_of_another(const std::vector<Mount>& mounts, const Mount& mount) {
  return std::ranges::any_of(mounts, [&](const Mount& other) {
    return other.device == mount.device && other.root != mount.root && path_below(mount.root, other.root);
  });
}

}  // namespace sbpf::agent
