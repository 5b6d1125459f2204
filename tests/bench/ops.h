// SPDX-License-Identifier: Apache-2.0
// The operations that are measured. Each checks its own outcome: what is measured is what the name says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sbpf::bench {

struct Op {
  const char* name;
  int iterations;     // of a round, which should take less than a timer tick: 4 million instructions
  void (*prepare)();  // before the rounds; may be null
  void (*once)();
  bool special = false;  // only where it is asked for by name
};

const std::vector<Op>& ops();

// Gives up what another process of this program needs too: the port.
void release();

// The time stamp counter: under `scripts/vm --icount`, the number of instructions that have run.
inline std::uint64_t now() { return __builtin_ia32_rdtsc(); }

// Ends the process: a measurement that went wrong has no result.
[[noreturn]] void die(const std::string& what);

// The program `nothing`, beside this one.
std::string nothing_path();

}  // namespace sbpf::bench
