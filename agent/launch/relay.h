// SPDX-License-Identifier: Apache-2.0
// Relays endpoints of the host's loopback into the loopback of one sandbox: what is connected or sent to a socket there
// is passed on to the same address and port of the host, and back.
#pragma once

#include <chrono>
#include <vector>

#include "base/fd.h"
#include "policy/loopback.h"

namespace sbpf::agent {

// An endpoint, and the socket that listens in its place: of TCP, or of UDP.
struct RelaySocket {
  policy::RelayedEndpoint endpoint;
  Fd socket;
};

// Passes on until `stop` is readable or closed, and then what is under way, for `patience` at most; what is left after
// that is reset. What it connects by is of this thread's network namespace. A connection to an endpoint on which
// nothing listens is reset. At most 400 connections and 400 clients of UDP are served at a time: a further connection
// is reset, and a further client takes the place of the one that has been quiet longest. Throws what Boost.Asio throws
// where it has no memory or descriptors.
void serve_relay(std::vector<RelaySocket> all, const Fd& stop, std::chrono::seconds patience);

}  // namespace sbpf::agent
