// SPDX-License-Identifier: Apache-2.0
// A policy's seccomp profile, compiled by libseccomp for this machine and installed in the program's process.
#pragma once

#include <linux/filter.h>

#include <vector>

#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Classic BPF programs, in the order in which they are installed; none for dangerously_unconfined. The last is the
// profile's, which need not allow seccomp(2). The one before refuses TIOCSTI and TIOCLINUX whatever the profile says:
// they type into the terminal that the program shares with the caller. (One filter cannot: libseccomp takes no
// "anything but" of a masked argument.)
using SeccompFilters = std::vector<std::vector<sock_filter>>;

// Compiles. `keep` are the capabilities that the program keeps, for the profile's includes and excludes.
// Calls of another architecture than those of the profile get ENOSYS, as from a kernel without it: with the built-in
// profiles all 32-bit and x32 calls. Errors: "invalid_policy" (the profile's texts: file:line:column), "seccomp"
// (libseccomp).
Result<SeccompFilters> compile_seccomp(const policy::Seccomp& seccomp, const policy::Capabilities& keep);

// Installs them in the calling process, for good; needs no_new_privs. `listener_to`: a socket, and the last filter asks
// (agent/launch/refused_calls.h); -1: it does not. 0, or the errno.
int install_seccomp(const SeccompFilters& filters, int listener_to);

}  // namespace sbpf::agent
