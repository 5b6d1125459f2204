// SPDX-License-Identifier: Apache-2.0
// The limit of open descriptors: sbpf needs more of them than a shell may give, and hands the caller's on to what it starts.
#pragma once

namespace sbpf::agent {

// Raises this process's limit as far as it may, to what a command needs at least. Once, when a command begins.
void raise_descriptors();

// Sets the limit that the caller had: in a child before exec (only calls that are safe there). 0 or an errno.
int restore_descriptors();

}  // namespace sbpf::agent
