// SPDX-License-Identifier: Apache-2.0
// The cgroup of the sentinels that call the hooks (agent/verify/liveness.h).
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sbpf::agent {

inline constexpr std::string_view kSentinelCgroup = "/sbpf/.alive";  // no sandbox has such a name

Result<std::string> sentinel_path();

// Lets what is in it run: it is nobody's but ours.
void release_sentinels();

// Ends every sentinel of the host, so that their cgroup can be removed.
void end_sentinels();

}  // namespace sbpf::agent
