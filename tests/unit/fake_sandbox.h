// SPDX-License-Identifier: Apache-2.0
// A fake host with one sandbox that is whole, and the ways in which it can be broken.
#pragma once

#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/host/paths.h"
#include "agent/sandbox/sandbox.h"
#include "tests/unit/fake_host.h"
#include "tests/unit/fake_kernel.h"
#include "tests/unit/images.h"

namespace sbpf::agent {

inline constexpr const char* kAttachedPath = "/app.slice/web";
inline constexpr const char* kRunPath = "/sbpf/web";  // as `run` makes them

// Its cgroup is at `path`, and something runs in it. Of the policy the lines behind version and name.
struct FakeSandbox {
  explicit FakeSandbox(const std::string& place = kAttachedPath, std::uint32_t flags = SBPF_SANDBOX_ATTACHED,
                       const std::string& policy = "network: none\n")
      : path(place), id(host.add_cgroup(place)), record(kernel.add_sandbox(id, "web", flags)) {
    struct stat pins {};
    EXPECT_EQ(::stat(std::string(kPinRoot).c_str(), &pins), 0);
    kernel.kernel().globals().guard.pins_ino = pins.st_ino;
    if (place.starts_with("/sbpf/")) {
      kernel.kernel().globals().gate.root_id = host.add_cgroup("/sbpf");
      kernel.kernel().globals().gate.root_level = 1;
    }
    EXPECT_TRUE(publish(kernel.kernel(), id, compile(policy::policy_of(policy, "web"), 5).value()));
  }

  // Its cgroup's state.
  bool frozen() const { return has("frozen 1"); }
  bool populated() const { return has("populated 1"); }
  bool has(const std::string& state) const {
    return FakeHost::read(path, "cgroup.events").find(state) != std::string::npos;
  }

  std::vector<Hook> own_hooks() const {
    std::vector<Hook> own = hooks_of(record.flags);
    std::erase_if(own, [](const Hook& hook) { return !hook.per_sandbox(); });
    return own;
  }
  // Takes it out of one of the kernel's maps.
  void erase_from(int map) { EXPECT_EQ(bpf_map_delete_elem(map, &id), 0); }
  // Puts a policy in force past publish().
  void put(const policy::Image& image) {
    const auto map = make_policy_map(image);
    ASSERT_TRUE(map);
    const int fd = map->get();
    ASSERT_EQ(bpf_map_update_elem(kernel.kernel().policies(), &id, &fd, BPF_ANY), 0);
  }
  void put_record(const sbpf_sandbox& changed) {
    ASSERT_EQ(bpf_map_update_elem(kernel.kernel().sandboxes(), &id, &changed, BPF_ANY), 0);
  }
  // The pin at `path` cannot be opened, and nothing lists what is attached.
  void hide(const std::string& pin, int error) {
    kernel.fail_if([pin, error](int command, const bpf_attr& attr) {
      if (command == BPF_ITER_CREATE) return error;
      return command == BPF_OBJ_GET && pin == reinterpret_cast<const char*>(attr.pathname) ? error : 0;
    });
  }
  void show_all() { kernel.fail_if(nullptr); }

  FakeHost host;
  FakeKernel kernel;
  std::string path;
  std::uint64_t id;
  sbpf_sandbox record;
};

}  // namespace sbpf::agent
