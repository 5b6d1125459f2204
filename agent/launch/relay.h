// SPDX-License-Identifier: Apache-2.0
// Relays into the network of one sandbox, which has nothing but its loopback: what is connected or sent to a socket
// there is passed on to the same address and port from the host's network, and back.
#pragma once

#include <chrono>
#include <set>
#include <vector>

#include "base/fd.h"
#include "policy/loopback.h"

namespace sbpf::agent {

// An endpoint, and the socket that listens in its place: of TCP, or of UDP. One for every address beyond loopback is
// reached by those of loopback, too: `loopback` are the ones that are passed on.
struct RelaySocket {
  policy::RelayedEndpoint endpoint;
  Fd socket;
  std::set<policy::Address> loopback = {};
};

// Passes on until `stop` is readable or closed, and then what is under way, for `patience` at most; what is left after
// that is reset. What it connects by is of this thread's network namespace. A connection to an endpoint on which
// nothing listens is reset. At most 400 connections and 400 clients of UDP are served at a time: a further connection
// takes the place of one that its client has closed, or is reset, and a further client that of the one that has been
// quiet longest. Throws what Boost.Asio throws where it has no memory or descriptors.
void serve_relay(std::vector<RelaySocket> all, const Fd& stop, std::chrono::seconds patience);

}  // namespace sbpf::agent
