// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/probe.h"

#include <algorithm>
#include <iterator>

#include "agent/kernel/gate.h"
#include "agent/verify/overruling_programs.h"

namespace sbpf::agent {

HostProbe probe_host(const Kernel& kernel, const Liveness& alive) {
  HostProbe found;
  switch (alive.proof) {
    case Proof::runs:
      break;
    case Proof::stopped:
      // Programs that do not know our root know no sentinel. Of a sandbox there that is another loss, "gate".
      if (knows_root(kernel))
        found.lost.push_back({"liveness", alive.reason});
      else
        found.unknown.push_back(
            {"sentinel", "not proven that the programs run: sbpf's root cgroup is not the one that they know", true});
      break;
    case Proof::unknown:
      found.unknown.push_back({"liveness", fmt::format("not proven that the programs run: {}", alive.reason), true});
      break;
  }
  for (const auto& replaced : {modified_functions(kernel), patched_functions()})
    if (!replaced)
      found.unknown.push_back({"overruled", replaced.error().message, true});
    else
      found.lost.insert(found.lost.end(), replaced->begin(), replaced->end());
  return found;
}

std::vector<Lost> probe(const Kernel& kernel, const sbpf_sandbox& record, Sound& sound, Depth depth,
                        const HostProbe& host) {
  std::vector<Lost> lost = look_at(kernel, Snapshot(), record, sound);
  for (const auto& found : {look_at_host(kernel, depth), host.lost, host.unknown})
    std::ranges::copy_if(found, std::back_inserter(lost), [&](const Lost& one) { return concerns(one, record); });
  return lost;
}

}  // namespace sbpf::agent
