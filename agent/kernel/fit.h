// SPDX-License-Identifier: Apache-2.0
// What differs between kernels, told to the programs before they are loaded.
#pragma once

#include "base/result.h"

struct sbpf_bpf;

namespace sbpf::agent {

// Leaves out the programs of hooks that this kernel does not have, and fills in the facts about it that the programs
// need. Sets which hooks are present (agent.h). Errors: "no_btf".
Result<void> fit_to_kernel(sbpf_bpf& skeleton);

}  // namespace sbpf::agent
