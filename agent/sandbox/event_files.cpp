// SPDX-License-Identifier: Apache-2.0
// Events of files and programs, in words.
#include <fmt/core.h>
#include <algorithm>
#include <cstring>
#include <optional>

#include "agent/host/mount_places.h"
#include "agent/kernel/hooks.h"
#include "agent/sandbox/event_parts.h"
#include "base/mounts.h"

namespace sbpf::agent {
namespace {

std::string wanted_text(std::uint32_t rights) {
  if ((rights & SBPF_FS_EXEC) != 0) return "exec";
  if ((rights & SBPF_FS_WRITE) == 0) return "read";
  return (rights & SBPF_FS_READ) != 0 ? "read, write" : "write";
}

// Where the event's filesystem is mounted, for the agent; the shortest place if there are several.
std::string mount_point(std::uint32_t dev) {
  const std::string wanted = device_text(dev);
  std::string best;
  for (const Mount& mount : own_mounts())
    if (mount.device == wanted && mount.root == "/" && (best.empty() || mount.point.size() < best.size()))
      best = mount.point;
  return best;
}

// The path in the sandbox of what lies at `path` in a filesystem of which the sandbox alone has a part mounted.
std::optional<std::string> path_inside(const std::string& path, const std::string& device,
                                       const std::vector<Mount>& its_own) {
  const Mount* nearest = nullptr;
  for (const Mount& mount : its_own)
    if (mount.device == device && path_below(path, mount.root) &&
        (nearest == nullptr || mount.root.size() > nearest->root.size()))
      nearest = &mount;
  if (nearest == nullptr) return std::nullopt;
  return nearest->point + *path_below(path, nearest->root);
}

// `whole`: no name is cut, and nothing above is unknown.
std::string path_of(const sbpf_fs_event& raw, const std::vector<Mount>& its_own, bool& whole) {
  std::string path;
  whole = raw.at_root != 0;
  for (std::uint32_t i = std::min<std::uint32_t>(raw.n_names, SBPF_PATH_NAMES); i-- > 0;) {
    const char* name = raw.name[i];
    const std::size_t length = ::strnlen(name, SBPF_PATH_NAME_LEN);
    const bool cut = length == SBPF_PATH_NAME_LEN - 1;
    if (cut) whole = false;
    path += "/" + std::string(name, length) + (cut ? "…" : "");
  }
  if (raw.at_root == 0) return "…" + path;
  if (const auto inside = path_inside(path, device_text(raw.dev), its_own)) return *inside;
  const std::string mount = mount_point(raw.dev);
  if (mount == "/") return path.empty() ? "/" : path;
  if (mount.empty()) whole = false;
  return (mount.empty() ? "…" : mount) + path;
}

std::string fs_text(const Event& event) {
  if (event.path.empty()) return fmt::format("{} on a file", all_hooks()[event.raw.hook].name);
  return fmt::format("{} {}", event.wanted, event.path);
}

}  // namespace

std::string allow_path(const Event& event, policy::PathUse use) {
  return event.path_is_whole ? policy::suggestion(use, event.path) : "";
}

void read_path(const sbpf_fs_event& raw, const std::vector<Mount>& its_own, Event& event) {
  event.path = path_of(raw, its_own, event.path_is_whole);
  event.wanted = wanted_text(raw.wanted);
}

bool explain_files(Event& event) {
  const sbpf_event& e = event.raw;
  switch (static_cast<sbpf_reason>(e.reason)) {
    case SBPF_REASON_MACHINE_DEVICE:
      event.text = fmt::format("device of the whole machine {}", device_text(e.task.detail));
      event.relaxation = "filesystem: {dangerously_allow_all: true}";
      return true;
    case SBPF_REASON_FS_RULE:
    case SBPF_REASON_FS_DEFAULT:
      event.text = fs_text(event);
      event.allow = allow_path(
          event, event.wanted.find("write") == std::string::npos ? policy::PathUse::read : policy::PathUse::write);
      return true;
    case SBPF_REASON_EXEC_RULE:
      event.text = fmt::format("{}, which a rule denies", fs_text(event));
      return true;
    case SBPF_REASON_EXEC_DEFAULT:
      event.text = fs_text(event);
      event.allow = allow_path(event, policy::PathUse::exec);
      return true;
    case SBPF_REASON_EXEC_WRITABLE:
      event.text = fmt::format("{}, which the sandbox may write", fs_text(event));
      event.allow = "process: {exec: {deny_writable: false}}";
      return true;
    case SBPF_REASON_EXEC_PINNED:
      event.text = fmt::format("{}, which is not the file that the policy pins", fs_text(event));
      return true;
    case SBPF_REASON_EXEC_PLACELESS:
      event.text = event.path == "…" ? "exec of a file in memory" : fs_text(event) + ", which was deleted";
      return true;
    case SBPF_REASON_FS_UNCOVERED:
      event.text =
          fs_text(event) +
          ", on a filesystem that was mounted, or in directories that were made anew, after the policy was published";
      return true;
    case SBPF_REASON_FS_HOLDS:
      event.text = fmt::format("rename of {}: a path that a rule needs lies inside", event.path);
      return true;
    case SBPF_REASON_FS_MOUNT:
      event.text = fmt::format("{}: mounts and namespaces could move what rules name", all_hooks()[e.hook].name);
      event.relaxation = "filesystem: {dangerously_allow_all: true}";
      return true;
    case SBPF_REASON_FS_DEVICE:
      event.text = e.hook == SBPF_HOOK_path_mknod ? "creation of a device node"
                                                  : "ioctl that drives a device, or makes or removes a btrfs subvolume";
      event.relaxation = "filesystem: {dangerously_allow_all: true}";
      return true;
    default:
      return false;
  }
}

}  // namespace sbpf::agent
