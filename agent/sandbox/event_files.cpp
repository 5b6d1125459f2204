// SPDX-License-Identifier: Apache-2.0
// Events of files and programs, in words.
#include <algorithm>
#include <cstring>

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
    if (mount.device == wanted && mount.root == "/" && (best.empty() || mount.point.size() < best.size())) best = mount.point;
  return best;
}

// `whole`: no name is cut, and nothing above is unknown.
std::string path_of(const sbpf_fs_event& raw, bool& whole) {
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
  const std::string mount = mount_point(raw.dev);
  if (mount == "/") return path.empty() ? "/" : path;
  if (mount.empty()) whole = false;
  return (mount.empty() ? "…" : mount) + path;
}

std::string fs_text(const Event& event) {
  if (event.path.empty()) return std::string(all_hooks()[event.raw.hook].name) + " on a file";
  return event.wanted + " " + event.path;
}

}  // namespace

std::string allow_path(const Event& event, policy::PathUse use) {
  return event.path_is_whole ? policy::suggestion(use, event.path) : "";
}

void read_path(const sbpf_fs_event& raw, Event& event) {
  event.path = path_of(raw, event.path_is_whole);
  event.wanted = wanted_text(raw.wanted);
}

bool explain_files(Event& event) {
  const sbpf_event& e = event.raw;
  switch (static_cast<sbpf_reason>(e.reason)) {
    case SBPF_REASON_MACHINE_DEVICE:
      event.text = "device of the whole machine " + device_text(e.task.detail);
      event.allow = "filesystem: {dangerously_allow_all: true}";
      return true;
    case SBPF_REASON_FS_RULE:
    case SBPF_REASON_FS_DEFAULT:
      event.text = fs_text(event);
      event.allow = allow_path(event, event.wanted == "read" ? policy::PathUse::read : policy::PathUse::write);
      return true;
    case SBPF_REASON_EXEC_RULE:
      event.text = fs_text(event) + ", which a rule denies";
      return true;
    case SBPF_REASON_EXEC_DEFAULT:
      event.text = fs_text(event);
      event.allow = allow_path(event, policy::PathUse::exec);
      return true;
    case SBPF_REASON_EXEC_WRITABLE:
      event.text = fs_text(event) + ", which the sandbox may write";
      event.allow = allow_path(event, policy::PathUse::read);
      return true;
    case SBPF_REASON_EXEC_PINNED:
      event.text = fs_text(event) + ", which is not the file that the policy pins";
      return true;
    case SBPF_REASON_EXEC_PLACELESS:
      event.text = event.path == "…" ? "exec of a file in memory" : fs_text(event) + ", which was deleted";
      return true;
    case SBPF_REASON_FS_UNCOVERED:
      event.text = fs_text(event) + ", on a filesystem that was mounted, or in directories that were made anew, after the policy was published";
      return true;
    case SBPF_REASON_FS_HOLDS:
      event.text = "rename of " + event.path + ": a path that a rule needs lies inside";
      return true;
    case SBPF_REASON_FS_MOUNT:
      event.text = std::string(all_hooks()[e.hook].name) + ": mounts and namespaces could move what rules name";
      event.allow = "filesystem: {dangerously_allow_all: true}";
      return true;
    case SBPF_REASON_FS_DEVICE:
      event.text = e.hook == SBPF_HOOK_path_mknod ? "creation of a device node"
                                                      : "ioctl that drives a device, or makes or removes a btrfs subvolume";
      event.allow = "filesystem: {dangerously_allow_all: true}";
      return true;
    default:
      return false;
  }
}

}  // namespace sbpf::agent
