// SPDX-License-Identifier: Apache-2.0
#include "agent/undo.h"

#include <utility>

#include "agent/sandbox.h"

namespace sbpf::agent {

void Undo::has(const Cgroup& cgroup, const std::string& name) {
  path_ = cgroup.path();
  id_ = cgroup.id();
  name_ = name;
  if (auto again = Cgroup::open(path_)) cgroup_ = std::make_unique<Cgroup>(std::move(*again));
}

void Undo::keep_all() {
  cgroup_.reset();
  keep_programs_ = true;
}

Undo::~Undo() {
  if (cgroup_) {
    if (cgroup_->populated()) (void)cgroup_->kill();
    take_down(kernel_, id_, name_);
    cgroup_.reset();
    // Another run may have the name and the path by now, if someone took this one down meanwhile.
    if (auto now = Cgroup::open(path_); now && now->id() == id_) (void)remove_cgroup(path_);
  }
  if (!keep_programs_) Kernel::remove_all();
}

}  // namespace sbpf::agent
