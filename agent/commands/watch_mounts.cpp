// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/watch_mounts.h"

#include <fmt/core.h>
#include <algorithm>
#include <functional>
#include <sstream>

#include "agent/commands/watch_state.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/policy_text.h"
#include "agent/sandbox/refresh.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kPasses = 20;   // a sandbox is looked at once in so many
constexpr std::size_t kMostAtOnce = 8;  // of one request
constexpr std::size_t kMostMountinfo = 1 << 20;
constexpr std::int64_t kMostTime = 60 * kSecond;  // of one request

// What is mounted, by mount namespace, each read once. No descriptor is kept: it would keep the mounts of a container
// that ended.
class MountedNow {
 public:
  // A hash of what is mounted in this namespace, in which a task of the cgroup is; 0: none is, it has too many mounts,
  // or it cannot be told.
  std::size_t of(const Cgroup& cgroup, std::uint64_t mounts) {
    auto [hash, added] = hashes_.try_emplace(mounts, 0);
    if (!added && hash->second != 0) return hash->second;
    const auto task = task_in(cgroup, mounts);
    const auto text = task ? read_up_to(fmt::format("/proc/{}/mountinfo", *task), kMostMountinfo) : std::nullopt;
    if (text) hash->second = std::hash<std::string>()(*text) | 1;
    return hash->second;
  }

 private:
  std::map<std::uint64_t, std::size_t> hashes_;
};

std::string line_of(const Kernel& kernel, std::uint64_t id) {
  const auto cgroup = Cgroup::open_by_id(id);
  if (!cgroup) return "";  // it ended just now
  const auto done = refresh_paths(kernel, *cgroup, nullptr);
  if (done) return *done ? "" : "again " + std::to_string(id) + "\n";
  std::string why = done.error().message;
  std::ranges::replace(why, '\n', ' ');
  return fmt::format("failed {} {}\n", id, why);
}

}  // namespace

std::string refresh_lines(const std::string& request) {
  std::string told = "done\n";
  const auto kernel = Kernel::open();
  std::istringstream ids(request);
  for (std::uint64_t id = 0; kernel && ids >> id;) told += line_of(*kernel, id);
  return told;
}

void Watch::note_refreshed(const std::string& told) {
  std::istringstream lines(told);
  std::string word, rest;
  for (std::uint64_t id = 0; lines >> word;) {
    if (word == "done") continue;
    lines >> id;
    std::getline(lines, rest);
    const auto found = entries_.find(id);
    if (found == entries_.end()) continue;
    if (word == "again")
      found->second.mounts = 0;
    else
      complain({"paths",
                fmt::format("the policy of sandbox {} does not reach what was mounted:{}",
                            found->second.sound.record.name, rest),
                "it stays denied; `sbpf swap` brings a policy that names it otherwise", 0, "", true});
  }
}

void Watch::follow_mounts() {
  if (const auto told = refreshing_.answer()) {
    refreshing_.end();  // it is seldom needed
    if (*told) note_refreshed(**told);
  }
  if (refreshing_.running()) {
    if (now_ns() - refreshing_since_ < kMostTime) return;
    refreshing_.end();
    complain({"paths", "what was mounted cannot be looked at: the process that does it gives no answer",
              "it stays denied, and is tried again at the next mount", 0, "", true});
  }
  MountedNow mounted;
  std::string request;
  std::size_t many = 0;
  for (auto& [id, entry] : entries_) {
    if ((passes_ + id) % kPasses != 0 || many == kMostAtOnce || !entry.cgroup) continue;
    const std::uint64_t there = kept_mounts(id);
    const std::size_t mounts = there != 0 ? mounted.of(*entry.cgroup, there) : 0;
    if (mounts == 0 || mounts == entry.mounts) continue;
    entry.mounts = mounts;
    request += std::to_string(id) + "\n";
    many++;
  }
  if (many == 0) return;
  refreshing_since_ = now_ns();
  if (auto asked = refreshing_.ask(request); !asked) complain(asked.error());
}

}  // namespace sbpf::agent
