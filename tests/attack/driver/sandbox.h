// SPDX-License-Identifier: Apache-2.0
// The host as the driver uses it: sbpf's commands, cgroups, policy files.
#pragma once

#include <string>
#include <vector>

#include "tests/attack/driver/launch.h"

namespace attack::driver {

struct Host {
  std::string sbpf;          // the program under test
  std::string program;       // the `attacker` binary
  std::string cgroup_root;   // empty if there is no cgroup2
  std::string directory;     // for this run; removed at the end
  int uid = 0;               // the attackers'
  std::string profile = {};  // denied runs are under this profile instead of the attack's own policy; empty: none
  bool before_6_5 = false;   // the running kernel
};

Host find_host(int uid);
void clean_up(const Host& host);

// A policy file of one network fragment, its placeholders filled in.
std::string write_policy(const Host& host, const std::string& fragment, bool audit, const Arguments& arguments);

// The same of one `process:` fragment; the network is open. For a boxed bystander, too.
std::string write_process_policy(const Host& host, const std::string& fragment, bool audit, const Arguments& arguments);

// The profile `host.profile`, and what the attacker's program needs to run.
std::string write_profile_policy(const Host& host, const Arguments& arguments);

// The policy of an attack on files: the allowing one, or the one under test (tests/attack/lib/files.h).
std::string write_file_policy(const Host& host, const FileSpec& files, bool allowing, const Arguments& arguments);

std::vector<std::string> run_arguments(const Host& host, const std::string& policy, const std::string& name);

// A cgroup of the driver's; removed at the end, its processes having ended.
class Cgroup {
 public:
  explicit Cgroup(std::string path);
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;
  ~Cgroup();
  void take(pid_t pid) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// `sbpf attach`; detached at the end if it worked.
class Attachment {
 public:
  Attachment(const Host& host, const Cgroup& cgroup, const std::string& policy, bool keep_open_sockets);
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  ~Attachment();
  int exit_code() const { return exit_code_; }
  const std::string& errors() const { return errors_; }

 private:
  const Host& host_;
  std::string name_, errors_;
  int exit_code_ = -1;
};

// Loads modules, as far as this kernel has them; each only once. Unloads them, each time.
void load_modules(const std::string& names);
void unload_modules(const std::string& names);

}  // namespace attack::driver
