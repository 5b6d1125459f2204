// SPDX-License-Identifier: Apache-2.0
// Parts of explain_event(), by what an event is about. Each fills in the words and the suggestion, and is false if the
// reason is not one of its own.
#pragma once

#include <string>

#include "agent/sandbox/events.h"
#include "policy/image.h"

namespace sbpf::agent {

bool explain_network(Event& event);
bool explain_flow(Event& event);
bool explain_files(Event& event);

// The path and the access of an event of a file. `its_own`: as explain_event() has it.
void read_path(const sbpf_fs_event& raw, const std::vector<Mount>& its_own, Event& event);

// The line that would allow the path; empty where not all of it is known.
std::string allow_path(const Event& event, policy::PathUse use);

// What an event of the reason SBPF_REASON_NO_RULE asked for.
policy::NetQuery query_of(const Event& event);

std::string device_text(std::uint32_t number);  // "7:0", as mountinfo has it, of a device as the kernel side says it

}  // namespace sbpf::agent
