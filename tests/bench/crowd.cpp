// SPDX-License-Identifier: Apache-2.0
// Makes many empty sandboxes at once, as `sbpf run` and `sbpf attach` make them, but without a program and without
// asking the kernel back after each: they only have to be there.
//
//   crowd own|attached FIRST LAST
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/sandbox.h"
#include "policy/filesystem.h"
#include "policy/image.h"

namespace sbpf::agent {
namespace {

int complain(const Error& error) {
  std::fprintf(stderr, "crowd: %s: %s\n", error.code.str().c_str(), error.message.c_str());
  return 1;
}

int make(bool attached, int first, int last) {
  policy::Policy nothing;
  nothing.name = "crowd";
  auto image = policy::compile(nothing, 1, policy::empty_view(nothing));
  if (!image) return complain(image.error());
  auto lock = lock_host();
  if (!lock) return complain(lock.error());
  auto kernel = Kernel::open();
  if (!kernel) return complain(kernel.error());
  auto mount = cgroup2_mount();
  if (!mount) return complain(mount.error());
  auto root = root_cgroup();
  if (!root) return complain(root.error());
  const std::string parent = attached ? *mount + "/crowd" : root->path();
  if (attached) ::mkdir(parent.c_str(), 0755);
  for (int i = first; i <= last; i++) {
    const std::string name = (attached ? "attached-" : "own-") + std::to_string(i);
    std::string path = parent;
    auto cgroup = Cgroup::create(path.append("/").append(name));
    if (!cgroup) return complain(cgroup.error());
    const SandboxSpec spec{name, attached ? static_cast<std::uint32_t>(SBPF_SANDBOX_ATTACHED) : 0u, {}};
    std::vector<Fd> links;
    if (auto up = set_up(*kernel, *cgroup, spec, *image, true, links); !up) return complain(up.error());
  }
  return 0;
}

}  // namespace
}  // namespace sbpf::agent

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: crowd own|attached FIRST LAST\n");
    return 2;
  }
  return sbpf::agent::make(std::string(argv[1]) == "attached", std::atoi(argv[2]), std::atoi(argv[3]));
}
