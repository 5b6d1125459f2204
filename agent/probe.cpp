// SPDX-License-Identifier: Apache-2.0
#include "agent/probe.h"

#include "agent/overruled.h"

namespace sbpf::agent {

HostProbe probe_host(const Kernel& kernel, const Liveness& alive) {
  HostProbe found;
  switch (alive.proof) {
    case Proof::runs:
      break;
    case Proof::stopped:
      // Programs that do not know our root know no sentinel: that is another loss, and told as what it is ("gate").
      if (knows_root(kernel)) found.lost.push_back({"liveness", alive.reason});
      break;
    case Proof::unknown:
      found.unknown.push_back({"liveness", "not proven that the programs run: " + alive.reason});
      break;
  }
  if (auto modified = modified_functions(kernel); !modified)
    found.unknown.push_back({"overruled", modified.error().message});
  else
    found.lost.insert(found.lost.end(), modified->begin(), modified->end());
  const auto patched = patched_functions();
  found.lost.insert(found.lost.end(), patched.begin(), patched.end());
  return found;
}

}  // namespace sbpf::agent
