// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/freeze.h"

namespace sbpf::agent {
namespace {

bool is_to_freeze(const Cgroup& cgroup) {
  const auto asked = cgroup.read("cgroup.freeze");
  return asked && asked->starts_with('1');
}

}  // namespace

Freeze::Freeze(const Kernel& kernel, const Cgroup& cgroup, const std::string& name)
    : kernel_(kernel), cgroup_(cgroup), name_(name), was_frozen_(is_to_freeze(cgroup) || cgroup.frozen()) {}

Result<void> Freeze::freeze() {
  if (was_frozen_ && cgroup_.frozen()) return {};
  if (was_frozen_) return cgroup_.freeze(true);  // a moment ago: its tasks may run still
  change_.emplace(kernel_, JournalEntry::frozen, cgroup_.id(), name_);
  frozen_ = true;
  return cgroup_.freeze(true);
}

void Freeze::thaw() {
  if (frozen_) (void)cgroup_.freeze(false);
  frozen_ = false;
  change_.reset();
}

}  // namespace sbpf::agent
