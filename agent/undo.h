// SPDX-License-Identifier: Apache-2.0
// The way back for who makes a sandbox together with its cgroup.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/cgroup.h"
#include "agent/kernel.h"

namespace sbpf::agent {

// Its destructor undoes what was done, in reverse; each part is safe to undo when it was never done. The caller holds the host
// lock whenever it ends.
class Undo {
 public:
  // `loaded_before`: the programs were there already, and stay.
  Undo(const Kernel& kernel, bool loaded_before) : kernel_(kernel), keep_programs_(loaded_before) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo();
  // From here on there is a cgroup: what runs in it is killed, the sandbox is taken down, and the cgroup is removed.
  void has(const Cgroup& cgroup, const std::string& name);
  void keep_programs() { keep_programs_ = true; }
  // All went well, and everything stays.
  void keep_all();

 private:
  const Kernel& kernel_;
  bool keep_programs_;
  std::unique_ptr<Cgroup> cgroup_;
  std::string path_, name_;
  std::uint64_t id_ = 0;
};

}  // namespace sbpf::agent
