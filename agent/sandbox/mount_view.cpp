// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/mount_view.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "agent/host/fdinfo.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

// Is it the host's own, and not one that somebody made with a user namespace?
bool is_of_the_host(pid_t task) {
  struct stat owner_info {
  }, own{};
  const Fd mounts(::open(fmt::format("/proc/{}/ns/mnt", task).c_str(), O_RDONLY | O_CLOEXEC));
  const Fd owner(mounts ? ::ioctl(mounts.get(), NS_GET_USERNS) : -1);
  return owner && ::fstat(owner.get(), &owner_info) == 0 && ::stat("/proc/self/ns/user", &own) == 0 &&
         owner_info.st_ino == own.st_ino;
}

struct Member {
  std::uint64_t mounts = 0;  // the number of its mount namespace; 0: none was found
  pid_t task = 0;
};

// A process whose leader ended is asked by its other threads.
Member member_of(pid_t pid) {
  if (const std::uint64_t mounts = mount_namespace(std::to_string(pid)); mounts != 0) return {mounts, pid};
  for (const std::string& thread : names_in(fmt::format("/proc/{}/task", pid)))
    if (const std::uint64_t mounts = mount_namespace(thread); mounts != 0)
      return {mounts, static_cast<pid_t>(std::strtol(thread.c_str(), nullptr, 10))};
  return {};
}

// The first for which `fits`, which is asked once of each mount namespace. Of processes without end only so many are
// looked at.
Member find_member(const std::vector<pid_t>& pids, const std::function<bool(const Member&)>& fits) {
  constexpr std::size_t kMost = 512;
  std::vector<std::uint64_t> asked;
  for (std::size_t i = 0; i < std::min(pids.size(), kMost); i++) {
    const Member member = member_of(pids[i]);
    if (member.mounts == 0 || std::ranges::find(asked, member.mounts) != asked.end()) continue;
    if (fits(member)) return member;
    asked.push_back(member.mounts);
  }
  return {};
}

// Where the first process of a cgroup comes from: the service manager's own mount namespace. Ours may be another one,
// in which a unit's settings hide or replace directories.
Result<MountView> mount_view_of_manager() {
  const std::uint64_t own = mount_namespace("thread-self");
  return own != 0 && mount_namespace("1") == own ? own_mount_view() : mount_view_of_process(1);
}

tl::unexpected<Error> no_namespace(const std::string& what) {
  return fail("no_namespace", what, "try again while its processes run");
}

}  // namespace

Result<MountView> mount_view_of(const Kernel& kernel, const Cgroup& cgroup, std::optional<std::uint64_t> mounts) {
  // A process that is just ending is listed still, and has no namespace any more.
  constexpr int kTries = 50;
  constexpr std::chrono::milliseconds kBetween{10};
  const auto record = find_record(kernel, cgroup.id());
  const bool made_by_run = record && (record->flags & SBPF_SANDBOX_ATTACHED) == 0;
  Member at;
  for (int i = 0; at.mounts == 0 && i < kTries; i++) {
    if (i > 0) std::this_thread::sleep_for(kBetween);
    const auto pids = cgroup.processes();
    if (!pids) return tl::unexpected<Error>(pids.error());
    if (pids->empty() && !mounts) return made_by_run ? own_mount_view() : mount_view_of_manager();
    at = find_member(*pids,
                     [&](const Member& one) { return mounts ? one.mounts == *mounts : is_of_the_host(one.task); });
    if (at.mounts == 0 && mounts)
      return no_namespace("no process is in the mount namespace in which the policy was looked up");
    if (at.mounts == 0) at = find_member(*pids, [](const Member&) { return true; });
  }
  if (at.mounts == 0)
    return no_namespace(
        fmt::format("it cannot be told in which mount namespace the processes of {} are", cgroup.path()));
  auto mount_view = at.mounts == mount_namespace("thread-self") ? own_mount_view() : mount_view_of_namespace(at.task);
  if (mount_view && mount_view->mounts != at.mounts)
    return no_namespace("the process in the sandbox's mount namespace ended");  // another has its number
  const auto user = user_of_run(record->name);
  if (mount_view && user) {
    mount_view->asker = *user;
    mount_view->owner_asks = false;
  }
  if (mount_view) mount_view->made_by_run = made_by_run && !user;
  return mount_view;
}

std::optional<pid_t> task_in(const Cgroup& cgroup, std::uint64_t mounts) {
  const auto pids = cgroup.processes();
  const Member member = pids ? find_member(*pids, [&](const Member& one) { return one.mounts == mounts; }) : Member{};
  return member.mounts != 0 ? std::optional(member.task) : std::nullopt;
}

Result<policy::Image> compile_for(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy,
                                  std::uint32_t generation, const CompileOptions& options) {
  return compile_from(
      kernel, policy, generation,
      [&] {
        return mount_view_of(kernel, cgroup, options.again ? std::optional(options.again->mounts) : std::nullopt);
      },
      options);
}

}  // namespace sbpf::agent
