// SPDX-License-Identifier: Apache-2.0
#include "agent/host/traces.h"

#include <fmt/core.h>
#include <cstdlib>

#include "agent/host/fdinfo.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

pid_t number_in(const std::string& status, const char* key) {
  return static_cast<pid_t>(fdinfo_number(status, key).value_or(0));
}

// 0: nobody. The tracer is the thread that asked for it.
pid_t tracer_of(const std::string& task) {
  const pid_t tracer = number_in(read_file(task + "/status"), "TracerPid:");
  return tracer == 0 ? 0 : number_in(read_file(fmt::format("/proc/{}/status", tracer)), "Tgid:");
}

}  // namespace

std::vector<std::string> traces_outside(const std::set<pid_t>& inside) {
  std::vector<std::string> found;
  for (const std::string& name : names_in("/proc")) {
    const auto pid = static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10));
    if (pid <= 0 || inside.contains(pid)) continue;
    const std::string tasks = "/proc/" + name + "/task";
    for (const std::string& task : names_in(tasks))
      if (const pid_t tracer = tracer_of(tasks + "/" + task); inside.contains(tracer))
        found.push_back(fmt::format("pid {}: traces pid {} outside", tracer, task));
  }
  return found;
}

}  // namespace sbpf::agent
