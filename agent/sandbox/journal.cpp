// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/journal.h"

#include <algorithm>
#include <cstring>

#include "agent/dns/resolver_rules.h"
#include "agent/host/audit.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/guard.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

std::uint32_t what_of(const sbpf_journal& slot) { return __atomic_load_n(&slot.what, __ATOMIC_SEQ_CST); }
std::uint64_t whose(const sbpf_journal& slot) { return __atomic_load_n(&slot.cgroup_id, __ATOMIC_SEQ_CST); }

// `what` is written last and cleared first: the other fields are valid only while it is set.
void begin(sbpf_journal& slot, std::uint32_t what, std::uint64_t cgroup_id, const std::string& name) {
  std::memset(slot.name, 0, sizeof slot.name);
  std::memcpy(slot.name, name.data(), std::min(name.size(), sizeof slot.name - 1));
  __atomic_store_n(&slot.cgroup_id, cgroup_id, __ATOMIC_SEQ_CST);
  __atomic_store_n(&slot.what, what, __ATOMIC_SEQ_CST);
}

void mend_swap(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name) {
  auto image = read_policy(kernel, cgroup_id);
  if (!image) return;
  (void)set_recording(kernel, cgroup_id, *image);
  if (const std::uint32_t names = image->header().host_names_id; names != 0)
    if (Fd rules = open_resolver_rules(name); rules && resolver_rules_in_use(rules.get()) != names)
      (void)use_resolver_rules(rules.get(), names);
}

void mend_left(const Kernel& kernel) {
  sbpf_journal& slot = kernel.globals().journal;
  if (const std::uint32_t what = what_of(slot); what != 0) {
    const std::uint64_t id = whose(slot);
    const std::string name(slot.name, ::strnlen(slot.name, sizeof slot.name));
    if (what & (JournalEntry::set_up | JournalEntry::take_down)) take_down(kernel, id, name);
    if (what & JournalEntry::swap) mend_swap(kernel, id, name);
    if (what & JournalEntry::upgrade) (void)Kernel::mend_upgrade(have_sandboxes_run);
    if (what & JournalEntry::frozen)
      if (auto cgroup = Cgroup::open_by_id(id)) (void)cgroup->freeze(false);
    __atomic_store_n(&slot.what, 0u, __ATOMIC_SEQ_CST);
    audit(fmt::format("{}: mended what a killed sbpf left", name.empty() ? "programs" : "sandbox " + name));
  }
  drop_unfinished();
}

}  // namespace

JournalEntry::JournalEntry(const Kernel& kernel, What what, std::uint64_t cgroup_id, const std::string& name)
    : slot_(kernel.globals().journal) {
  // Of another sandbox, and we hold the lock: a killed one left it.
  if (what_of(slot_) != 0 && whose(slot_) != cgroup_id) mend_left(kernel);
  before_ = what_of(slot_);
  begin(slot_, before_ | what, cgroup_id, name);
}

JournalEntry::~JournalEntry() { __atomic_store_n(&slot_.what, before_, __ATOMIC_SEQ_CST); }

bool is_changing(const Kernel& kernel, std::uint64_t cgroup_id) {
  const sbpf_journal& slot = kernel.globals().journal;
  const std::uint32_t what = what_of(slot);
  return what != 0 && (whose(slot) == cgroup_id || (what & JournalEntry::upgrade) != 0);
}

bool is_upgrading(const Kernel& kernel) { return (what_of(kernel.globals().journal) & JournalEntry::upgrade) != 0; }

bool is_changing(const Kernel& kernel) { return what_of(kernel.globals().journal) != 0; }

void mend(Kernel& kernel) {
  mend_left(kernel);
  kernel.renew();
}

void mend_killed(Kernel& kernel) {
  if (!is_changing(kernel)) return;
  if (const auto lock = lock_host(std::chrono::milliseconds(0))) mend(kernel);  // else it is at it, or at the next time
}

Result<LockedHost> open_locked() {
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  auto kernel = Kernel::open();
  if (!kernel && kernel.error().code == "not_loaded")
    return fail("no_such_sandbox", kernel.error().message, kernel.error().hint);
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  mend(*kernel);
  return LockedHost{std::move(*lock), std::move(*kernel)};
}

}  // namespace sbpf::agent
