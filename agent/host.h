// SPDX-License-Identifier: Apache-2.0
// What the host lacks, found by trying.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"

namespace sbpf::agent {

// The cheap checks: mounts, BTF, LSM list, lockdown, capabilities, namespaces, seccomp. No BPF is loaded.
std::vector<Check> check_host();

// The first thing that check_host() finds missing, as an error of `run`; `fallback` if it finds nothing.
Error explain_failure(Error fallback);

// Is `bpf` in the kernel's active LSM list? Without it LSM programs attach and never run.
bool bpf_lsm_active();

}  // namespace sbpf::agent
