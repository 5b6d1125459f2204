// SPDX-License-Identifier: Apache-2.0
#include "agent/watch_mounts.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "agent/policy_text.h"
#include "agent/refresh.h"
#include "agent/watch_state.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kPasses = 20;    // a sandbox is looked at once in so many
constexpr std::size_t kMostAtOnce = 32;  // of one request

// What is mounted, by mount namespace, each read once. No descriptor is kept: it would keep the mounts of a container that ended.
class MountedNow {
 public:
  // A hash; 0: nothing runs in the cgroup, or it cannot be told.
  std::size_t of(const Cgroup& cgroup) {
    const auto pids = cgroup.processes();
    if (!pids || pids->empty()) return 0;
    const std::string process = "/proc/" + std::to_string(pids->front());
    struct stat info {};
    if (::stat((process + "/ns/mnt").c_str(), &info) != 0) return 0;
    auto [hash, added] = hashes_.try_emplace(info.st_ino, 0);
    if (added)
      if (const std::string text = read_file(process + "/mountinfo"); !text.empty()) hash->second = std::hash<std::string>()(text) | 1;
    return hash->second;
  }

 private:
  std::map<ino_t, std::size_t> hashes_;
};

std::string line_of(const Kernel& kernel, std::uint64_t id) {
  const auto cgroup = Cgroup::open_by_id(id);
  if (!cgroup) return "";  // it ended just now
  const auto done = refresh_paths(kernel, *cgroup, nullptr);
  if (done) return *done ? "" : "again " + std::to_string(id) + "\n";
  std::string why = done.error().message;
  std::ranges::replace(why, '\n', ' ');
  return "failed " + std::to_string(id) + " " + why + "\n";
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
      complain({"paths", "the policy of sandbox " + std::string(found->second.sound.record.name) + " does not reach what was mounted:" + rest,
                "it stays denied; `sbpf swap` brings a policy that names it otherwise", 0, "", true});
  }
}

void Watch::follow_mounts() {
  if (const auto told = refreshing_.answer()) {
    refreshing_.end();  // it is seldom needed
    if (*told) note_refreshed(**told);
  }
  if (refreshing_.running()) return;
  MountedNow mounted;
  std::string request;
  std::size_t many = 0;
  for (auto& [id, entry] : entries_) {
    if ((passes_ + id) % kPasses != 0 || many == kMostAtOnce || !entry.cgroup || !has_policy_text(id)) continue;
    const std::size_t mounts = mounted.of(*entry.cgroup);
    if (mounts == 0 || mounts == entry.mounts) continue;
    entry.mounts = mounts;
    request += std::to_string(id) + "\n";
    many++;
  }
  if (many == 0) return;
  if (auto asked = refreshing_.ask(request); !asked) complain(asked.error());
}

}  // namespace sbpf::agent
