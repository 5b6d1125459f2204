// SPDX-License-Identifier: Apache-2.0
// A host's files, made up: which paths exist, as what, and what is mounted where.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "policy/filesystem.h"

namespace sbpf::fs_host {

// "/a/b" -> {"a", "b"}
inline std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t start = 1; start < path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    names.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  return names;
}

struct Host {
  std::map<std::string, policy::FsInode> inodes = {{"/", {2, 1, 0, true}}};
  std::map<std::string, std::string> links;  // a path that is a symbolic link -> where it leads, which has no links
  std::set<std::string> mounts = {"/"};
  // Another place of a directory -> the one that rules' paths lead through, and the mount point by which it is seen
  // there.
  std::map<std::string, std::pair<std::string, std::string>> elsewhere;
  std::set<std::string> linked;  // names of files that have several

  // Makes the path exist, and what is above it.
  void make(const std::string& path) {
    std::string at;
    for (const std::string& name : names_of(path)) {
      at += "/" + name;
      inodes.try_emplace(at, policy::FsInode{1000 + inodes.size(), 1, 0, true});
    }
  }

  // The path as it is written, with the inodes of what exists.
  policy::FsPath path(const std::string& text) const {
    policy::FsPath result = {{"", inodes.at("/")}};
    std::string at;
    for (const std::string& name : names_of(text)) {
      at += "/" + name;
      const auto found = inodes.find(at);
      result.push_back({name, found == inodes.end() ? std::nullopt : std::optional(found->second)});
    }
    return result;
  }

  policy::FsView view(const policy::Policy& policy) const {
    policy::FsView view;
    for (const policy::RulePath& rule : policy::rule_paths(policy)) {
      std::vector<policy::FsPath>& paths = view.paths[rule.path];
      paths.push_back(path(rule.path));
      if (const auto link = links.find(rule.path); link != links.end()) paths.push_back(path(link->second));
    }
    for (const std::string& mount : mounts) view.mounts.push_back(path(mount));
    for (const auto& [other, seen] : elsewhere) {
      view.elsewhere.push_back({path(other), names_of(seen.second).size()});
      view.elsewhere.back().path.back().inode = inodes.at(seen.first);
    }
    for (const std::string& name : linked) view.linked.push_back(path(name));
    for (const std::string& own : policy::private_places(policy)) view.private_places[own] = {};
    return view;
  }
};

}  // namespace sbpf::fs_host
