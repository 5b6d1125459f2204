// SPDX-License-Identifier: Apache-2.0
// Traces of tasks: a trace continues under any policy that is put on the tracer.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace sbpf::agent {

// The tasks outside that a task of these processes traces, each "pid 12: traces pid 34 outside". Only the tracer can
// end a trace and leave both alive. The tracers must be frozen, or the answer is out of date.
std::vector<std::string> traces_outside(const std::set<pid_t>& inside);

}  // namespace sbpf::agent
