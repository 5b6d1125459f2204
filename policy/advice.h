// SPDX-License-Identifier: Apache-2.0
// Which change of a policy would allow what it denied. A change is put over the policy, as by `extends`, and the
// decision is asked again, before it is given to anybody.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/filesystem.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::policy {

// The policy with `change` over it: keys as a policy has them, in lines. Nothing: that is no valid policy.
std::optional<Policy> with_change(const Policy& policy, const std::string& change);

// The smallest known change that allows the endpoint, the operation; "" if none does, or if it is allowed as it is.
std::string advice(const Policy& policy, const NetQuery& query);
std::string advice(const Policy& policy, FsOperation operation, std::string_view path);

}  // namespace sbpf::policy
