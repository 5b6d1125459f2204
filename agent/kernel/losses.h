// SPDX-License-Identifier: Apache-2.0
// The missing parts of a sandbox's isolation, with reasons.
#pragma once

#include <cstdint>
#include <string>

namespace sbpf::agent {

// Found by a look.
struct Lost {
  std::string what;           // a hook's name, "gate", "storage", "policy", "record", "lsm", "liveness", "sentinel",
                              // "overruled", "later", "canary", "pin maps/…"
  std::string reason;         // one clause for a person
  bool unclear = false;       // not lost: it cannot be told
  std::uint32_t program = 0;  // of "later": its number
};

// As a status tells it.
struct Degradation {
  std::string what, requested, effective, reason;
};

}  // namespace sbpf::agent
