// SPDX-License-Identifier: Apache-2.0
// What addresses are, as models of policies see it: with nothing of the product's own tests of them.
#pragma once

#include <cstring>

#include "policy/policy.h"

namespace sbpf::policy {

inline bool begins_with(const Address& address, const char* prefix, std::size_t bytes) {
  return std::memcmp(address.data(), parse_address(prefix).value().data(), bytes) == 0;
}

inline bool is_of_loopback(const Address& address) {
  return begins_with(address, "127.0.0.0", 13) || address == parse_address("::1") ||
         address == parse_address("0.0.0.0") || address == Address{};
}

}  // namespace sbpf::policy
