// SPDX-License-Identifier: Apache-2.0
// Filesystem rules -> the tree of their paths -> entries. How they are looked up is said in bpf/abi.h.
#include "policy/filesystem.h"

#include <algorithm>

#include "policy/entry_text.h"

namespace sbpf::policy {
namespace {

constexpr const char* kChanged = "try again: files may have moved meanwhile; if not, this is a mistake in sbpf";

__u32 rights_of(FsAccess access) {
  switch (access) {
    case FsAccess::read:
    case FsAccess::protect:
      return SBPF_FS_READ;
    case FsAccess::write:
      return SBPF_FS_READ | SBPF_FS_WRITE;
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

std::string describe(const FsRule& rule) { return internal::located(rule.where, internal::entry_text(rule)); }

std::string text_of(const FsPath& path) {
  std::string text;
  for (std::size_t i = 1; i < path.size(); ++i) text += "/" + path[i].name;
  return text.empty() ? "/" : internal::path_text(text);
}

// The root, and below it names.
bool well_formed(const FsPath& path) {
  return !path.empty() && path[0].name.empty() && path[0].inode &&
         std::none_of(path.begin() + 1, path.end(), [](const FsComponent& c) { return c.name.empty(); });
}

// Names after the last component that exists.
std::size_t missing_names(const FsPath& path) {
  const auto last = std::find_if(path.rbegin(), path.rend(), [](const FsComponent& c) { return c.inode.has_value(); });
  return static_cast<std::size_t>(last - path.rbegin());
}

class Tree {
 public:
  Tree(const Filesystem& filesystem, std::uint32_t first_rule) : filesystem_(filesystem), first_rule_(first_rule) {}

  // Takes each rule's paths from the view. Without rules, the root is the one of `mounts`.
  Result<void> grow(const FsView& view) {
    struct Named {
      const FsPath* path;
      std::uint32_t rule;
    };
    std::vector<Named> all;
    for (std::uint32_t i = 0; i < filesystem_.rules.size(); ++i) {
      const FsRule& rule = filesystem_.rules[i];
      const auto paths = view.paths.find(rule.path);
      if (paths == view.paths.end() || paths->second.empty()) return unresolved(i, "was not looked up");
      for (const FsPath& path : paths->second) {
        if (!well_formed(path)) return unresolved(i, "was looked up without the root, or with an empty name");
        if (!view.assumed && missing_names(path) > SBPF_FS_NAME_DEPTH) return too_deep(rule, path);
        all.push_back({&path, i});
      }
    }
    // In this order a new node always comes after all that were made before, so that numbers follow paths.
    const auto by_name = [](const FsComponent& a, const FsComponent& b) { return a.name < b.name; };
    std::stable_sort(all.begin(), all.end(), [&](const Named& a, const Named& b) {
      return std::lexicographical_compare(a.path->begin(), a.path->end(), b.path->begin(), b.path->end(), by_name);
    });
    const auto is_root = [](const FsPath& path) { return path.size() == 1 && well_formed(path); };
    const auto root = std::find_if(view.mounts.begin(), view.mounts.end(), is_root);
    if (all.empty() && root == view.mounts.end())
      return fail("fs_unresolved", "the root was not looked up", "this is a mistake in sbpf");
    nodes_.push_back(Node(0, "", all.empty() ? root->back().inode : all[0].path->front().inode));
    for (const Named& named : all)
      if (auto added = add(*named.path, named.rule); !added) return added;
    return {};
  }

  // Gives each node rights and flags, and finds out which nodes are one.
  Result<void> settle() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      node.value.node = static_cast<__u32>(i + SBPF_FS_ROOT_NODE);
      if (node.named) {
        node.value.rights = rights_of(filesystem_.rules[node.rule].access);
        node.value.flags = SBPF_FS_RULE;
        node.value.rule = first_rule_ + node.rule;
      } else if (i == 0) {
        node.value.rights = rights_of(filesystem_.fallback);
        node.value.rule = kNoRule;
      } else {
        node.rule = nodes_[node.parent].rule;
        node.value.rights = nodes_[node.parent].value.rights;
        node.value.rule = nodes_[node.parent].value.rule;
      }
      if (auto joined = join(i); !joined) return joined;
    }
    for (std::size_t i = nodes_.size() - 1; i > 0; --i) {
      const sbpf_fs_node& node = nodes_[i].value;
      __u32& above = nodes_[nodes_[i].parent].value.flags;
      above |= SBPF_FS_NAMED;
      if (!(node.rights & SBPF_FS_WRITE) || node.flags & SBPF_FS_HOLDS) above |= SBPF_FS_HOLDS;
    }
    for (const Node& node : nodes_) nodes_[node.same].value.flags |= node.value.flags;
    return {};
  }

  Result<FsEntries> entries(const std::vector<FsPath>& mounts) const {
    FsEntries entries;
    for (const auto& [inode, node] : by_inode_) entries.emplace(fs_inode_key(inode), nodes_[node].value);
    for (const auto& [entry, node] : by_name_)
      if (!entries.emplace(fs_name_key(nodes_[entry.first].value.node, entry.second), nodes_[node].value).second)
        return fail("fs_name_collision",
                    "two names of the policy in one directory have the same hash, one of them " +
                        internal::path_text(entry.second),
                    "name the directory instead of what is in it");
    for (const auto& [inode, value] : mounted(mounts)) entries.emplace(fs_inode_key(inode), value);
    return entries;
  }

 private:
  struct Node {
    Node(std::size_t its_parent, std::string its_name, std::optional<FsInode> its_inode)
        : parent(its_parent), name(std::move(its_name)), inode(its_inode) {}
    std::size_t parent;
    std::string name;
    std::optional<FsInode> inode;
    bool named = false;            // by `rule`; otherwise, once settled, `rule` is the one in effect
    std::uint32_t rule = kNoRule;  // index into filesystem.rules
    std::size_t same = 0;          // the first node that is the same file or directory; itself if none came before
    sbpf_fs_node value{};
  };

  Result<void> unresolved(std::uint32_t rule, const char* what) const {
    return fail("fs_unresolved", describe(filesystem_.rules[rule]) + ": the path " + what, kChanged);
  }

  static Result<void> too_deep(const FsRule& rule, const FsPath& path) {
    const std::size_t missing = missing_names(path);
    const auto prefix = [&path](std::size_t length) {
      return text_of(FsPath(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length)));
    };
    return fail("fs_too_deep",
                describe(rule) + ": only " + prefix(path.size() - missing) + " exists, and " + std::to_string(missing) +
                    " names below it are more than the " + std::to_string(SBPF_FS_NAME_DEPTH) + " that can be watched",
                "create " + prefix(path.size() - SBPF_FS_NAME_DEPTH) + ", or put the rule higher up");
  }

  Result<void> add(const FsPath& path, std::uint32_t rule) {
    if (nodes_[0].inode != path[0].inode) return unresolved(rule, "has another root than others");
    std::size_t at = 0;
    for (std::size_t i = 1; i < path.size(); ++i) {
      const auto [child, fresh] = children_.try_emplace({at, path[i].name}, nodes_.size());
      if (fresh && nodes_.size() >= SBPF_MAX_RULES)
        return fail("too_many_rules",
                    describe(filesystem_.rules[rule]) + ": the paths have more than " + std::to_string(SBPF_MAX_RULES) +
                        " names",
                    "name directories instead of what is in them");
      if (fresh) nodes_.push_back(Node(at, path[i].name, path[i].inode));
      at = child->second;
      if (nodes_[at].inode != path[i].inode) return unresolved(rule, "was looked up twice, and had changed");
    }
    Node& node = nodes_[at];
    if (node.named && filesystem_.rules[node.rule].access != filesystem_.rules[rule].access) {
      const auto [first, second] = std::minmax(node.rule, rule);
      return fail("fs_conflict",
                  describe(filesystem_.rules[first]) + "; " + describe(filesystem_.rules[second]) + ": both lead to " +
                      text_of(path),
                  "give both the same access, or remove one");
    }
    node.rule = std::min(node.rule, rule);
    node.named = true;
    return {};
  }

  // Two nodes are one when they have one inode, or one name in what is one directory. What holds for either then holds
  // for both, so they must agree.
  Result<void> join(std::size_t i) {
    Node& node = nodes_[i];
    node.same = i;
    if (node.inode) node.same = by_inode_.try_emplace(*node.inode, i).first->second;
    if (node.same != i && nodes_[node.same].value.rights != node.value.rights) return disagree(node.same, i);
    if (i == 0) return {};
    const auto entry = by_name_.try_emplace({nodes_[node.parent].same, node.name}, node.same).first;
    if (nodes_[entry->second].inode.has_value() != node.inode.has_value())
      return fail("fs_unresolved", path_of(i) + " was looked up twice, and had changed", kChanged);
    if (nodes_[entry->second].value.rights != node.value.rights) return disagree(entry->second, i);
    if (!node.inode) node.same = entry->second;
    return {};
  }

  Result<void> disagree(std::size_t a, std::size_t b) const {
    return fail("fs_same_inode", effect_of(a) + "; " + effect_of(b) + ": these are the same file or directory",
                "give both the same access: a bind mount or hard link is the same file under another name");
  }

  // "/a/b (by p.yaml:3:9: filesystem.read: /a)"
  std::string effect_of(std::size_t i) const {
    const std::string rule = nodes_[i].rule == kNoRule
                                 ? "filesystem.default: " + std::string(to_string(filesystem_.fallback))
                                 : describe(filesystem_.rules[nodes_[i].rule]);
    return path_of(i) + " (by " + rule + ")";
  }

  std::string path_of(std::size_t i) const {
    std::string path;
    for (std::size_t at = i; at != 0; at = nodes_[at].parent) path.insert(0, "/" + nodes_[at].name);
    return path.empty() ? "/" : internal::path_text(path);
  }

  // Mounted roots that no rule's path goes through have the rights of the place where they are mounted. One that is
  // mounted in several places has the least of them: through the other places it would otherwise escape a denial.
  std::map<FsInode, sbpf_fs_node> mounted(const std::vector<FsPath>& mounts) const {
    std::map<FsInode, sbpf_fs_node> roots;
    for (const FsPath& path : mounts) {
      if (path.empty() || !path.back().inode || by_inode_.contains(*path.back().inode)) continue;
      std::size_t at = 0, depth = 1;
      for (; depth < path.size(); ++depth) {
        const auto child = by_name_.find({at, path[depth].name});
        if (child == by_name_.end()) break;
        at = child->second;
      }
      sbpf_fs_node value = nodes_[at].value;
      if (depth < path.size()) value.flags &= ~static_cast<__u32>(SBPF_FS_NAMED | SBPF_FS_HOLDS);
      const auto [root, fresh] = roots.try_emplace(*path.back().inode, value);
      if (!fresh && (root->second.rights & value.rights) != root->second.rights) root->second = value;
    }
    return roots;
  }

  const Filesystem& filesystem_;
  std::uint32_t first_rule_;
  std::vector<Node> nodes_;  // the root first; parents before their children; number = index + 1
  std::map<std::pair<std::size_t, std::string>, std::size_t> children_;  // by parent and name, as the paths have it
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_name_;   // the same of nodes that are joined
  std::map<FsInode, std::size_t> by_inode_;
};

}  // namespace

FsView empty_view(const Policy& policy) {
  FsView view;
  view.assumed = true;
  view.mounts.push_back({{"", FsInode{}}});
  for (const FsRule& rule : policy.filesystem.rules) {
    FsPath path = {{"", FsInode{}}};
    for (std::size_t start = 1; start < rule.path.size();) {
      const std::size_t end = std::min(rule.path.find('/', start), rule.path.size());
      path.push_back({rule.path.substr(start, end - start), std::nullopt});
      start = end + 1;
    }
    view.paths.emplace(rule.path, std::vector<FsPath>{std::move(path)});
  }
  return view;
}

Result<FsEntries> filesystem_entries(const Policy& policy, const FsView& view, std::uint32_t first_rule) {
  Tree tree(policy.filesystem, first_rule);
  if (auto grown = tree.grow(view); !grown) return tl::unexpected<Error>(grown.error());
  if (auto settled = tree.settle(); !settled) return tl::unexpected<Error>(settled.error());
  return tree.entries(view.mounts);
}

std::uint32_t fs_rights_at(const std::map<sbpf_rule_key, sbpf_rule, KeyLess>& entries, std::string_view path) {
  const auto node_of = [](const sbpf_rule& value) {
    sbpf_fs_node node;
    std::memcpy(&node, &value, sizeof node);
    return node;
  };
  std::optional<sbpf_fs_node> here;
  for (const auto& [key, value] : entries)
    if (key.kind == SBPF_RULE_FS_INODE && node_of(value).node == SBPF_FS_ROOT_NODE) here = node_of(value);
  if (!here) return SBPF_FS_READ | SBPF_FS_WRITE;
  while (!path.empty() && (here->flags & SBPF_FS_NAMED) != 0) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const std::string_view name = path.substr(0, path.find('/'));
    const auto child = entries.find(fs_name_key(here->node, name));
    if (name.empty() || child == entries.end()) break;
    here = node_of(child->second);
    path.remove_prefix(name.size());
  }
  return here->rights;
}

}  // namespace sbpf::policy
