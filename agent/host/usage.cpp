// SPDX-License-Identifier: Apache-2.0
#include "agent/host/usage.h"

#include <sstream>
#include <string>

namespace sbpf::agent {
namespace {

// The number of a file that has one, and is no limit where that is "max".
std::optional<std::uint64_t> number_in(const Cgroup& cgroup, const char* file) {
  const auto text = cgroup.read(file);
  std::uint64_t number = 0;
  return text && std::istringstream(*text) >> number ? std::optional(number) : std::nullopt;
}

// The lines "NAME NUMBER" of a file.
class Counters {
 public:
  Counters(const Cgroup& cgroup, const char* file) : text_(cgroup.read(file).value_or("")) {}

  std::uint64_t operator[](std::string_view wanted) const {
    std::istringstream lines(text_);
    std::string name;
    for (std::uint64_t number = 0; lines >> name >> number;)
      if (name == wanted) return number;
    return 0;
  }

 private:
  std::string text_;
};

}  // namespace

Usage read_usage(const Cgroup& cgroup) {
  const Counters memory(cgroup, "memory.events"), processes(cgroup, "pids.events"), cpu(cgroup, "cpu.stat");
  Usage usage;
  usage.memory_peak_bytes = number_in(cgroup, "memory.peak");
  usage.memory_limit_bytes = number_in(cgroup, "memory.max");
  usage.out_of_memory = memory["oom"];
  usage.oom_kills = memory["oom_kill"];
  usage.process_limit = number_in(cgroup, "pids.max");
  usage.forks_refused = processes["max"];
  usage.cpu_us = cpu["usage_usec"];
  usage.cpu_periods = cpu["nr_periods"];
  usage.cpu_throttled_periods = cpu["nr_throttled"];
  usage.cpu_throttled_us = cpu["throttled_usec"];
  return usage;
}

}  // namespace sbpf::agent
