// SPDX-License-Identifier: Apache-2.0
// The parts of Asio that headers here need.
#pragma once

#include <utility>  // before awaitable.hpp, which forgets it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

namespace sbpf::service {

namespace asio = boost::asio;

}  // namespace sbpf::service
