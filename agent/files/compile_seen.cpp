// SPDX-License-Identifier: Apache-2.0
// Policies compiled with the paths that a mount view, this thread, or a process has.
#include <algorithm>

#include "agent/files/fs_view.h"
#include "agent/files/workspace.h"
#include "agent/host/mount_places.h"
#include "base/mounts.h"

namespace sbpf::agent {
namespace {

// A link that the sandbox could have made under the policy before: by a rule of it; or where it could write by default,
// if a rule that this policy had, too, led through no such link then.
Result<void> refuse_planted(const policy::Policy& policy, const policy::FsView& view, const CompileOptions& options) {
  std::set<std::string> known, ruled;
  if (options.kept) {
    known.insert(options.kept->walked_paths.links.begin(), options.kept->walked_paths.links.end());
    for (policy::RulePath& rule : policy::rule_paths(options.kept->policy)) ruled.insert(std::move(rule.path));
  }
  for (const policy::FsLink& link : view.links) {
    const std::string path = policy::to_path(link.path);
    if (policy::fs_rule_writes(*options.before, path))
      return policy::planted_link(policy, link, "lies where the policy before let the sandbox write");
    const bool fresh = ruled.contains(link.rule) && !known.contains(path);
    if (fresh && (policy::fs_rights_at(*options.before, path) & SBPF_FS_WRITE) != 0)
      return policy::planted_link(policy, link,
                                  "was not there under the policy before, which let the sandbox write there");
  }
  return {};
}

Result<void> refuse_new(const policy::Policy& policy, const policy::FsView& view, const WalkedPaths& again) {
  for (const policy::FsLink& link : view.links)
    if (std::ranges::find(again.links, policy::to_path(link.path)) == again.links.end())
      return policy::planted_link(policy, link, "was not there when the policy came into force");
  return {};
}

// Where files with several names are looked for beside the policy's own places: where the sandbox could write under all
// policies before.
std::set<std::string> written_before(const policy::Policy& policy, const CompileOptions& options) {
  if (options.again) return options.again->walked;
  std::set<std::string> all;
  if (options.before)
    all = policy::places_of_other_names(policy, options.kept ? options.kept->policy : policy::Policy());
  if (options.kept) all.insert(options.kept->walked_paths.walked.begin(), options.kept->walked_paths.walked.end());
  return all;
}

// Is /workspace another directory than the host's, as sbpf-enter makes it for --workspace?
bool has_own_workspace(const std::string& mountinfo) {
  const std::vector<Mount> mounts = parse_mounts(mountinfo), of_host = own_mounts();
  const Mount *own = mount_of(mounts, kWorkspace), *hosts = mount_of(of_host, kWorkspace);
  if (own == nullptr || own->point != kWorkspace) return false;
  return hosts == nullptr || hosts->point != kWorkspace || hosts->device != own->device || hosts->root != own->root;
}

}  // namespace

Result<policy::Image> compile_from(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::function<Result<MountView>()>& find_mount_view,
                                   const CompileOptions& options) {
  if (!policy::has_paths(policy)) return policy::compile(policy, generation, policy::FsView{});
  auto mount_view = find_mount_view();
  if (!mount_view) return tl::unexpected<Error>(mount_view.error());
  const OtherNames others{written_before(policy, options), options.renamed};
  auto view = look_up(kernel, policy, *mount_view, others, options.patience);
  if (!view) return tl::unexpected<Error>(view.error());
  auto image = policy::compile(policy, generation, *view);
  if (!image) return image;
  if (options.before)
    if (auto none = refuse_planted(policy, *view, options); !none) return tl::unexpected<Error>(none.error());
  if (options.again)
    if (auto none = refuse_new(policy, *view, *options.again); !none) return tl::unexpected<Error>(none.error());
  if (options.walked_paths) {
    options.walked_paths->mounts = mount_view->mounts;
    options.walked_paths->walked = others.places;
    for (const policy::FsLink& link : view->links) options.walked_paths->links.push_back(policy::to_path(link.path));
  }
  return image;
}

Result<policy::Image> compile_here(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::string& left_by_others, WalkedPaths* walked_paths) {
  const auto mount_view = [&] {
    auto found = own_mount_view();
    if (!found) return found;
    found->left_by_others = left_by_others;
    found->made_by_run = true;
    return found;
  };
  return compile_from(kernel, policy, generation, mount_view, {.walked_paths = walked_paths});
}

Result<policy::Image> compile_as_seen_by(pid_t pid, uid_t asker, const Kernel& kernel, const policy::Policy& policy,
                                         std::uint32_t generation, WalkedPaths* walked_paths) {
  const auto mount_view = [&] {
    auto found = mount_view_of_process(pid);
    if (!found) return found;
    found->asker = asker;
    if (has_own_workspace(found->mountinfo)) found->left_by_others = kWorkspace;
    return found;
  };
  return compile_from(kernel, policy, generation, mount_view, {.walked_paths = walked_paths});
}

}  // namespace sbpf::agent
