// SPDX-License-Identifier: Apache-2.0
// Which sandboxes this service gave which policy by name: those follow the policy's file. Kept in /run, so that it
// lives as long as the sandboxes do: past a restart of the service, not of the host. Also whose the sandboxes of users
// are.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace sbpf::service {

struct Assignment {
  std::string policy;
  std::uint64_t instance = 0;  // of the sandbox: another may come to bear the name
  std::string sha256;  // of the policy that the service gave it last: who gives it another has it follow no file
};

// A sandbox of a user's, for as long as that one's connection.
struct Run {
  std::uint32_t uid = 0;
  std::uint64_t cgroup_id = 0;  // 0: it is being made, or that was cut short
  std::string within = "";      // the run in which it is, for a program with a policy of its own; "": in none
};

class Assignments {
 public:
  explicit Assignments(std::string file) : file_(std::move(file)) {}

  // A file that is not there is an empty one. Errors: "state" (unreadable or not of our making); then it is empty.
  Result<void> load();
  // These write the file anew, whole, and fail with "state" if that cannot be done; in memory it is changed all the
  // same.
  Result<void> set(const std::string& sandbox, Assignment assignment);
  Result<void> remove(const std::string& sandbox);

  // Likewise.
  Result<void> set_run(const std::string& sandbox, Run run);
  Result<void> remove_run(const std::string& sandbox);

  const std::map<std::string, Assignment>& all() const { return all_; }
  const std::map<std::string, Run>& runs() const { return runs_; }

 private:
  Result<void> save() const;

  std::string file_;
  std::map<std::string, Assignment> all_;
  std::map<std::string, Run> runs_;
};

}  // namespace sbpf::service
