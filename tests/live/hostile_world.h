// SPDX-License-Identifier: Apache-2.0
// A tree of files that the host and a sandbox change at random, and the model of it. For hostile_trees.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/live/fs_world.h"
#include "tests/live/tree_model.h"

namespace sbpf::live {

// Where the tree is made. With `lower` and `upper` an overlay of them is mounted at `base` once the tree stands in
// `lower`.
struct Ground {
  std::string base, lower, upper;
  Identity identity;
};

void drop_dentries();

class HostileWorld {
 public:
  HostileWorld(Ground ground, Random& random);
  ~HostileWorld();
  HostileWorld(const HostileWorld&) = delete;
  HostileWorld& operator=(const HostileWorld&) = delete;

  // A policy whose rules name what is in the tree, or might be.
  Rules random_rules();
  // From now on it is in force.
  void use(const Rules& rules);

  Op random_call();
  Outcomes outcomes(const Op& op) const { return rules_->outcomes(*tree_, op); }
  void apply(const Op& op) { tree_->apply(op); }

  // A change of the host's. False: nothing came of it.
  bool change();
  // Moves a directory, or exchanges two, while `op` is under way, which changes nothing: what may come of it.
  Outcomes move_while(const Op& op);

  // The last move, the policy and the tree, for a report.
  std::string text() const;

 private:
  using Named = std::pair<std::string, Object*>;

  std::size_t roll(std::size_t n) { return random_() % n; }
  void grow();
  void mount_overlay();
  std::vector<Named> all(const char* types) const;
  std::string pick(const char* types);
  std::string pick_missing();
  std::string pick_rule_path();
  std::string spell(const std::string& path);
  bool fits(const Op& op) const;
  bool pick_paths(Op& op, std::string& a, std::string& b);
  bool carry_out(const Op& op);
  bool random_change();
  bool remove_tree();
  bool replace_file();
  bool make_what_rules_name();
  bool mount_or_unmount();

  const Ground ground_;
  Random& random_;
  std::unique_ptr<Tree> tree_;
  std::unique_ptr<Rules> rules_;
  Op last_move_{};
};

}  // namespace sbpf::live
