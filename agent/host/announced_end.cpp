// SPDX-License-Identifier: Apache-2.0
#include "agent/host/announced_end.h"

#include <sys/xattr.h>

namespace sbpf::agent {
namespace {

constexpr const char* kAttribute = "trusted.sbpf.ends";  // which only the host's root sets

}  // namespace

void announce_end(const Cgroup& cgroup) { (void)::fsetxattr(cgroup.fd(), kAttribute, "", 0, 0); }

bool is_end_announced(const Cgroup& cgroup) { return ::fgetxattr(cgroup.fd(), kAttribute, nullptr, 0) >= 0; }

}  // namespace sbpf::agent
