// SPDX-License-Identifier: Apache-2.0
// Which paths a policy's rules name, and what its image says of one.
#include <fmt/core.h>
#include <algorithm>
#include <cstring>

#include "policy/entry_text.h"
#include "policy/filesystem.h"

namespace sbpf::policy {
namespace {

// Of a private place: it may, on some host.
bool may_write(FsAccess access) { return access == FsAccess::write || access == FsAccess::private_place; }

}  // namespace

bool has_paths(const Policy& policy) {
  const auto& peers = policy.network.unix_peers;
  return policy.filesystem.judged() || policy.exec.judged() ||
         std::any_of(peers.begin(), peers.end(), [](const UnixRule& rule) { return !rule.abstract(); });
}

std::vector<RulePath> rule_paths(const Policy& policy) {
  std::vector<RulePath> paths;
  for (const FsRule& rule : policy.filesystem.rules) paths.push_back({rule.path, rule.where});
  for (const ExecRule& rule : policy.exec.rules) paths.push_back({rule.path, rule.where});
  for (const UnixRule& rule : policy.network.unix_peers)
    if (!rule.abstract()) paths.push_back({rule.peer, rule.where});
  std::stable_sort(paths.begin(), paths.end(), [](const RulePath& a, const RulePath& b) { return a.path < b.path; });
  const auto same = [](const RulePath& a, const RulePath& b) { return a.path == b.path; };
  paths.erase(std::unique(paths.begin(), paths.end(), same), paths.end());
  return paths;
}

std::set<std::string> places_of_other_names(const Policy& policy, const Resolve& resolve) {
  std::set<std::string> places, written;
  if (!policy.filesystem.judged()) return places;
  for (const FsRule& rule : policy.filesystem.rules)
    if (may_write(rule.access)) written.insert(resolve(rule.path).front());
  const auto below_written = [&written](std::string path) {
    while (path.size() > 1) {
      path.resize(std::max<std::size_t>(path.rfind('/'), 1));  // the directory above
      if (written.contains(path)) return true;
    }
    return false;
  };
  for (const FsRule& rule : policy.filesystem.rules)
    if (!may_write(rule.access) && std::ranges::any_of(resolve(rule.path), below_written)) places.insert(rule.path);
  return places;
}

std::set<std::string> places_of_other_names(const Policy& policy, const Policy& before) {
  std::set<std::string> places;
  if (!policy.filesystem.judged()) return places;
  bool everywhere = !before.filesystem.judged() || before.filesystem.fallback == FsDefault::write;
  for (const FsRule& rule : before.filesystem.rules) {
    if (!before.filesystem.judged() || !may_write(rule.access)) continue;
    if (rule.path == "/")
      everywhere = true;
    else
      places.insert(rule.path);
  }
  // Not the whole host: what this policy names.
  for (const FsRule& rule : policy.filesystem.rules)
    if (everywhere && (rule.access == FsAccess::deny || rule.access == FsAccess::protect)) places.insert(rule.path);
  return places;
}

std::string to_path(const FsPath& path) {
  std::string text;
  for (std::size_t i = 1; i < path.size(); ++i) text += "/" + path[i].name;
  return text.empty() ? "/" : text;
}

tl::unexpected<Error> planted_link(const RulePath& rule, std::string_view link, std::string_view target,
                                   const std::string& why) {
  return fail("planted_link",
              fmt::format("{} leads through the symbolic link {} -> {}, which {}",
                          internal::located(rule.where, internal::path_text(rule.path)), internal::path_text(link),
                          internal::path_text(target), why),
              "name the target instead: a program of an earlier run may have made the link");
}

tl::unexpected<Error> planted_link(const Policy& policy, const FsLink& link, const std::string& why) {
  const auto rules = rule_paths(policy);
  return planted_link(*std::ranges::find(rules, link.rule, &RulePath::path), to_path(link.path), link.target, why);
}

std::set<std::string> private_places(const Policy& policy) {
  std::set<std::string> paths;
  for (const FsRule& rule : policy.filesystem.rules)
    if (rule.access == FsAccess::private_place) paths.insert(rule.path);
  return paths;
}

FsView empty_view(const Policy& policy) {
  FsView view;
  view.assumed = true;
  view.mounts.push_back({{"", FsInode{}}});
  for (const RulePath& rule : rule_paths(policy)) {
    FsPath path = {{"", FsInode{}}};
    for (std::size_t start = 1; start < rule.path.size();) {
      const std::size_t end = std::min(rule.path.find('/', start), rule.path.size());
      path.push_back({rule.path.substr(start, end - start), std::nullopt});
      start = end + 1;
    }
    view.paths.emplace(rule.path, std::vector<FsPath>{std::move(path)});
  }
  for (const std::string& path : private_places(policy)) view.private_places[path] = {};
  return view;
}

namespace {

sbpf_fs_node node_of(const sbpf_rule& value) {
  sbpf_fs_node node;
  std::memcpy(&node, &value, sizeof node);
  return node;
}

// What the image does not judge is free.
__u32 unjudged(const Image& image) {
  const __u32 flags = image.header().flags, files = SBPF_FS_READ | SBPF_FS_WRITE;
  return (flags & SBPF_POLICY_FS ? 0 : files) | (flags & SBPF_POLICY_EXEC ? 0 : SBPF_FS_EXEC);
}

// A node as its own directory has it. Roots of filesystems that are mounted where no rule has a name have that node,
// too, but none of its names.
std::optional<sbpf_fs_node> by_inode(const Image& image, __u32 number) {
  std::optional<sbpf_fs_node> found;
  for (const auto& [key, value] : image.entries)
    if (key.kind == SBPF_RULE_FS_INODE && node_of(value).node == number &&
        (!found || (node_of(value).flags & (SBPF_FS_NAMED | SBPF_FS_RULE)) != 0))
      found = node_of(value);
  return found;
}

// The last node on the way along a path's names. Without one the image judges no path.
std::optional<sbpf_fs_node> walk(const Image& image, std::string_view path) {
  const auto& entries = image.entries;
  std::optional<sbpf_fs_node> here = by_inode(image, SBPF_FS_ROOT_NODE);
  while (here && !path.empty() && (here->flags & SBPF_FS_NAMED) != 0) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const std::string_view name = path.substr(0, path.find('/'));
    const auto child = find_named(entries, fs_name_key(here->node, name), name);
    if (name.empty() || !child) break;
    // Only the directory of a private place has its rights, not the name.
    here = child->rights == 0 && child->flags == 0 ? by_inode(image, child->node).value_or(*child) : child;
    path.remove_prefix(name.size());
  }
  return here;
}

}  // namespace

std::uint32_t fs_rights_at(const Image& image, std::string_view path) {
  const auto node = walk(image, path);
  return (node ? node->rights : 0) | unjudged(image);
}

bool fs_rule_writes(const Image& image, std::string_view path) {
  const auto node = walk(image, path);
  return (image.header().flags & SBPF_POLICY_FS) != 0 && node && (node->rights & SBPF_FS_WRITE) != 0 &&
         node->rule != kNoRule;
}

}  // namespace sbpf::policy
