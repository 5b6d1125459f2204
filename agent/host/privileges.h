// SPDX-License-Identifier: Apache-2.0
// The sandboxed program's limits, user, capabilities and no_new_privs, set in its own process before exec.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

struct Privileges {
  std::vector<std::pair<__rlimit_resource, rlim_t>> limits;  // soft and hard alike
  std::optional<policy::User> user;
  std::uint64_t keep = 0;  // bits by number of capability
  bool keep_all = false;   // what sbpf has, bounding set included
  bool no_new_privs = true;
  bool as_user = false;  // the caller is not root: the bounding set stays, which without capabilities gives none
};

// The policy's, in the kernel's terms. No core is dumped unless the policy sets a limit for it.
Privileges privileges_of(const policy::Policy& policy);

// Steps in the child, in this order; each gives 0, or the errno of the failed call. They make system calls only.
int set_limits(const Privileges& privileges);
// The bounding set, while there is the capability for it; as_user: there is none.
int drop_bounding(const Privileges& privileges);
// Groups and user; supplementary groups are those of the policy. Without a user in the policy nothing changes; as_user:
// it must be what the process is already.
int set_user(const Privileges& privileges);
// Permitted and effective; for a user other than root inheritable and ambient too, so that they outlive exec.
int set_capabilities(const Privileges& privileges);
int set_no_new_privs(const Privileges& privileges);
// Reads all of it back. EBADE: the kernel says otherwise than was set.
int verify_privileges(const Privileges& privileges);

}  // namespace sbpf::agent
