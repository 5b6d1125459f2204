// SPDX-License-Identifier: Apache-2.0
#include "policy/fs_rules.h"

#include <fmt/core.h>
#include <algorithm>

#include "policy/entry_text.h"

namespace sbpf::policy::internal {
namespace {

template <typename Rule>
std::string text_of(const Rule& rule) {
  return located(rule.where, entry_text(rule));
}

}  // namespace

__u32 rights_of(const FsRule& rule, const FsView& view) {
  switch (rule.access) {
    case FsAccess::read:
    case FsAccess::protect:
      return SBPF_FS_READ;
    case FsAccess::write:
      return SBPF_FS_READ | SBPF_FS_WRITE;
    case FsAccess::private_place:
      return view.private_places.contains(rule.path) ? SBPF_FS_READ | SBPF_FS_WRITE : 0;
    case FsAccess::deny:
      return 0;
  }
  return 0;
}

__u32 rights_of(FsDefault fallback) {
  switch (fallback) {
    case FsDefault::deny:
      return 0;
    case FsDefault::read:
      return SBPF_FS_READ;
    case FsDefault::write:
      return SBPF_FS_READ | SBPF_FS_WRITE;
  }
  return 0;
}

Result<FsEntries> without_hidden(const FsView& view, Result<FsEntries> entries) {
  if (!entries) return entries;
  for (const auto& own : view.private_places) {
    const std::optional<FsInode>&place = view.paths.at(own.first).front().back().inode, &hidden = own.second;
    const auto is_hidden = [&](const FsPath& path) { return path.back().inode == hidden; };
    const auto names_it = [&](const auto& named) { return std::ranges::any_of(named.second, is_hidden); };
    if (!hidden || !place || std::ranges::any_of(view.paths, names_it)) continue;
    const auto [entry, fresh] = entries->try_emplace(fs_inode_key(*hidden), entries->at(fs_inode_key(*place)));
    entry->second.rights = 0;
    if (fresh) entry->second.flags = 0;
  }
  return entries;
}

std::string rule_text(const Policy& policy, FsKind kind, std::uint32_t rule) {
  switch (kind) {
    case FsKind::file:
      return text_of(policy.filesystem.rules[rule]);
    case FsKind::program:
      return text_of(policy.exec.rules[rule]);
    case FsKind::socket:
      return text_of(policy.network.unix_peers[rule]);
    case FsKind::link:
      break;
  }
  return "";
}

std::string default_text(const Policy& policy, FsKind kind) {
  switch (kind) {
    case FsKind::file:
      return fmt::format("filesystem.default: {}", to_string(policy.filesystem.fallback));
    case FsKind::program:
      return policy.exec.allow_listed ? "process.exec: not in allow" : "process.exec: not in deny";
    case FsKind::socket:
      return "network.unix: not in the list";
    case FsKind::link:
      break;
  }
  return "";
}

bool well_formed(const FsPath& path) {
  return !path.empty() && path[0].name.empty() && path[0].inode &&
         std::none_of(path.begin() + 1, path.end(), [](const FsComponent& c) { return c.name.empty(); });
}

std::size_t missing_names(const FsPath& path) {
  const auto last = std::find_if(path.rbegin(), path.rend(),
                                 [](const FsComponent& component) { return component.inode.has_value(); });
  return static_cast<std::size_t>(last - path.rbegin());
}

tl::unexpected<Error> too_deep(const std::string& rule, const FsPath& path) {
  const std::size_t missing = missing_names(path);
  const auto prefix = [&path](std::size_t length) {
    return path_text(to_path(FsPath(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length))));
  };
  return fail("fs_too_deep",
              fmt::format("{}: only {} exists, and {} names below it are more than the {} that can be watched", rule,
                          prefix(path.size() - missing), missing, SBPF_FS_NAME_DEPTH),
              fmt::format("create {}, or put the rule higher up", prefix(path.size() - SBPF_FS_NAME_DEPTH)));
}

}  // namespace sbpf::policy::internal
