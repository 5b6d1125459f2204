// SPDX-License-Identifier: Apache-2.0
// The host's log.
#pragma once

#include <string>

namespace sbpf::agent {

// One line in the host's log (facility AUTH): what takes isolation away is never silent.
void audit(const std::string& text);

}  // namespace sbpf::agent
