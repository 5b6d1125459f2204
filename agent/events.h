// SPDX-License-Identifier: Apache-2.0
// What an event means.
#pragma once

#include <string>

#include "agent/agent.h"

namespace sbpf::agent {

// The event in words, with the policy line that would allow it.
Event explain_event(const sbpf_fs_event& raw, const std::string& sandbox);

}  // namespace sbpf::agent
