// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/bring_up.h"

#include <chrono>
#include <utility>

#include "agent/host/limits.h"
#include "agent/kernel/gate.h"
#include "agent/kernel/guard.h"
#include "agent/sandbox/ended.h"
#include "agent/verify/host_checks.h"
#include "agent/verify/quick_check.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {

Result<std::unique_ptr<BringUp>> BringUp::begin() {
  auto lock = lock_host_to_load();
  if (!lock) return tl::unexpected<Error>(explain_failure(lock.error()));
  std::unique_ptr<BringUp> up(new BringUp(std::move(*lock), true));
  auto kernel = ready_kernel();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  if (auto taken = up->take(std::move(*kernel)); !taken) return tl::unexpected<Error>(taken.error());
  return up;
}

Result<std::unique_ptr<BringUp>> BringUp::begin_unpinned() {
  auto lock = lock_host_to_load();
  if (!lock) return tl::unexpected<Error>(lock.error());
  std::unique_ptr<BringUp> up(new BringUp(std::move(*lock), false));
  auto kernel = Kernel::is_pinned() ? Kernel::ensure() : Kernel::load();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  if (auto taken = up->take(std::move(*kernel)); !taken) return tl::unexpected<Error>(taken.error());
  return up;
}

Result<void> BringUp::take(Kernel kernel) {
  kernel_.emplace(std::move(kernel));
  return lacks_root(*kernel_) ? set_root(*kernel_) : Result<void>();
}

void BringUp::take_down() {
  if (made_->populated()) (void)made_->kill();
  if (const auto record = find_record(*kernel_, made_->id())) (void)mark_ended(*record);
  agent::take_down(*kernel_, made_->id(), name_);
  links_.clear();
}

BringUp::~BringUp() {
  if (made_ && !keep_cgroup_) {
    const std::string path = made_->path();
    const std::uint64_t id = made_->id();
    take_down();
    made_.reset();
    // Another run may have the name and the path by now, if someone took this one down meanwhile.
    if (auto now = Cgroup::open(path); now && now->id() == id) (void)remove_cgroup(path);
  }
  if (kernel_ && !keep_programs_ && nobody_came()) Kernel::remove_all();
}

bool BringUp::nobody_came() const {
  if (!unlocked_) return true;
  bool whole = true;
  return read_registry(*kernel_, &whole).empty() && whole;
}

Result<void> BringUp::make_cgroup(const std::string& name, const policy::Limits& limits) {
  const auto root = root_cgroup();
  if (!root) return tl::unexpected<Error>(root.error());
  return make_cgroup_in(*root, name, limits);
}

Result<void> BringUp::make_cgroup_in(const Cgroup& above, const std::string& name, const policy::Limits& limits) {
  auto cgroup = Cgroup::create(above.path() + "/" + name);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  name_ = name;
  made_.emplace(std::move(*cgroup));
  return apply_limits(*made_, limits);
}

Result<void> BringUp::set_up(const Cgroup& cgroup, const SandboxSpec& spec, const policy::Image& image) {
  if (auto up = agent::set_up(*kernel_, cgroup, spec, image, pinned_, links_); !up)
    return tl::unexpected<Error>(pinned_ ? explain_failure(up.error()) : up.error());
  if (pinned_) links_.clear();  // the pins hold them
  return {};
}

Result<Status> BringUp::read_back(const Cgroup& cgroup, bool canary) {
  const auto record = find_record(*kernel_, cgroup.id());
  if (!record) return fail("sandbox_setup", "the sandbox's record is gone");
  return read_status(*kernel_, *record, canary);
}

Result<Status> BringUp::prove_unlocked(const Cgroup& cgroup) {
  const auto record = find_record(*kernel_, cgroup.id());
  if (!record) return read_back(cgroup, true);
  const std::uint32_t policy = policy_map_id(*kernel_, cgroup.id());
  if (auto claimed = claim_sandbox(lock_, cgroup.id()); !claimed) return tl::unexpected<Error>(claimed.error());
  unlocked_ = true;
  if (auto others = unlock_host(lock_); !others) return tl::unexpected<Error>(others.error());
  const auto status = agent::prove(*kernel_, *record, probe_host(*kernel_));
  if (auto again = relock_host(lock_); !again) return tl::unexpected<Error>(again.error());
  end_claim(lock_, cgroup.id());
  const bool upgraded = kernel_->outdated();
  kernel_->renew();
  const auto now = find_record(*kernel_, cgroup.id());
  if (!now || now->created_ns != record->created_ns)
    return fail("sandbox_ended", fmt::format("sandbox {} was ended by another one while it came up", record->name),
                "start it anew");
  was_swapped_ = was_swapped_ || policy_map_id(*kernel_, cgroup.id()) != policy;
  if (was_swapped_ && !upgraded) return read_back(cgroup, false);
  if (upgraded || !status) return prove_unlocked(cgroup);  // what was seen is neither of before nor of after
  return *status;
}

tl::unexpected<Error> BringUp::not_active(const Status& status) {
  return tl::unexpected<Error>(explain_failure(
      {"isolation_not_active", fmt::format("isolation could not be verified: {}", why_not_active(status)),
       "run `sbpf preflight`", 0, "", false}));
}

void BringUp::keep_all() {
  keep_cgroup_ = true;
  keep_programs_ = true;
}

// Children that have not come to their exec have it, too: closing this descriptor would not be enough.
void BringUp::release_lock() {
  unlocked_ = true;
  (void)unlock_host(lock_);
  lock_.reset();
}

void BringUp::lock_for_rollback(const RunOptions& options) {
  constexpr std::chrono::seconds kPatience{30};
  auto lock = lock_host(kPatience);
  if (lock) {
    lock_ = std::move(*lock);
    return;
  }
  keep_all();
  if (options.on_warning)
    options.on_warning("the sandbox is over, and its empty cgroup is left to the next command: " +
                       lock.error().message);
}

}  // namespace sbpf::agent
