// SPDX-License-Identifier: Apache-2.0
// Messages of DNS in tests, by ldns.
#pragma once

#include <fmt/format.h>  // before ldns, which makes true and false macros
#include <gtest/gtest.h>
#include <ldns/ldns.h>

#include <cstdlib>
#include <memory>

#include "agent/dns/message.h"

namespace sbpf::agent::dns {

struct FreePacket {
  void operator()(ldns_pkt* packet) const { ldns_pkt_free(packet); }
};
using Packet = std::unique_ptr<ldns_pkt, FreePacket>;

inline Bytes wire_of(const ldns_pkt& packet) {
  std::uint8_t* out = nullptr;
  std::size_t size = 0;
  EXPECT_EQ(ldns_pkt2wire(&out, &packet, &size), LDNS_STATUS_OK);
  Bytes bytes(out, out + size);
  std::free(out);
  return bytes;
}

}  // namespace sbpf::agent::dns
