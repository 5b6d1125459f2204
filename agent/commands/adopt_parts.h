// SPDX-License-Identifier: Apache-2.0
// What moving a user's process into a new sandbox and into a live one have in common.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/kernel/kernel.h"
#include "agent/launch/held_process.h"

namespace sbpf::agent {

// Is the name none of these sandboxes'? Errors: "sandbox_exists".
Result<void> check_free(const std::vector<sbpf_sandbox>& others, const std::string& name);

Owner owner_of(const AdoptOptions& options);

// A process that is confined already would exchange its sandbox for one of its own choice. Errors: "process_unfit".
Result<void> check_outside(const HeldProcess& process, const Kernel& kernel);

// What it takes to move it: held, and outside of every sandbox. Errors: those of HeldProcess::hold(), "process_unfit".
Result<HeldProcess> hold_outside(const AdoptOptions& options, const Kernel& kernel);

}  // namespace sbpf::agent
