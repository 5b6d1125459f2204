// SPDX-License-Identifier: Apache-2.0
// The tree of the paths of rules for files, programs and sockets, and their places on a host. Pure: the agent looks the
// paths up.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::policy {

// An inode as the kernel side sees it (not as stat(2) reports it: overlayfs and btrfs differ).
struct FsInode {
  std::uint64_t ino = 0;
  std::uint32_t dev = 0;
  std::uint32_t generation = 0;
  bool directory = true;
  auto operator<=>(const FsInode&) const = default;
};

struct FsComponent {
  std::string name;              // "" for the root
  std::optional<FsInode> inode;  // unset: does not exist yet
};

// A path as the sandbox's mount namespace has it: the root first, no symbolic links left but, at most, the last
// component.
using FsPath = std::vector<FsComponent>;

// A path that a rule names, and where that is written.
struct RulePath {
  std::string path;
  Location where;
};

// A symbolic link that was followed for a rule.
struct FsLink {
  std::string rule;             // the rule's path
  FsPath path;                  // where it lies
  std::vector<FsPath> aliases;  // where else, as its filesystem is mounted more than once
  std::string target;           // as it is written there
};

// Where a directory is seen, too.
struct FsPlace {
  FsPath path;             // with the directory's inode as the last
  std::size_t mounted_at;  // how many of its names are those of the mount point by which it is seen there
};

// The rules' paths and the mounts of one host at one time.
struct FsView {
  // By a rule's path: where it leads, with all symbolic links followed; and, where its last component is a link, also
  // the link itself. One or two paths each. The root's inode is always set.
  std::map<std::string, std::vector<FsPath>> paths;
  // Roots of mounts that the rules above their mount points are to cover: the mount point, whose last inode is the
  // mounted root; "/" itself among them. One whose inode a rule already has is left out by compile().
  std::vector<FsPath> mounts;
  std::vector<FsLink> links;
  // Other places of directories that are mounted where rules' paths lead through. If no rule names such a directory, it
  // has at most the rights that rules give the nearest directory above it in its filesystem; if that cannot be told
  // apart, at most the rights that all its places have.
  std::vector<FsPlace> elsewhere;
  // Names of files that have several, each with the file's inode. The file has the rights that all of these names
  // allow, by any of its names, even one that a rule has.
  std::vector<FsPath> linked;
  // The paths of `filesystem.private` at which the sandbox has a directory of its own, each with the host's directory
  // of that name, which may be seen elsewhere.
  std::map<std::string, std::optional<FsInode>> private_places;
  // No host was looked at: it is not known which paths exist, so compile() does not require directories to exist.
  bool assumed = false;
};

// Does the policy have rules for paths: for files, programs, or sockets?
bool has_paths(const Policy& policy);

// Every path of such rules, each once, sorted.
std::vector<RulePath> rule_paths(const Policy& policy);

// The places where files may have got other names (hard links) by which they would escape: paths that the policy takes
// out of a place that a rule of its own opens for writing; and, after the policy `before`, the places that `before` let
// be written. If that was everywhere, the paths that the policy denies or protects. These are paths of rules. `resolve`
// gives first the place to which such a path leads, and then the other places where it is mounted.
using Resolve = std::function<std::vector<std::string>(const std::string& path)>;
std::set<std::string> places_of_other_names(const Policy& policy, const Resolve& resolve);
std::set<std::string> places_of_other_names(const Policy& policy, const Policy& before);

// "/a/b", and "/" of the root: the names as they are.
std::string to_path(const FsPath& path);

// A rule leads through a link that the untrusted side may have made: `why` goes on from "which". `link`: where it lies.
tl::unexpected<Error> planted_link(const RulePath& rule, std::string_view link, std::string_view target,
                                   const std::string& why);
tl::unexpected<Error> planted_link(const Policy& policy, const FsLink& link, const std::string& why);

// The paths of its `filesystem.private`.
std::set<std::string> private_places(const Policy& policy);

// A view in which nothing but "/" exists, each rule's path leading to itself; for what is asked of a policy alone. The
// places of `filesystem.private` are private, as in what `run` makes.
FsView empty_view(const Policy& policy);

// The hash of a directory entry's name, as the kernel side computes it: it reads a name in pieces of 32 bytes, the last
// piece filled up with zeros, and folds the four words of each.
std::uint64_t fs_name_hash(std::string_view name);

// The keys of an image's filesystem entries; `node` is the number of the directory's node.
sbpf_rule_key fs_inode_key(const FsInode& inode);
sbpf_rule_key fs_name_key(std::uint32_t node, std::string_view name);

// The key of an abstract socket: "@name".
sbpf_rule_key unix_key(std::string_view peer);

// Marks in a header that this entry is of a file with an inode of its own; does nothing for other entries.
void set_file_bit(sbpf_policy_header& header, const sbpf_rule_key& key);

using FsEntries = std::map<sbpf_rule_key, sbpf_fs_node, KeyLess>;

// The entries by which a name is found, under its key: a long one has several.
FsEntries named_entries(sbpf_rule_key key, sbpf_fs_node value, std::string_view name);

// The image's entry under a name's key, if it belongs to that name and not to another name with the same hash.
std::optional<sbpf_fs_node> find_named(const Entries& entries, sbpf_rule_key key, std::string_view name);

// The entries of the policy's rules for paths on the host of `view`, numbering the rules from `first_rule` on, those
// for files first, then those for programs. A node has the rights of the nearest rule of each kind. Nodes are
// numbered in the order of their paths, component by component; where several nodes are one file or directory (a bind
// mount, a hard link), their entries have the number of the first.
// Errors, each with the places of the rules:
//   "fs_unresolved"  the view lacks a rule's path, or contradicts itself: the caller's mistake, or files that moved
//   "fs_conflict"    two rules' paths lead to one place, with different access
//   "fs_same_inode"  two paths are the same file or directory, with different rights
//   "planted_link"   a path leads through a symbolic link in a directory that a rule lets the sandbox write
//   "fs_too_deep"    a path that needs more than SBPF_FS_NAME_DEPTH names below what exists
//   "too_many_rules"
Result<FsEntries> filesystem_entries(const Policy& policy, const FsView& view, std::uint32_t first_rule);

// The rights that an image gives to a path without symbolic links, going by names alone; of a kind that the image does
// not judge, all of them.
std::uint32_t fs_rights_at(const Image& image, std::string_view path);
// Does a rule, and not the default, let this path be written?
bool fs_rule_writes(const Image& image, std::string_view path);

enum class FsOperation {
  read,    // open for reading, list
  write,   // open for writing, truncate, change mode or owner
  create,  // a file, directory or link of this name
  remove,
  rename,  // away from this path; the new path must be one that `create` is allowed for
  exec,    // run, or map as code: read too
};

// The policy's answer for an operation on `path`, which is absolute and has no symbolic links, "." or "..". The rules
// lie where `view` has them, which needs no inodes; without a view, at their own paths. Explanation::rule names the
// rule that decided, also for a denial ("filesystem.protect: /workspace/tests", "filesystem.default: deny"); it is
// empty when files are not judged.
Explanation explain_path(const Policy& policy, FsOperation operation, std::string_view path);
Explanation explain_path(const Policy& policy, const FsView& view, FsOperation operation, std::string_view path);

}  // namespace sbpf::policy
