// SPDX-License-Identifier: Apache-2.0
// Limits of this process: sbpf needs more descriptors than a shell may give, and no end of processor time, for a
// supervisor lives as long as its program does. What it starts gets the caller's.
#pragma once

namespace sbpf::agent {

// Raises them as far as this process may, to what a command needs at least. Once, when a command begins.
void raise_limits();

// Sets the limits that the caller had: in a child before exec (only calls that are safe there). 0 or an errno.
int restore_limits();

}  // namespace sbpf::agent
