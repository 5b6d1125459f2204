// SPDX-License-Identifier: Apache-2.0
// Marks of attached sandboxes that sbpf itself took down while their cgroup lives on. If a record is gone without such
// a mark, `sbpf watch` reports a loss.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "bpf/abi.h"

namespace sbpf::agent {

// Before the record goes: a directory beside the pins, which nobody but the agent removes. Marks of cgroups that are
// gone are dropped now and then. A sandbox of `run` needs no mark: its processes are killed first. Errors: "pin" with
// errno.
Result<void> mark_ended(const sbpf_sandbox& record);
bool is_marked_ended(const sbpf_sandbox& record);

}  // namespace sbpf::agent
