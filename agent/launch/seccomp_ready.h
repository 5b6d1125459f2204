// SPDX-License-Identifier: Apache-2.0
// The built-in seccomp profiles, compiled when sbpf was built: compiling would be most of the computation of a start.
#pragma once

#include "agent/launch/seccomp.h"

namespace sbpf::agent {

// What compile_seccomp() gives, and its errors. Only profiles of files, and programs that keep capabilities, are
// compiled here and now.
Result<SeccompFilters> seccomp_filters(const policy::Seccomp& seccomp, const policy::Capabilities& keep);

}  // namespace sbpf::agent
