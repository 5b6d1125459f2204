// SPDX-License-Identifier: Apache-2.0
// Policy content as YAML. Internal to policy/.
#pragma once

#include <string>
#include <string_view>

#include "policy/policy.h"

namespace sbpf::policy::internal {

// "{address: 1.2.3.4, ports: [443], protocol: tcp}"
std::string entry_text(const Endpoint& endpoint);

// A text as a YAML scalar that every YAML reader takes for a text.
std::string scalar_text(std::string_view text);

}  // namespace sbpf::policy::internal
