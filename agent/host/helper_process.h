// SPDX-License-Identifier: Apache-2.0
// A process beside the supervisor that serves one sandbox from outside, and talks to what the sandbox sends: the
// resolver, the relay. It gives up all that it does not serve with.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "policy/launch.h"

namespace sbpf::agent {

// As the process has it that started it.
struct HelperProcess {
  pid_t pid = -1;
  Fd pidfd;
  std::string cgroup;                     // its own
  Fd stop;                                // asks the helper to end when it is closed, as it is when this process dies
  std::chrono::milliseconds patience{0};  // for the helper to end by itself

  HelperProcess() = default;
  HelperProcess(HelperProcess&&) noexcept = default;
  HelperProcess& operator=(HelperProcess&&) = delete;
  ~HelperProcess();  // ends it, and waits until it did
};

// What a helper has of its owner.
struct HelperPipes {
  Fd stop;   // readable once the helper is to end
  Fd ready;  // takes an int: 0 when the helper serves, or the errno of what failed
  pid_t owner = -1;
};

struct HelperCgroup {
  std::string name;  // agent/host/resolver_cgroup.h
  std::uint64_t memory_bytes;
};

// Starts a helper of a sandbox in a limited cgroup of its own, and waits until it serves. `serve` is called in the
// helper, and does not return. `cannot` makes the error of what could not be done, from errno; `set_up` is what that
// says of the helper's own part. The caller holds the host lock. Errors: those, and those of make_resolver_cgroup() and
// clone_into().
Result<HelperProcess> start_helper(const HelperCgroup& limited, const char* set_up,
                                   tl::unexpected<Error> (*cannot)(const std::string& what),
                                   const std::function<void(HelperPipes)>& serve);

struct HelperRights {
  const char* name;       // as ps shows it
  policy::User user;      // without capabilities, even as root
  std::vector<int> keep;  // descriptors; no others stay open, and stdio is /dev/null
  pid_t owner;            // the helper ends when this process does
};

// In the helper, before it serves: closes descriptors, leaves the session and the working directory, sets limits, and
// changes to the user, for good. 0, or the errno of what failed.
int give_up_rights(const HelperRights& rights);

enum class SocketCalls {
  alone,             // sockets of the internet, memory, time
  and_map_elements,  // also the elements of BPF maps that are open
};
// From here on the helper makes no other calls: they fail with EPERM. 0, or the errno of what failed.
int allow_sockets_only(SocketCalls calls);

}  // namespace sbpf::agent
