// SPDX-License-Identifier: Apache-2.0
// What filesystem rules mean in a tree that changes while they are in force: things are moved, exchanged, removed, made
// anew, linked and mounted over. On objects and names alone, written apart from the agent and the programs, which are
// compared with it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "tests/decide/fs_model.h"
#include "tests/live/fs_world.h"

namespace sbpf::live {

// A file, directory or link, whatever its names.
struct Object {
  char type = 'f';              // 'd', 'f' or 'l'
  Object* directory = nullptr;  // of a directory: where it lies; nullptr: the root of a filesystem, or of the tree
  std::string name;             // and its name there
  std::map<std::string, Object*> entries;
  Object* mounted = nullptr;  // the root of what is mounted on it
  std::string target;         // of a link
  int names = 1;
};

// A name in a directory, and what bears it: nullptr if nothing does.
struct Place {
  Object* directory = nullptr;
  std::string name;
  Object* object = nullptr;
};

class Tree {
 public:
  // `top`: the path of its root, without a link on the way.
  explicit Tree(std::string top);

  const std::string& top() const { return top_path_; }
  // Follows what is mounted, and links on the way; a link by the last name if `follow`. None: it leads nowhere.
  std::optional<Place> find(const std::string& path, bool follow) const { return find(path, follow, 0); }
  // Every path that a walk from the top sees, in order, and what it leads to.
  std::vector<std::pair<std::string, Object*>> paths() const;
  // Those of them at which something is mounted, and its root.
  std::vector<std::pair<std::string, Object*>> mounts() const;

  // What a success of the operation does.
  void apply(const Op& op);
  void mount(const std::string& directory);
  void unmount(const std::string& directory);

 private:
  std::optional<Place> find(const std::string& path, bool follow, int links) const;
  Object* fresh(char type);
  void put(const Place& place, Object* object);
  void take(const Place& place);

  const std::string top_path_;
  std::vector<std::unique_ptr<Object>> objects_;  // those that are gone, too: no other is at their address
  Object* top_ = nullptr;
};

// The root of the filesystem in which the directory lies, or of the tree.
const Object* root_of(const Object* directory);

// How the tree's own filesystem knows what it has. (What is mounted in it is tmpfs.)
struct Identity {
  bool files = true;  // files by their inodes, too; overlayfs and FUSE only directories
  // A directory is known as long as it exists; where layers lie on two filesystems perhaps only by its name.
  bool lasting = true;
};

// What may come of an operation. Both: it cannot be told.
struct Outcomes {
  bool denied = false, allowed = false;
};
inline Outcomes either(const Outcomes& a, const Outcomes& b) { return {a.denied || b.denied, a.allowed || b.allowed}; }

// A policy's rules, for what their paths led to when they were looked up.
class Rules {
 public:
  Rules(policy::Policy policy, const Tree& tree, Identity identity);

  // No rule's path leads through a link, and no two lead to one file: the agent would refuse them, or look further.
  bool plain() const { return plain_; }
  const policy::Policy& policy() const { return policy_; }
  Outcomes outcomes(const Tree& tree, const Op& op) const;
  // The same of a call that changes nothing, and has found its way.
  Outcomes outcomes_at(const Op& op, const Place& place) const;
  // The paths of the rules, and of all that is above them in the tree.
  const std::set<std::string>& named() const { return named_; }

 private:
  struct Known {
    std::string path;
    bool exact = true;  // it is what the path names, and not only something in it
  };
  struct Verdict : fs_model::Verdict {
    bool exact = false;
    bool lowered = false;  // perhaps, for the sake of another name of the file that a rule names
  };
  enum class Need { read, write, move, run, no_rule };

  void look_up(const std::string& path, const Tree& tree);
  void look_up_mounts(const Tree& tree);
  Verdict verdict(const std::string& path, bool exact) const;
  Verdict below(const Known& known, const std::vector<std::string>& names) const;
  Identity identity_of(const Place& place) const;
  std::vector<Verdict> judge(const Place& place) const;
  void ask(Outcomes& outcomes, const Place& place, Need need) const;
  void ask_change(Outcomes& outcomes, const Op& op, const Place& a, const Place& b) const;

  const policy::Policy policy_;
  const Identity identity_;
  const std::string top_path_;
  const Object* top_;
  std::set<std::string> named_;
  std::map<const Object*, Known> known_;
  std::set<const Object*> several_;  // files that had several names,
  std::set<std::string> lowered_;    // and which of those are a rule's
  bool plain_ = true;
};

}  // namespace sbpf::live
