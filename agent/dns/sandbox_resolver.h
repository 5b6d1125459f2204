// SPDX-License-Identifier: Apache-2.0
// The resolver's part of a sandbox.
#pragma once

#include <cstdint>

#include "base/fd.h"

namespace sbpf::agent {

// What a sandbox whose policy has host names gets beside: made by start_resolver().
struct SandboxResolver {
  Fd opened;                           // its own map of what the resolver opened
  Fd rules;                            // and of what it answers by: agent/dns/resolver_rules.h
  std::uint16_t port4 = 0, port6 = 0;  // the resolver's on 127.0.0.1 and ::1, host byte order; 0: none
};

}  // namespace sbpf::agent
