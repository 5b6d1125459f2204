// SPDX-License-Identifier: Apache-2.0
#include "agent/host/limits.h"

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kPeriodUs = 100000, kLeastQuotaUs = 1000;  // less than this the kernel does not take

Result<void> set_limit(const Cgroup& cgroup, const char* file, const std::string& value, const char* key) {
  auto done = cgroup.write(file, value);
  if (done) return {};
  return fail(
      "limit_unenforceable", fmt::format("process.limits.{} cannot be enforced: {}", key, done.error().message),
      fmt::format(
          "the controller of {} is not available to sbpf's cgroup: enable it in cgroup.subtree_control of the cgroup2 "
          "root, or remove the limit from the policy",
          file),
      done.error().sys_errno);
}

// Below the heading of /proc/swaps is a line for each.
bool has_swap() {
  std::ifstream swaps("/proc/swaps");
  std::string line;
  return std::getline(swaps, line) && std::getline(swaps, line);
}

constexpr char kNoLimit[] = "none";

// What is to be written for a limit, and what it was for.
struct Setting {
  const char* file;
  std::string value;
  const char* key;  // of process.limits
  bool may_be_absent = false;
  bool is_switch = false;  // on or off, and no number that may be less
};

std::vector<Setting> settings_of(const policy::Limits& limits) {
  std::vector<Setting> all;
  if (limits.processes) all.push_back({"pids.max", std::to_string(*limits.processes), "processes"});
  if (limits.memory_bytes) {
    all.push_back({"memory.max", std::to_string(*limits.memory_bytes), "memory"});
    // Memory is no limit when the rest goes to swap. Kernels without swap accounting have no such file.
    all.push_back({"memory.swap.max", "0", "memory", !has_swap()});
    // One of its processes killed at random would leave the rest in a state that no program expects.
    all.push_back({"memory.oom.group", "1", "memory", false, true});
  }
  if (limits.cpu_millis) {
    const std::uint64_t quota = std::max(*limits.cpu_millis * kPeriodUs / 1000, kLeastQuotaUs);
    all.push_back({"cpu.max", fmt::format("{} {}", quota, kPeriodUs), "cpu"});
  }
  return all;
}

// "QUOTA PERIOD" as a share of the time, or a number; nothing: "max".
std::optional<double> share_of(const std::string& text) {
  std::istringstream words(text);
  std::uint64_t most = 0, of = 1;
  if (!(words >> most)) return std::nullopt;
  if (!(words >> of) || of == 0) of = 1;
  return static_cast<double>(most) / static_cast<double>(of);
}

Result<void> put(const Cgroup& cgroup, const Setting& setting) {
  auto set = set_limit(cgroup, setting.file, setting.value, setting.key);
  return set || !setting.may_be_absent || set.error().sys_errno != ENOENT ? set : Result<void>();
}

// What is there instead, where it allows more.
std::optional<std::string> loosened(const Cgroup& cgroup, const Setting& setting) {
  auto read = cgroup.read(setting.file);
  const int error = read ? 0 : read.error().sys_errno;
  if (error == ENOENT && setting.may_be_absent) return std::nullopt;
  if (!read) return error == ENOENT ? kNoLimit : "not known";
  while (read->ends_with('\n')) read->pop_back();
  const auto now = share_of(*read), wanted = share_of(setting.value);
  if (setting.is_switch) return *read != setting.value ? std::optional(std::move(*read)) : std::nullopt;
  return !now || *now > *wanted ? std::optional(std::move(*read)) : std::nullopt;
}

}  // namespace

Result<void> apply_limits(const Cgroup& cgroup, const policy::Limits& limits) {
  for (const Setting& one : settings_of(limits))
    if (auto set = put(cgroup, one); !set) return set;
  return {};
}

void lift_other_limits(const Cgroup& cgroup, const policy::Limits& limits) {
  if (!limits.processes) (void)cgroup.write("pids.max", "max");
  if (!limits.cpu_millis) (void)cgroup.write("cpu.max", "max");
  if (limits.memory_bytes) return;
  for (const char* file : {"memory.max", "memory.swap.max"}) (void)cgroup.write(file, "max");
  (void)cgroup.write("memory.oom.group", "0");
}

std::vector<Loosened> loosened_limits(const Cgroup& cgroup, const policy::Limits& limits) {
  std::vector<Loosened> all;
  for (const Setting& one : settings_of(limits))
    if (auto now = loosened(cgroup, one)) all.push_back({one.file, one.value, std::move(*now)});
  if (!all.empty() && cgroup.seen() == Seen::absent) all.clear();
  return all;
}

Result<void> tighten_limits(const Cgroup& cgroup, const policy::Limits& limits) {
  Result<void> result;
  for (const Setting& one : settings_of(limits)) {
    const auto now = loosened(cgroup, one);
    if (!now) continue;
    // The service manager takes a controller away that none of its units asks for.
    if (*now == kNoLimit)
      if (const auto mount = cgroup2_mount()) hand_down_in_slices(*mount, cgroup.path());
    if (auto set = put(cgroup, one); !set && result) result = set;
  }
  return result;
}

}  // namespace sbpf::agent
