// SPDX-License-Identifier: Apache-2.0
// Rules for files, programs and sockets -> the tree of their paths -> entries. How they are looked up is said in
// bpf/abi.h.
#include "policy/filesystem.h"

#include <fmt/core.h>
#include <algorithm>

#include "policy/entry_text.h"
#include "policy/fs_rules.h"

namespace sbpf::policy {
namespace {

constexpr const char* kChanged = "try again: files may have moved meanwhile; if not, this is a mistake in sbpf";

constexpr __u32 kFileRights = SBPF_FS_READ | SBPF_FS_WRITE;

using internal::rights_of;
using internal::well_formed;
using Kind = internal::FsKind;

class Tree {
 public:
  Tree(const Policy& policy, const FsView& view, std::uint32_t first_rule)
      : policy_(policy),
        view_(view),
        filesystem_(policy.filesystem),
        exec_(policy.exec),
        peers_(policy.network.unix_peers),
        first_rule_(first_rule),
        first_exec_rule_(first_rule + static_cast<std::uint32_t>(policy.filesystem.rules.size())) {}

  // Takes each rule's paths from the view. Without rules, the root is the one of `mounts`.
  Result<void> grow() {
    std::vector<Named> all;
    for (std::uint32_t i = 0; i < filesystem_.rules.size(); ++i)
      if (auto found = find(filesystem_.rules[i].path, {nullptr, i, Kind::file}, all); !found) return found;
    for (std::uint32_t i = 0; i < exec_.rules.size(); ++i)
      if (auto found = find(exec_.rules[i].path, {nullptr, i, Kind::program}, all); !found) return found;
    for (std::uint32_t i = 0; i < peers_.size(); ++i)
      if (!peers_[i].abstract())
        if (auto found = find(peers_[i].peer, {nullptr, i, Kind::socket}, all); !found) return found;
    for (const FsLink& link : view_.links)
      if (well_formed(link.path)) all.push_back({&link.path, kNoRule, Kind::link});
    // In this order a new node always comes after all that were made before, so that numbers follow paths.
    const auto by_name = [](const FsComponent& a, const FsComponent& b) { return a.name < b.name; };
    std::stable_sort(all.begin(), all.end(), [&](const Named& a, const Named& b) {
      return std::lexicographical_compare(a.path->begin(), a.path->end(), b.path->begin(), b.path->end(), by_name);
    });
    const auto is_root = [](const FsPath& path) { return path.size() == 1 && well_formed(path); };
    const auto root = std::find_if(view_.mounts.begin(), view_.mounts.end(), is_root);
    if (all.empty() && root == view_.mounts.end())
      return fail("fs_unresolved", "the root was not looked up", "this is a mistake in sbpf");
    nodes_.emplace_back(0, "", all.empty() ? root->back().inode : all[0].path->front().inode);
    for (const Named& named : all)
      if (auto added = add(named); !added) return added;
    return {};
  }

  // Gives each node rights and flags, and finds out which nodes are one.
  Result<void> settle() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      node.value.node = static_cast<__u32>(i + SBPF_FS_ROOT_NODE);
      const Node* above = i == 0 ? nullptr : &nodes_[node.parent];
      if (filesystem_.judged()) give_file_rights(node, above);
      node.value.rule = node.rule == kNoRule ? kNoRule : first_rule_ + node.rule;
      if (exec_.judged()) give_exec_right(node, above);
      node.value.exec_rule = node.exec_rule == kNoRule ? kNoRule : first_exec_rule_ + node.exec_rule;
      if (node.peer_rule == kNoRule && above) node.peer_rule = above->peer_rule;
      if (node.peer_rule != kNoRule) node.value.rights |= SBPF_FS_TALK;
      if (auto joined = join(i); !joined) return joined;
    }
    lower_mounted();
    for (std::size_t i = nodes_.size() - 1; i > 0; --i) {
      const sbpf_fs_node& node = nodes_[i].value;
      __u32& above = nodes_[nodes_[i].parent].value.flags;
      above |= SBPF_FS_NAMED;
      if (node.rights & SBPF_FS_TALK || node.flags & SBPF_FS_LEADS) above |= SBPF_FS_LEADS;
      if (!filesystem_.judged()) continue;
      if (nodes_[i].followed) nodes_[i].value.flags |= SBPF_FS_HOLDS;
      if (!(node.rights & SBPF_FS_WRITE) || node.flags & SBPF_FS_HOLDS || nodes_[i].is_private) above |= SBPF_FS_HOLDS;
    }
    for (const Node& node : nodes_) nodes_[node.same].value.flags |= node.value.flags;
    return {};
  }

  // A file that a rule names has the least of all its names, too.
  void lower() {
    for (const FsPath& path : view_.linked) {
      if (!by_inode_.contains(*path.back().inode)) continue;
      std::size_t depth = 1;
      const __u32 there = nodes_[descend(path, 0, depth, path.size())].value.rights;
      for (Node& node : nodes_)
        if (node.inode == path.back().inode) node.value.rights &= there;
    }
  }

  // Is this where the sandbox could have made the link, by a rule that lets it write there? By any path of the place.
  bool may_plant(const FsLink& link) const {
    const auto writes = [&](const FsPath& path) {
      std::size_t depth = 1;
      const Node& node = nodes_[descend(path, 0, depth, path.size() - 1)];
      return node.rule != kNoRule && (rights_of(filesystem_.rules[node.rule], view_) & SBPF_FS_WRITE) != 0;
    };
    return writes(link.path) || std::ranges::any_of(link.aliases, writes);
  }

  Result<FsEntries> entries() const {
    FsEntries entries;
    for (const auto& [inode, node] : by_inode_) entries.emplace(fs_inode_key(inode), nodes_[node].value);
    for (const auto& [entry, node] : by_name_) {
      sbpf_fs_node value = nodes_[node].value;
      if (value.flags & SBPF_FS_PINNED) value.rights &= ~static_cast<__u32>(SBPF_FS_EXEC);
      if (nodes_[node].is_private && nodes_[node].inode) value.rights = value.flags = 0;  // the hidden one has it, too
      const sbpf_rule_key key = fs_name_key(nodes_[entry.first].value.node, entry.second);
      if (entries.contains(key))
        return fail("fs_name_collision",
                    fmt::format("two names of the policy in one directory have the same hash, one of them {}",
                                internal::path_text(entry.second)),
                    "name the directory instead of what is in it");
      entries.merge(named_entries(key, value, entry.second));
    }
    for (const auto& [inode, value] : placed()) entries.emplace(fs_inode_key(inode), value);
    return entries;
  }

 private:
  struct Node {
    Node(std::size_t its_parent, std::string its_name, std::optional<FsInode> its_inode)
        : parent(its_parent), name(std::move(its_name)), inode(its_inode) {}
    std::size_t parent;
    std::string name;
    std::optional<FsInode> inode;
    // Indices into filesystem.rules, exec.rules and network.unix_peers: of those that name it; once settled, of those
    // in effect.
    std::uint32_t rule = kNoRule;
    std::uint32_t exec_rule = kNoRule;
    std::uint32_t peer_rule = kNoRule;
    bool may_exec = false;  // by the exec rules alone
    bool is_private = false;
    bool followed = false;  // a link that leads to a rule's place: another one here would lead elsewhere
    static std::uint32_t Node::*rule_of(Kind kind) {
      return kind == Kind::file ? &Node::rule : kind == Kind::program ? &Node::exec_rule : &Node::peer_rule;
    }
    std::size_t same = 0;  // the first node that is the same file or directory; itself if none came before
    sbpf_fs_node value{};
  };

  // A place that a rule names.
  struct Named {
    const FsPath* path;
    std::uint32_t rule;  // index among the rules of its kind
    Kind kind;
  };

  void give_file_rights(Node& node, const Node* above) const {
    if (node.rule != kNoRule) {
      node.value.rights = rights_of(filesystem_.rules[node.rule], view_);
      node.value.flags = SBPF_FS_RULE;
      node.is_private = filesystem_.rules[node.rule].access == FsAccess::private_place;
    } else if (above) {
      node.rule = above->rule;
      node.value.rights = above->value.rights & kFileRights;
    } else {
      node.value.rights = rights_of(filesystem_.fallback);
    }
  }

  // After the rights to the file, on which it may depend.
  void give_exec_right(Node& node, const Node* above) const {
    if (node.exec_rule != kNoRule) {
      node.may_exec = exec_.rules[node.exec_rule].allow;
    } else if (above) {
      node.exec_rule = above->exec_rule;
      node.may_exec = above->may_exec;
    } else {
      node.may_exec = !exec_.allow_listed;
    }
    if (!node.may_exec) return;
    if (node.exec_rule != kNoRule && !exec_.rules[node.exec_rule].sha256.empty()) node.value.flags |= SBPF_FS_PINNED;
    if (exec_.deny_writable && (node.value.rights & SBPF_FS_WRITE || !filesystem_.judged()))
      node.value.flags |= SBPF_FS_DENY_WRITABLE;
    else
      node.value.rights |= SBPF_FS_EXEC;
  }

  struct Lost {
    std::size_t distance = SIZE_MAX;  // of the node that took them from the directory
    __u32 rights = 0, rule = 0;       // the rule that took them
  };

  // What a directory loses for the sake of its other places. A walk from it goes up to the nearest node of its own
  // filesystem.
  std::map<FsInode, Lost> lost_elsewhere() const {
    std::map<FsInode, Lost> all;
    for (const auto& [path, mounted_at] : view_.elsewhere) {
      std::size_t depth = 1;
      const sbpf_fs_node& there = nodes_[descend(path, 0, depth, path.size())].value;
      const std::size_t distance = depth > mounted_at ? path.size() - depth : path.size();
      Lost& lost = all[*path.back().inode];
      if (distance > lost.distance) continue;
      if (distance < lost.distance) lost = {distance, 0, kNoRule};
      if (~there.rights & ~lost.rights & kFileRights) lost.rule = there.rule;
      lost.rights |= ~there.rights;
    }
    return all;
  }

  // A directory that is mounted where rules' paths lead through has no more than its other places, and so has what is
  // in it, but where a rule names that: one of the others may be denied.
  void lower_mounted() {
    const std::map<FsInode, Lost> lost_at = lost_elsewhere();
    if (lost_at.empty()) return;
    const std::pair<Kind, __u32> kinds[] = {
        {Kind::file, kFileRights}, {Kind::program, SBPF_FS_EXEC}, {Kind::socket, SBPF_FS_TALK}};
    std::vector<__u32> ruled(nodes_.size());
    std::map<FsInode, __u32> ruled_at;  // by whatever path
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      for (const auto& [kind, rights] : kinds)
        if (nodes_[i].*Node::rule_of(kind) != nodes_[nodes_[i].parent].*Node::rule_of(kind)) ruled[i] |= rights;
      if (nodes_[i].inode) ruled_at[*nodes_[i].inode] |= ruled[i];
    }
    std::vector<Lost> lost(nodes_.size());
    for (std::size_t i = 1; i < nodes_.size(); ++i) {
      Node& node = nodes_[i];
      lost[i] = lost[node.parent];
      if (const auto here = node.inode ? lost_at.find(*node.inode) : lost_at.end(); here != lost_at.end())
        lost[i] = {0, lost[i].rights | here->second.rights, here->second.rule};
      lost[i].rights &= ~(node.inode ? ruled_at.at(*node.inode) : ruled[i]);
      if (node.value.rights & lost[i].rights & kFileRights) node.value.rule = lost[i].rule;
      node.value.rights &= ~lost[i].rights;
    }
  }

  Result<void> find(const std::string& rule, Named named, std::vector<Named>& all) const {
    const auto paths = view_.paths.find(rule);
    if (paths == view_.paths.end() || paths->second.empty()) return unresolved(named, "was not looked up");
    for (const FsPath& path : paths->second) {
      if (!well_formed(path)) return unresolved(named, "was looked up without the root, or with an empty name");
      if (!view_.assumed && internal::missing_names(path) > SBPF_FS_NAME_DEPTH)
        return internal::too_deep(text_of(named), path);
      named.path = &path;
      all.push_back(named);
    }
    return {};
  }

  std::string text_of(const Named& named) const {
    return named.kind == Kind::link ? "the symbolic link " + internal::path_text(to_path(*named.path))
                                    : internal::rule_text(policy_, named.kind, named.rule);
  }

  Result<void> unresolved(const Named& named, const char* what) const {
    return fail("fs_unresolved", fmt::format("{}: the path {}", text_of(named), what), kChanged);
  }

  Result<void> add(const Named& named) {
    const FsPath& path = *named.path;
    if (nodes_[0].inode != path[0].inode) return unresolved(named, "has another root than others");
    std::size_t at = 0;
    for (std::size_t i = 1; i < path.size(); ++i) {
      const auto [child, fresh] = children_.try_emplace({at, path[i].name}, nodes_.size());
      if (fresh && nodes_.size() >= SBPF_MAX_RULES)
        return fail("too_many_rules",
                    fmt::format("{}: the paths have more than {} names", text_of(named), SBPF_MAX_RULES),
                    "name directories instead of what is in them");
      if (fresh) nodes_.emplace_back(at, path[i].name, path[i].inode);
      at = child->second;
      if (nodes_[at].inode != path[i].inode) return unresolved(named, "was looked up twice, and had changed");
    }
    nodes_[at].followed |= named.kind == Kind::link;
    if (named.kind == Kind::link) return {};
    std::uint32_t& rule = nodes_[at].*Node::rule_of(named.kind);
    if (rule != kNoRule && !agree(named.kind, rule, named.rule)) {
      const auto [first, second] = std::minmax(rule, named.rule);
      return fail("fs_conflict",
                  fmt::format("{}; {}: both lead to {}", internal::rule_text(policy_, named.kind, first),
                              internal::rule_text(policy_, named.kind, second), internal::path_text(to_path(path))),
                  "give both the same access, or remove one");
    }
    rule = std::min(rule, named.rule);
    return {};
  }

  // Do two rules of a kind say the same of a place?
  bool agree(Kind kind, std::uint32_t a, std::uint32_t b) const {
    if (kind == Kind::file) return filesystem_.rules[a].access == filesystem_.rules[b].access;
    if (kind == Kind::socket) return true;
    const ExecRule &one = exec_.rules[a], &other = exec_.rules[b];
    return one.allow == other.allow && one.sha256 == other.sha256;
  }

  // Two nodes are one when they have one inode, or one name in what is one directory. What holds for either then holds
  // for both, so they must agree.
  Result<void> join(std::size_t i) {
    Node& node = nodes_[i];
    node.same = i;
    if (node.inode) node.same = by_inode_.try_emplace(*node.inode, i).first->second;
    if (node.same != i && differ(node.same, i)) return disagree(node.same, i);
    if (i == 0) return {};
    const auto entry = by_name_.try_emplace({nodes_[node.parent].same, node.name}, node.same).first;
    if (nodes_[entry->second].inode.has_value() != node.inode.has_value())
      return fail("fs_unresolved", fmt::format("{} was looked up twice, and had changed", path_of(i)), kChanged);
    if (differ(entry->second, i)) return disagree(entry->second, i);
    if (!node.inode) node.same = entry->second;
    return {};
  }

  bool differ(std::size_t a, std::size_t b) const {
    const sbpf_fs_node &first = nodes_[a].value, &second = nodes_[b].value;
    return first.rights != second.rights || ((first.flags ^ second.flags) & SBPF_FS_PINNED) != 0;
  }

  Result<void> disagree(std::size_t a, std::size_t b) const {
    const __u32 apart = nodes_[a].value.rights ^ nodes_[b].value.rights;
    const Kind kind = apart & kFileRights ? Kind::file : apart & SBPF_FS_TALK ? Kind::socket : Kind::program;
    return fail("fs_same_inode",
                fmt::format("{}; {}: these are the same file or directory", effect_of(a, kind), effect_of(b, kind)),
                "give both the same access: a bind mount or hard link is the same file under another name");
  }

  // "/a/b (by p.yaml:3:9: filesystem.read: /a)"
  std::string effect_of(std::size_t i, Kind kind) const {
    const std::uint32_t rule = nodes_[i].*Node::rule_of(kind);
    const bool writable = kind == Kind::program && nodes_[i].value.flags & SBPF_FS_DENY_WRITABLE;
    const std::string by = writable          ? "process.exec.deny_writable: true"
                           : rule != kNoRule ? internal::rule_text(policy_, kind, rule)
                                             : internal::default_text(policy_, kind);
    return fmt::format("{} (by {})", path_of(i), by);
  }

  std::string path_of(std::size_t i) const {
    std::string path;
    for (std::size_t at = i; at != 0; at = nodes_[at].parent) path.insert(0, "/" + nodes_[at].name);
    return path.empty() ? "/" : internal::path_text(path);
  }

  // From a node down along a path's names, as far as there are nodes. `depth`: the next name's place in the path; is
  // left where it ended.
  std::size_t descend(const FsPath& path, std::size_t at, std::size_t& depth, std::size_t end) const {
    for (; depth < end; ++depth) {
      const auto child = by_name_.find({at, path[depth].name});
      if (child == by_name_.end()) break;
      at = child->second;
    }
    return at;
  }

  // Mounted roots, and files with several names, that no rule's path goes through have the rights of the place where
  // they are. What is in several places has the least of them: through the other places it would otherwise escape a
  // denial.
  std::map<FsInode, sbpf_fs_node> placed() const {
    std::map<FsInode, sbpf_fs_node> found;
    const auto place = [&](const FsPath& path) {
      if (path.empty() || !path.back().inode || by_inode_.contains(*path.back().inode)) return;
      std::size_t depth = 1;
      const std::size_t at = descend(path, 0, depth, path.size());
      sbpf_fs_node value = nodes_[at].value;
      // It has none of the place's own: not its names, nor that a rule names it, by which a disk would open.
      if (depth < path.size())
        value.flags &= ~static_cast<__u32>(SBPF_FS_NAMED | SBPF_FS_HOLDS | SBPF_FS_LEADS | SBPF_FS_RULE);
      const auto [one, fresh] = found.try_emplace(*path.back().inode, value);
      const __u32 least = one->second.rights & value.rights;
      if (!fresh && least != one->second.rights) {
        one->second = value;
        one->second.rights = least;
      }
    };
    for (const FsPath& path : view_.mounts) place(path);
    for (const FsPath& path : view_.linked) place(path);
    return found;
  }

  const Policy& policy_;
  const FsView& view_;
  const Filesystem& filesystem_;
  const Exec& exec_;
  const std::vector<UnixRule>& peers_;
  std::uint32_t first_rule_, first_exec_rule_;
  std::vector<Node> nodes_;  // the root first; parents before their children; number = index + 1
  std::map<std::pair<std::size_t, std::string>, std::size_t> children_;  // by parent and name, as the paths have it
  std::map<std::pair<std::size_t, std::string>, std::size_t> by_name_;   // the same of nodes that are joined
  std::map<FsInode, std::size_t> by_inode_;
};

}  // namespace

Result<FsEntries> filesystem_entries(const Policy& policy, const FsView& view, std::uint32_t first_rule) {
  Tree tree(policy, view, first_rule);
  if (auto grown = tree.grow(); !grown) return tl::unexpected<Error>(grown.error());
  if (auto settled = tree.settle(); !settled) return tl::unexpected<Error>(settled.error());
  for (const FsLink& link : view.links)
    if (tree.may_plant(link)) return planted_link(policy, link, "lies where the sandbox may write");
  tree.lower();
  return internal::without_hidden(view, tree.entries());
}

}  // namespace sbpf::policy
