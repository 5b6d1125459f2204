// SPDX-License-Identifier: Apache-2.0
// Follows a path, one name at a time: the kernel follows no symbolic link here, so that each link can be judged.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// "/a//b" and "a/b" -> {"a", "b"}; and back: "/a/b" of the first `count`, "/" of none.
std::vector<std::string> names_of(const std::string& path);
std::string join(const std::vector<std::string>& names, std::size_t count);

// A symbolic link on the way.
struct Link {
  std::vector<std::string> names;  // where it lies, without links
  uid_t owner = 0;
  std::string target;  // as it is written there
  bool last = false;   // it is the path's own last component
  std::string below;   // a directory on the way to it that others could put another link in; "": there is none
};

// A path without symbolic links, how much of it exists, and the links that were followed.
struct Followed {
  std::vector<std::string> names;
  std::size_t existing = 0;
  std::vector<Link> links;
};

class Follower {
 public:
  // `root` (O_PATH) is what "/" means, and outlives this. `asker`: whose directories are trusted, as root's are. `note`
  // is told each path before it is looked at: it may never be answered.
  Follower(const Fd& root, uid_t asker, std::function<void(const std::string&)> note)
      : root_(root), asker_(asker), note_(std::move(note)) {}

  // Follows the part that exists; the rest keeps its names. A path is looked at only once. Errors: "fs_view" with the
  // errno.
  Result<Followed> follow(const std::string& path);

  // Opens a path that has no symbolic links but, perhaps, its last component, which is opened itself: O_PATH. ELOOP: it
  // has.
  Fd open(const std::string& path) const;

 private:
  struct Seen {
    bool there = false, link = false, open = false;  // open: others may rename what lies in it
    uid_t owner = 0;
    std::string target;
  };
  Result<Seen> look_at(const std::string& path);
  std::string untrusted_above(const std::vector<std::string>& names) const;

  const Fd& root_;
  const uid_t asker_;
  std::function<void(const std::string&)> note_;
  std::map<std::string, Seen> seen_;  // by path without links
};

}  // namespace sbpf::agent
