// SPDX-License-Identifier: Apache-2.0
// Other programs in the place of those in force, under live sandboxes.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "agent/host/audit.h"
#include "agent/host/bpf_info.h"
#include "agent/host/paths.h"
#include "agent/kernel/guard.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/sandbox.h"
#include "bpf/sbpf.digest.h"
#include "bpf/sbpf.skel.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

const std::string kRoot{kPinRoot};

Result<void> put_in_force(std::uint32_t number) {
  const std::string next = kRoot + "/next", now = kRoot + "/now";
  (void)::unlink(next.c_str());
  if (::symlink(loaded_name(number).c_str(), next.c_str()) != 0 || ::rename(next.c_str(), now.c_str()) != 0)
    return fail("pin", "cannot change " + now + ": " + std::strerror(errno), "", errno);
  return {};
}

// With their pins, links that no process holds end, and so do their programs.
void drop_others(std::uint32_t in_force) {
  std::error_code ec;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(kRoot, ec)) {
    const std::string name = entry.path().filename();
    if (name == "next" || (name.starts_with(kLoadedPrefix) && name != loaded_name(in_force))) others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove_all(path, ec);
}

Error not_upgraded(std::string what, int error) {
  return {"upgrade", std::move(what),
          "the programs that were in force stay; end the sandboxes and run `sbpf unload` to load others", error, "", false};
}

}  // namespace

bool Kernel::outdated() const { return __atomic_load_n(&globals_->change.loaded, __ATOMIC_SEQ_CST) != loaded_; }

void Kernel::renew() {
  if (!outdated()) return;
  if (auto again = open()) *this = std::move(*again);
}

Result<void> Kernel::share_maps(sbpf_bpf& skeleton) const {
  // Not all of them are pinned: what the programs in force use.
  std::map<std::string, Fd> used;
  for (const Hook& hook : hooks()) {
    const Fd program(bpf_prog_get_fd_by_id(meta_[hook.id].prog_id));
    std::vector<std::uint32_t> ids(64);
    if (!program || !program_info(program.get(), &ids)) continue;
    for (const std::uint32_t id : ids) {
      Fd map(bpf_map_get_fd_by_id(id));
      if (!map) continue;
      if (auto info = map_info(map.get())) used[info->name] = std::move(map);
    }
  }
  bpf_map* map = nullptr;
  bpf_object__for_each_map(map, skeleton.obj) {
    int fd = map == skeleton.maps.sbpf_compared ? compared_.get() : bss_.get();  // no hook uses that one
    if (map != skeleton.maps.bss && map != skeleton.maps.sbpf_compared) {
      if (bpf_map__is_internal(map)) continue;  // constants, which are the new ones' own
      const auto found = used.find(std::string(bpf_map__name(map)).substr(0, BPF_OBJ_NAME_LEN - 1));
      fd = found == used.end() ? -1 : found->second.get();
    }
    if (fd < 0 || bpf_map__reuse_fd(map, fd) != 0)
      return tl::unexpected<Error>(
          not_upgraded(std::string("map ") + bpf_map__name(map) + " of the programs in force cannot be taken over", errno));
  }
  return {};
}

Result<void> Kernel::run_by_all() const {
  for (const sbpf_sandbox& record : records(*this))
    for (const Hook& hook : hooks_of(record.flags)) {
      if (!hook.per_sandbox()) continue;
      const Fd link(bpf_obj_get(link_pin(record.name, hook).c_str()));
      if (!link) continue;  // a loss, which `sbpf watch` answers, and mends with the programs in force
      auto info = link_info(link.get());
      if (info && info->prog_id == meta_[hook.id].prog_id) continue;
      if (bpf_link_update(link.get(), programs_[hook.id].get(), nullptr) != 0)
        return tl::unexpected<Error>(not_upgraded("the kernel does not take another program for hook " + std::string(hook.name) +
                                                      " of sandbox " + record.name + ": " + std::strerror(errno), errno));
    }
  return {};
}

Result<bool> Kernel::upgrade() {
  auto old = open();
  if (!old) return tl::unexpected<Error>(old.error());
  if (std::memcmp(old->meta_[0].object_sha256, sbpf_object_sha256, sizeof sbpf_object_sha256) == 0) return false;
  auto next = load(&*old);
  if (!next) return tl::unexpected<Error>(next.error());
  next->loaded_ = old->loaded_ + 1;
  const JournalEntry change(*old, JournalEntry::upgrade, 0, "");  // before the first pin: of what it leaves when it is killed, too
  drop_others(old->loaded_);
  if (auto pinned = next->pin_programs(kRoot); !pinned) {
    drop_others(old->loaded_);
    return tl::unexpected<Error>(pinned.error());
  }
  const auto verified = [&]() -> Result<void> {
    for (const Hook& hook : hooks())
      if (!hook.per_sandbox())
        if (const HookStatus status = next->host_status(hook); !status.attached)
          return tl::unexpected<Error>(not_upgraded(std::string("hook ") + hook.name + ": " + status.reason, 0));
    return next->run_by_all();
  };
  auto done = verified();
  // From here on every object that was opened before is an outdated one.
  if (done) __atomic_store_n(&old->globals_->change.loaded, next->loaded_, __ATOMIC_SEQ_CST);
  if (done) done = put_in_force(next->loaded_);
  if (!done) {
    (void)old->run_by_all();
    __atomic_store_n(&old->globals_->change.loaded, old->loaded_, __ATOMIC_SEQ_CST);
    drop_others(old->loaded_);
    return tl::unexpected<Error>(done.error());
  }
  drop_others(next->loaded_);
  audit("other programs put in force: " + programs_digest());
  return true;
}

Result<void> Kernel::mend_upgrade() {
  auto now = open();  // what the link names stands, and the rest follows it
  if (!now) return tl::unexpected<Error>(now.error());
  __atomic_store_n(&now->globals_->change.loaded, now->loaded_, __ATOMIC_SEQ_CST);
  auto done = now->run_by_all();
  drop_others(now->loaded_);
  return done;
}

Result<bool> upgrade() {
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  mend(*kernel);
  return Kernel::upgrade();
}

}  // namespace sbpf::agent
