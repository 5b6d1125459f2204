// SPDX-License-Identifier: Apache-2.0
// Other programs in the place of those in force, under live sandboxes.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "agent/host/audit.h"
#include "agent/host/bpf_info.h"
#include "agent/host/paths.h"
#include "agent/kernel/kernel.h"
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
    return fail("pin", SystemError{errno}, "cannot change {}", now);
  return {};
}

// With their pins, links that no process holds end, and so do their programs.
void drop_others(std::uint32_t in_force) {
  std::error_code ec;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(kRoot, ec)) {
    const std::string name = entry.path().filename();
    if (name == "next" || (name.starts_with(kLoadedPrefix) && name != loaded_name(in_force)))
      others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove_all(path, ec);
}

Error not_upgraded(std::string what, int error) {
  return {"upgrade", std::move(what), std::string(kNotUpgraded), error, "", false};
}

}  // namespace

bool Kernel::outdated() const {
  return __atomic_load_n(&globals_->journal.loaded, __ATOMIC_SEQ_CST) != objects_.loaded;
}

void Kernel::renew() {
  if (!outdated()) return;
  if (auto again = open()) *this = std::move(*again);
}

Result<void> Kernel::share_maps(sbpf_bpf& skeleton) const {
  // Not all of them are pinned: what the programs in force use.
  std::map<std::string, Fd> used;
  for (const Hook& hook : hooks()) {
    const Fd program(bpf_prog_get_fd_by_id(objects_.recorded[hook.id].prog_id));
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
    int fd =
        map == skeleton.maps.sbpf_compared ? objects_.compared.get() : objects_.globals.get();  // no hook uses that one
    if (map != skeleton.maps.bss && map != skeleton.maps.sbpf_compared) {
      if (bpf_map__is_internal(map)) continue;  // constants, which are the new ones' own
      const auto found = used.find(std::string(bpf_map__name(map)).substr(0, BPF_OBJ_NAME_LEN - 1));
      fd = found == used.end() ? -1 : found->second.get();
    }
    if (fd < 0 || bpf_map__reuse_fd(map, fd) != 0)
      return tl::unexpected<Error>(
          not_upgraded(fmt::format("map {} of the programs in force cannot be taken over", bpf_map__name(map)), errno));
  }
  return {};
}

bool Kernel::is_of_this_executable() const {
  return std::memcmp(objects_.recorded[0].object_sha256, sbpf_object_sha256, sizeof sbpf_object_sha256) == 0;
}

Result<void> Kernel::replace(const Kernel& old, const RunBySandboxes& run_by_sandboxes) {
  objects_.loaded = old.objects_.loaded + 1;
  drop_others(old.objects_.loaded);
  if (auto pinned = pin_programs(kRoot); !pinned) {
    drop_others(old.objects_.loaded);
    return pinned;
  }
  const auto verified = [&]() -> Result<void> {
    for (const Hook& hook : hooks())
      if (!hook.per_sandbox())
        if (const HookStatus status = host_status(hook); !status.attached)
          return tl::unexpected<Error>(not_upgraded(fmt::format("hook {}: {}", hook.name, status.reason), 0));
    return run_by_sandboxes(*this);
  };
  auto done = verified();
  // From here on every object that was opened before is an outdated one.
  if (done) __atomic_store_n(&old.globals_->journal.loaded, objects_.loaded, __ATOMIC_SEQ_CST);
  if (done) done = put_in_force(objects_.loaded);
  if (!done) {
    (void)run_by_sandboxes(old);
    __atomic_store_n(&old.globals_->journal.loaded, old.objects_.loaded, __ATOMIC_SEQ_CST);
    drop_others(old.objects_.loaded);
    return done;
  }
  drop_others(objects_.loaded);
  return {};
}

Result<void> Kernel::mend_upgrade(const RunBySandboxes& run_by_sandboxes) {
  auto now = open();  // what the link names stands, and the rest follows it
  if (!now) return tl::unexpected<Error>(now.error());
  __atomic_store_n(&now->globals_->journal.loaded, now->objects_.loaded, __ATOMIC_SEQ_CST);
  auto done = run_by_sandboxes(*now);
  drop_others(now->objects_.loaded);
  return done;
}

}  // namespace sbpf::agent
