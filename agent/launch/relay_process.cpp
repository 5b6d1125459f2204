// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/relay_process.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>

#include "agent/host/asio_address.h"
#include "agent/host/helper_process.h"
#include "agent/host/network_namespace.h"
#include "agent/host/resolver_cgroup.h"
#include "agent/host/socket_end.h"
#include "agent/launch/relay_datagram.h"

namespace sbpf::agent {
namespace {

constexpr std::chrono::seconds kPatienceAtEnd(10);
// More than all buffers of its sockets together (agent/launch/relay.cpp).
constexpr std::uint64_t kMemoryBytes = std::uint64_t{384} << 20;

tl::unexpected<Error> cannot_relay(const std::string& what) {
  const int error = errno;
  return fail("relay", SystemError{error}, "cannot {} for the sandbox's loopback", what);
}

Result<Fd> listen_on(const policy::RelayedEndpoint& endpoint) {
  sockaddr_storage local{};
  const socklen_t size = sockaddr_of({endpoint.address, endpoint.port}, local);
  const int on = 1;
  Fd socket(::socket(local.ss_family, (endpoint.tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      (local.ss_family == AF_INET6 && ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0) ||
      (!endpoint.tcp && tell_destinations(socket, local.ss_family) != 0) ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&local), size) != 0 ||
      (endpoint.tcp && ::listen(socket.get(), SOMAXCONN) != 0))
    return cannot_relay(fmt::format("listen on {} port {}", policy::to_string(endpoint.address), endpoint.port));
  return socket;
}

bool is_v6(const policy::RelayedEndpoint& endpoint) { return asio_address(endpoint.address).is_v6(); }

[[noreturn]] void relay_main(const policy::User& user, std::vector<RelaySocket> all, const HelperPipes& pipes) {
  HelperRights rights{"sbpf-relay", {user.uid, user.gid, {}}, {pipes.stop.get(), pipes.ready.get()}, pipes.owner};
  for (const RelaySocket& relayed : all) rights.keep.push_back(relayed.socket.get());
  int error = give_up_rights(rights);
  if (error == 0) error = allow_sockets_only(SocketCalls::alone);
  (void)!::write(pipes.ready.get(), &error, sizeof error);
  if (error != 0) ::_exit(1);
  try {
    serve_relay(std::move(all), pipes.stop, kPatienceAtEnd);
  } catch (...) {
    ::_exit(1);  // out of memory or descriptors: nothing is relayed any more
  }
  ::_exit(0);
}

}  // namespace

Result<std::vector<RelaySocket>> listen_for(const std::vector<policy::RelayedEndpoint>& endpoints, bool has_ipv6) {
  std::vector<RelaySocket> all;
  const bool leads_beyond = std::ranges::any_of(endpoints, policy::is_beyond_loopback);
  const auto has_v6 = leads_beyond ? lead_all_to_loopback(has_ipv6) : Result<bool>(true);
  if (!has_v6) return tl::unexpected<Error>(has_v6.error());
  // Sorted: the wildcard of a family comes before its addresses of loopback.
  for (const policy::RelayedEndpoint& endpoint : endpoints) {
    if (policy::is_beyond_loopback(endpoint) && is_v6(endpoint) && !*has_v6) continue;
    // The socket of every address has this one, too: no second one can be bound to the port.
    const auto every = std::ranges::find_if(all, [&](const RelaySocket& one) {
      return policy::is_beyond_loopback(one.endpoint) && one.endpoint.port == endpoint.port &&
             one.endpoint.tcp == endpoint.tcp && is_v6(one.endpoint) == is_v6(endpoint);
    });
    if (every != all.end()) {
      every->loopback.insert(endpoint.address);
      continue;
    }
    auto socket = listen_on(endpoint);
    if (!socket) return tl::unexpected<Error>(socket.error());
    all.push_back({endpoint, std::move(*socket)});
  }
  return all;
}

void RelayProcess::refuse() const {
  for (const Fd& socket : held) (void)::shutdown(socket.get(), SHUT_RDWR);
}

Result<RelayProcess> start_relay(const std::string& name, const policy::User& user, std::vector<RelaySocket> all) {
  std::vector<Fd> held;
  for (const RelaySocket& relayed : all) {
    held.emplace_back(::fcntl(relayed.socket.get(), F_DUPFD_CLOEXEC, 3));
    if (!held.back()) return cannot_relay("hold a socket");
  }
  auto process = start_helper({relay_of(name), kMemoryBytes}, "set up the relay's process", cannot_relay,
                              [&](const HelperPipes& pipes) { relay_main(user, std::move(all), pipes); });
  if (!process) return tl::unexpected<Error>(process.error());
  process->patience = kPatienceAtEnd + std::chrono::seconds(1);
  return RelayProcess{std::move(*process), std::move(held)};
}

}  // namespace sbpf::agent
