// SPDX-License-Identifier: Apache-2.0
// The text of the policy in force for a sandbox, and where its paths were looked up, kept in /run beside its image in
// the kernel. When a mount makes a new look-up of the paths necessary, the policy is compiled again from this text, and
// `sbpf exec` has from it how a program of the sandbox begins. The text's hash is kept beside the pins, where only the
// agent can make changes: so a text written by somebody else changes no policy.
#pragma once

#include <cstdint>

#include "agent/files/fs_view.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Keeps both. Where `walked_paths` has no mount namespace, as of a policy without paths, that which is kept stays. If
// it fails, later mounts stay denied, nobody is let in (`sbpf exec`), and the host's log says so. The caller holds the
// host lock.
void keep_policy_text(std::uint64_t cgroup_id, const policy::Policy& policy, const WalkedPaths& walked_paths);

// The mount namespace in which the paths of this sandbox's policy were looked up; 0: it has none, or nothing is kept.
std::uint64_t kept_mounts(std::uint64_t cgroup_id);

// Is this image that of this policy?
bool is_image_of(const policy::Image& image, const policy::Policy& policy);

// Errors: "no_policy": nothing is kept, or another text is in its place.
Result<KeptPolicy> read_policy_text(std::uint64_t cgroup_id);
// The same, if it is that of this image.
Result<KeptPolicy> read_policy_text(std::uint64_t cgroup_id, const policy::Image& image);

void drop_policy_text(std::uint64_t cgroup_id);
// Of all; for who takes the pins away.
void drop_policy_texts();

}  // namespace sbpf::agent
