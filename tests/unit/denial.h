// SPDX-License-Identifier: Apache-2.0
// An event of something that was denied, for what is made of events.
#pragma once

#include <string>

#include "agent/sandbox/events.h"

namespace sbpf::cli {

inline agent::Event denial(const std::string& text, sbpf_verdict verdict = SBPF_DENY) {
  agent::Event event;
  event.sandbox = "box";
  event.raw.verdict = static_cast<__u8>(verdict);
  event.raw.reason = SBPF_REASON_NO_RULE;
  event.raw.hook = SBPF_HOOK_connect4;
  event.raw.domain = SBPF_DOMAIN_NETWORK;
  event.text = text;
  event.allow = "network.connect: - {address: 192.0.2.1, ports: [443]}";
  return event;
}

}  // namespace sbpf::cli
