// SPDX-License-Identifier: Apache-2.0
// Which change of a policy would allow what it denied. A change is put over the policy, as by `extends`, and the
// decision is asked again, before it is given to anybody.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/filesystem.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::policy {

// The policy with `change` over it, under its name: keys as a policy has them, in lines. Nothing: that is no valid
// policy.
std::optional<Policy> with_change(const Policy& policy, const std::string& change);

// The smallest known change that allows the endpoint, the host's name, the operation; "" if none does, or if it is allowed as it is.
std::string advice(const Policy& policy, const NetQuery& query);
std::string advice(const Policy& policy, const std::string& host, sbpf_proto proto, std::uint16_t port);
std::string advice(const Policy& policy, FsOperation operation, std::string_view path);

// The same of a system call that process.seccomp refuses. A profile of the operator's own may allow what the built-in
// ones do not, and is no change that could be told.
std::string advice_for_call(const Policy& policy, std::string_view call);

// One change that does what all of these do, one after the other.
struct Combined {
  std::string change;
  std::vector<std::string> left_out;  // those that give no valid policy together with the ones before
};
Combined combine(const Policy& policy, const std::vector<std::string>& changes);

// The change as people write it: each entry of a list on a line.
std::string in_lines(const std::string& change);

// A policy's text that extends one other: that one's reference, and the rest as a change of it.
struct Extension {
  std::string base, change;
};
// Nothing: the text is no policy, or extends none or several.
std::optional<Extension> read_extension(std::string_view text);

// May there be a key, a password or a token in this file, as far as its name and those of the directories above tell?
bool may_hold_secrets(std::string_view path);

// Is it a device, or the kernel's own?
bool is_of_the_kernel(std::string_view path);

// May the host run what is put there, or do as it says: programs, libraries, units, hooks, what shells read at their
// start?
bool may_be_run_by_host(std::string_view path);

}  // namespace sbpf::policy
