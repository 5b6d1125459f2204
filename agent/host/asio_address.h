// SPDX-License-Identifier: Apache-2.0
// An address, as Boost.Asio has it.
#pragma once

#include <boost/asio/ip/address.hpp>

#include "policy/policy.h"

namespace sbpf::agent {

// A mapped one becomes one of IPv4.
inline boost::asio::ip::address asio_address(const policy::Address& address) {
  const boost::asio::ip::address_v6 v6(address);
  if (v6.is_v4_mapped()) return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, v6);
  return v6;
}

}  // namespace sbpf::agent
