// SPDX-License-Identifier: Apache-2.0
// What filesystem and exec rules mean, on path strings alone: no tree, no inodes, no hashes. The compiled image and the
// kernel are compared with this.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "policy/policy.h"

namespace sbpf::fs_model {

struct Verdict {
  bool read = false;
  bool write = false;  // contents and metadata; and the entry itself: create, and if `movable` delete and rename
  bool movable = false;
  bool exec = false;  // to be run also takes `read`
};

// The directory of `path`; of "/" it is "/".
inline std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

inline bool below(std::string_view path, std::string_view directory) {
  if (path == directory) return false;
  return directory == "/" || (path.starts_with(directory) && path[directory.size()] == '/');
}

// A private place is taken for one, as in what `run` makes.
inline bool may_write(policy::FsAccess access) {
  return access == policy::FsAccess::write || access == policy::FsAccess::private_place;
}
inline bool may_read(policy::FsAccess access) { return access != policy::FsAccess::deny; }

// `path`: absolute, without links, "." and "..", and without a slash at its end.
inline Verdict judge(const policy::Filesystem& filesystem, const std::string& path) {
  Verdict verdict{true, true, true, true};
  if (!filesystem.requested || filesystem.dangerously_allow_all) return verdict;
  verdict.read = filesystem.fallback != policy::FsDefault::deny;
  verdict.write = filesystem.fallback == policy::FsDefault::write;
  bool found = false;
  for (std::string at = path; !found; at = parent(at)) {
    for (const policy::FsRule& rule : filesystem.rules) {
      if (rule.path != at) continue;
      verdict.read = may_read(rule.access);
      verdict.write = may_write(rule.access);
      found = true;
    }
    if (at == "/") break;
  }
  verdict.movable = verdict.write;
  for (const policy::FsRule& rule : filesystem.rules)
    if (below(rule.path, path) && !may_write(rule.access)) verdict.movable = false;
  return verdict;
}

// By the filesystem rules and by the exec rules.
inline Verdict judge(const policy::Policy& policy, const std::string& path) {
  Verdict verdict = judge(policy.filesystem, path);
  if (!policy.exec.judged()) return verdict;
  verdict.exec = !policy.exec.allow_listed;
  bool found = false;
  for (std::string at = path; !found; at = parent(at)) {
    for (const policy::ExecRule& rule : policy.exec.rules) {
      if (rule.path != at) continue;
      verdict.exec = rule.allow;
      found = true;
    }
    if (at == "/") break;
  }
  if (policy.exec.deny_writable && verdict.write) verdict.exec = false;
  return verdict;
}

// Does a rule's path end at this name, or go through it? No symbolic link is made by it.
inline bool is_on_a_path(const policy::Policy& policy, const std::string& path) {
  const auto named = [&](const auto& rule) { return rule.path == path || below(rule.path, path); };
  return std::any_of(policy.filesystem.rules.begin(), policy.filesystem.rules.end(), named) ||
         std::any_of(policy.exec.rules.begin(), policy.exec.rules.end(), named);
}

}  // namespace sbpf::fs_model
