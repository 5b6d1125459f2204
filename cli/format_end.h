// SPDX-License-Identifier: Apache-2.0
// How a run ended -> lines for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/launch/run_options.h"

namespace sbpf::cli {

// The object of "exit", without what the denials were: "code", "signal" (null where none ended it), "timed_out",
// "reasons" and "usage". What the kernel does not keep is null.
nlohmann::ordered_json end_json(const agent::RunResult& result);

// A line for each reason; none where the program ended by itself and nothing held it back.
std::vector<std::string> end_lines(const agent::RunResult& result);

}  // namespace sbpf::cli
