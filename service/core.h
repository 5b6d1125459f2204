// SPDX-License-Identifier: Apache-2.0
// What the parts of the service have in common. Everything runs in one thread.
#pragma once

#include <string>

#include "service/asio.h"
#include "service/assignments.h"
#include "service/config.h"
#include "service/directory.h"
#include "service/metrics.h"
#include "service/policies.h"
#include "service/world.h"

namespace sbpf::service {

struct Core {
  asio::io_context& context;
  Config config;
  std::string sbpf;         // path of the executable
  gid_t group = 0;          // whose members may read
  std::string cgroup_root;  // where the hierarchy is mounted
  World world;
  Metrics metrics;
  Assignments assignments;
  std::unique_ptr<Policies> policies;    // anew when the configuration names another directory
  std::unique_ptr<Directory> directory;  // likewise

  // Is what the watch said true of now?
  bool watch_alive() const {
    const auto age = world.age(Clock::now());
    return world.current() && age && *age <= config.limits.watch;
  }
};

}  // namespace sbpf::service
