// SPDX-License-Identifier: Apache-2.0
// Where the programs in force are pinned. Each set that was loaded has a number and a directory of its own below kPinRoot, and
// the symbolic link `now` names the one in force: with it, an upgrade changes all that is known of the programs at once.
#pragma once

#include <cstdint>
#include <string>

namespace sbpf::agent {

// Name of the directory, below kPinRoot, of the programs with this number.
std::string loaded_name(std::uint32_t number);

// The number of those in force; 0, that of the first, if `now` does not tell.
std::uint32_t number_in_force();

}  // namespace sbpf::agent
