// SPDX-License-Identifier: Apache-2.0
// Why a run ended as it did, in words.
#pragma once

#include <string>
#include <vector>

#include "agent/launch/run_options.h"

namespace sbpf::agent {

// One thing that ended the program, or held it back.
struct EndReason {
  // "timeout", "isolation_lost", "taken_down", "out_of_memory", "seccomp", "killed", "process_limit" or "cpu_limit".
  std::string code;
  std::string message;
  std::string hint;  // "": nothing is to be done about it
};

// First what ended the program, if that was not the program itself; then what held it back. Signals other than SIGKILL
// and SIGSYS explain themselves, and a program that was slowed down for less than a second is not worth a word.
std::vector<EndReason> reasons_of(const RunResult& result);

// "SIGKILL"; "signal 34" where it has no name.
std::string signal_name(int signal);

}  // namespace sbpf::agent
