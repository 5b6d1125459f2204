// SPDX-License-Identifier: Apache-2.0
// Policies about files and programs, for the tests that compare the kernel with a model.
#pragma once

#include <functional>
#include <random>
#include <string>

#include "policy/policy.h"

namespace sbpf::live {

using Random = std::mt19937_64;

// A default, up to eight rules for files, and in half of the policies up to four for programs: for paths that `pick`
// draws, and in half of them one for `top`.
policy::Policy random_policy(Random& random, const std::string& top, const std::function<std::string()>& pick);

// For a report.
std::string text_of(const policy::Policy& policy);

}  // namespace sbpf::live
