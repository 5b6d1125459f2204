// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/refresh.h"

#include <optional>

#include "agent/files/fs_view.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/policy_text.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

constexpr std::chrono::milliseconds kPatienceAtAMount{2'000};  // nothing else is looked at meanwhile

std::optional<KeptPolicy> find_policy(const Cgroup& cgroup, const policy::Image& image, const KeptPolicy* own) {
  if ((image.header().flags & SBPF_POLICY_PATHS) == 0) return std::nullopt;
  if (own && is_image_of(image, own->policy)) return *own;
  auto kept = read_policy_text(cgroup.id(), image);
  return kept ? std::optional(std::move(*kept)) : std::nullopt;
}

}  // namespace

Result<bool> refresh_paths(const Kernel& kernel, const Cgroup& cgroup, const KeptPolicy* own) {
  const auto before = read_policy(kernel, cgroup.id());
  if (!before) return true;
  const auto kept = find_policy(cgroup, *before, own);
  if (!kept) return true;
  // While another one has it, it is not looked up anew each time.
  if (auto free = lock_host(std::chrono::milliseconds(0)); !free) return free.error().code != "locked";
  // Without the lock: others need not wait for a file system that gives no answer.
  auto fresh =
      compile_for(kernel, cgroup, kept->policy, 1, {.patience = kPatienceAtAMount, .again = &kept->walked_paths});
  if (!fresh && fresh.error().code == "no_namespace") return true;
  if (!fresh) return tl::unexpected<Error>(fresh.error());
  auto lock = lock_host(std::chrono::milliseconds(0));
  if (!lock) return lock.error().code != "locked";
  const auto now = read_policy(kernel, cgroup.id());
  if (!now) return true;
  if (now->header().generation != before->header().generation)
    return false;  // published by another one, who may have looked later
  auto next = fresh->renumbered(now->header().generation + 1);
  if (now->header().flags & SBPF_POLICY_KEPT_FILES) next = next.flagged(SBPF_POLICY_KEPT_FILES);
  if (policy::image_sha256(next.entries) != policy::image_sha256(now->entries))
    (void)publish(kernel, cgroup.id(), next);
  return true;
}

}  // namespace sbpf::agent
