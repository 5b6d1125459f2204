// SPDX-License-Identifier: Apache-2.0
// A random tree of files, operations on it, and how to undo each. For the differential test of filesystem rules.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "tests/live/random_policy.h"

namespace sbpf::live {

enum class Kind {
  read,
  write,
  read_write,
  append,
  trunc,
  creat,
  list,
  mkdir,
  rmdir,
  unlink,
  symlink,
  link,
  rename,
  exchange,
  truncate,
  chmod,
  utimes,
  readlink,
  setxattr,
  getxattr,
  run,  // map it as code, as the loader does
  stat,
  count
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::count);
const char* to_string(Kind kind);

constexpr std::size_t kPathRoom = 256;

// Plain data: it lies in memory that the worker shares.
struct Op {
  Kind kind;
  bool denied;  // by the model
  int error;    // what the worker got
  char a[kPathRoom], b[kPathRoom];
};

// Ends the test if a step of its own failed.
void must(bool done, const char* what, const std::string& path);

Op op_of(Kind kind, const std::string& a, const std::string& b = "");

// Carries the operation out; 0 or errno.
int attempt(const Op& op);
// Does a success change the tree?
bool changes(Kind kind);

class World {
 public:
  // Makes a tree below `base`, which is made anew.
  World(std::string base, Random& random);

  policy::Policy random_policy();
  // Some names that rules name and that do not exist appear, and some files are replaced: as the host might, later.
  void meddle(const policy::Policy& policy);
  // Takes away what meddle() made appear.
  void settle();

  Op random_op(const policy::Policy& policy);
  // After a success, by a process that may.
  void undo(const Op& op);

 private:
  char type_of(const std::string& path) const;
  std::string pick(const char* types);
  std::string pick_missing();
  std::string pick_rule_path();
  void add(const std::string& path, char type);
  void put_back(const std::string& path);
  void back_up(const std::string& path);
  bool denies(const policy::Policy& policy, const Op& op) const;
  std::size_t roll(std::size_t n) { return random_() % n; }

  Random& random_;
  std::string base_, top_;
  std::map<std::string, char> entries_;  // path -> 'd', 'f' or 'l'
  std::map<std::string, std::string> link_targets_, backups_;
  std::vector<std::string> appeared_;
  std::size_t n_backups_ = 0;
};

}  // namespace sbpf::live
