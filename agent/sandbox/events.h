// SPDX-License-Identifier: Apache-2.0
// What an event means.
#pragma once

#include <cstdint>
#include <string>

#include "base/mounts.h"
#include "bpf/abi.h"

namespace sbpf::agent {

// One typed event with its explanation; `text` is one line for a terminal, `allow` the lines of a policy that would
// allow it, and `relaxation` those that would where nothing does but a key that begins with dangerously_. One of the
// two is empty, or both, where no policy can.
struct Event {
  sbpf_event raw{};
  // Of the resolver's events: the host name that was asked for; of flows and of denied connects: which led there.
  std::string name;
  // Of filesystem events, as far as it is known: "…" stands for what is above, or for the rest of a name.
  std::string path;
  bool path_is_whole = false;
  std::string exe;                                 // of records of flows: the program, if it still runs
  std::uint64_t flow = 0, sent = 0, received = 0;  // of records of flows: which one; bytes, at its end
  std::uint16_t local_port = 0;                    // likewise; 0: not known
  std::string interface;  // of SBPF_REASON_INTERFACE: which one was named, or "number N" where there is none of it
  std::string wanted;     // of filesystem events: "read", "write", "read, write"
  std::string sandbox;
  std::string text;
  std::string allow;
  std::string relaxation;
};

// Does the resolver tell of a name? Then what the kernel keeps is a struct sbpf_name_event.
inline bool is_of_name(const sbpf_event& event) {
  return event.hook == SBPF_NO_HOOK && event.reason != SBPF_REASON_SYSTEM_CALL;
}

// The event in words, with what would allow it. `its_own`: mounts_of_its_own() of the sandbox, whose files have the
// names that they have there.
Event explain_event(const sbpf_fs_event& raw, const std::string& sandbox, const std::vector<Mount>& its_own = {});

}  // namespace sbpf::agent
