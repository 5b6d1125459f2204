// SPDX-License-Identifier: Apache-2.0
// Policies compiled with the paths that this thread, or a process, has.
#include "agent/files/fs_view.h"

namespace sbpf::agent {

Result<policy::Image> compile_here(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::string& left_by_others, WalkedPaths* walked_paths) {
  const auto mount_view = [&] {
    auto found = own_mount_view();
    if (found) found->left_by_others = left_by_others;
    return found;
  };
  return compile_from(kernel, policy, generation, mount_view, {.walked_paths = walked_paths});
}

Result<policy::Image> compile_as_seen_by(pid_t pid, uid_t asker, const Kernel& kernel, const policy::Policy& policy,
                                         std::uint32_t generation, WalkedPaths* walked_paths) {
  const auto mount_view = [&] {
    auto found = mount_view_of_process(pid);
    if (found) found->asker = asker;
    return found;
  };
  return compile_from(kernel, policy, generation, mount_view, {.walked_paths = walked_paths});
}

}  // namespace sbpf::agent
