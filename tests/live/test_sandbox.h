// SPDX-License-Identifier: Apache-2.0
// A sandbox without a program, by the agent's library: for tests that clone their own workers into it and change its
// policy more often than commands could.
#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "agent/files/fs_view.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/guard.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/mount_view.h"
#include "agent/sandbox/sandbox.h"
#include "policy/policy.h"

namespace sbpf::live {

class TestSandbox {
 public:
  static Result<TestSandbox> make(const std::string& name, const policy::Policy& policy) {
    // What another executable loaded is that one's alone (docs/GUARD.md).
    if (agent::Kernel::is_pinned()) (void)!std::system("sbpf unload >/dev/null 2>&1");
    auto lock = agent::lock_host_to_load();
    if (!lock) return tl::unexpected<Error>(lock.error());
    auto kernel = agent::Kernel::ensure();
    if (!kernel) return tl::unexpected<Error>(kernel.error());
    auto root = agent::root_cgroup();
    if (!root) return tl::unexpected<Error>(root.error());
    auto cgroup = agent::Cgroup::create(root->path() + "/" + name);
    if (!cgroup) return tl::unexpected<Error>(cgroup.error());
    auto image = agent::compile_for(*kernel, *cgroup, policy, 1);
    if (!image) return tl::unexpected<Error>(image.error());
    std::vector<Fd> links;
    const agent::SandboxSpec spec{name, 0, {}};
    if (auto up = agent::set_up(*kernel, *cgroup, spec, *image, true, links); !up)
      return tl::unexpected<Error>(up.error());
    return TestSandbox(name, std::move(*lock), std::move(*kernel), std::move(*cgroup));
  }

  Result<policy::Image> compile(const policy::Policy& policy) {
    return agent::compile_for(kernel_, cgroup_, policy, ++generation_);
  }
  Result<void> publish(const policy::Image& image) { return agent::publish(kernel_, cgroup_.id(), image); }
  Result<pid_t> clone(Fd& pidfd) { return agent::clone_into(cgroup_, pidfd); }

  // Leaves the kernel as it was.
  void remove() {
    (void)cgroup_.kill();
    agent::take_down(kernel_, cgroup_.id(), name_);
    (void)agent::remove_cgroup(cgroup_.path());
    agent::Kernel::remove_all();
  }

 private:
  TestSandbox(std::string name, Fd lock, agent::Kernel kernel, agent::Cgroup cgroup)
      : name_(std::move(name)), lock_(std::move(lock)), kernel_(std::move(kernel)), cgroup_(std::move(cgroup)) {}

  std::string name_;
  Fd lock_;
  agent::Kernel kernel_;
  agent::Cgroup cgroup_;
  std::uint32_t generation_ = 1;
};

}  // namespace sbpf::live
