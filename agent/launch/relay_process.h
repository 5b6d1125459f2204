// SPDX-License-Identifier: Apache-2.0
// The relay of a sandbox whose loopback is its own: a process beside the supervisor (agent/launch/relay.h).
#pragma once

#include <string>
#include <vector>

#include "agent/host/helper_process.h"
#include "agent/launch/relay.h"

namespace sbpf::agent {

// Sockets that listen on these endpoints, as relayed_endpoints() gives them, in this thread's network namespace, which
// is the sandbox's own. Where they lead beyond loopback, all addresses lead to its loopback from then on. `has_ipv6`:
// of the relay's network namespace. Errors: "relay", "network_namespace" with errno.
Result<std::vector<RelaySocket>> listen_for(const std::vector<policy::RelayedEndpoint>& endpoints, bool has_ipv6);

struct RelayProcess {
  HelperProcess process;
  std::vector<Fd> held;  // the sockets that it serves: whatever becomes of it, nobody inside is bound to its ports

  // Once it ended: what is connected to its ports is refused, and no more left unanswered.
  void refuse() const;
};

// Starts the relay of the sandbox of this name, in this thread's network namespace, as `user`, without capabilities;
// when this returns it serves. At its end it passes on what is under way: that takes 11 s at most. The caller holds the
// host lock. Errors: "relay" with errno, those of start_helper().
Result<RelayProcess> start_relay(const std::string& name, const policy::User& user, std::vector<RelaySocket> all);

}  // namespace sbpf::agent
