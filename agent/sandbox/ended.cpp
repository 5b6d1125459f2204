// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/ended.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/host/paths.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kMany = 64;

std::string directory() { return std::string(kPinRoot) + "/ended"; }

// A cgroup may be taken in again: its number is not enough.
std::string mark_of(const sbpf_sandbox& record) {
  return fmt::format("{}/{}-{}", directory(), record.cgroup_id, record.created_ns);
}

void drop_old() {
  std::error_code ec;
  std::vector<std::string> marks;
  for (const auto& entry : std::filesystem::directory_iterator(directory(), ec)) marks.push_back(entry.path());
  if (marks.size() <= kMany) return;
  for (const std::string& mark : marks) {
    const std::uint64_t id = std::strtoull(mark.c_str() + directory().size() + 1, nullptr, 10);
    if (auto cgroup = Cgroup::open_by_id(id); !cgroup && is_gone(cgroup.error())) (void)::rmdir(mark.c_str());
  }
}

}  // namespace

Result<void> mark_ended(const sbpf_sandbox& record) {
  if ((record.flags & SBPF_SANDBOX_ATTACHED) == 0) return {};
  (void)::mkdir(directory().c_str(), 0700);
  drop_old();
  if (::mkdir(mark_of(record).c_str(), 0700) == 0 || errno == EEXIST) return {};
  return fail("pin", SystemError{errno, hint_for(errno)}, "cannot note that sandbox {} ends", record.name);
}

bool is_marked_ended(const sbpf_sandbox& record) { return ::access(mark_of(record).c_str(), F_OK) == 0; }

}  // namespace sbpf::agent
