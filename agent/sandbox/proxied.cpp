// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/proxied.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <sys/stat.h>

#include <fmt/core.h>
#include <algorithm>
#include <cstring>

#include "agent/host/bpf_info.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

template <typename Bytes>
policy::Address address_of(const Bytes& bytes) {
  policy::Address address;
  static_assert(sizeof bytes == sizeof address);
  std::memcpy(address.data(), &bytes, sizeof bytes);
  return address;
}

std::uint32_t own_netns() {
  struct stat info {};
  return ::stat("/proc/thread-self/ns/net", &info) == 0 ? static_cast<std::uint32_t>(info.st_ino) : 0;
}

// Empty if the sandbox is gone.
std::string name_of(const Kernel& kernel, std::uint64_t cgroup_id) {
  const auto record = find_record(kernel, cgroup_id);
  return record ? record->name : "";
}

}  // namespace

Result<std::vector<ProxiedConnection>> proxied_connections(const Kernel& kernel) {
  bpf_iter_link_info about{};
  about.map.map_fd = static_cast<__u32>(kernel.origins());
  auto records = read_records<sbpf_proxied>(kernel.query(Query::proxied), &about, "origins",
                                            "connections that were sent to a proxy");
  if (!records) return tl::unexpected<Error>(records.error());
  std::vector<ProxiedConnection> connections;
  for (const sbpf_proxied& record : *records) {
    ProxiedConnection connection;
    connection.proxy = {address_of(record.origin.proxy_be), ntohs(record.origin.proxy_port_be)};
    // What the socket holds may be of a connection before.
    if (record.remote_port_be != record.origin.proxy_port_be ||
        address_of(record.remote_be) != connection.proxy.address)
      continue;
    connection.cookie = record.cookie;
    connection.cgroup_id = record.origin.cgroup_id;
    connection.netns = record.netns;
    connection.client = address_of(record.local_be);
    connection.client_port = record.local_port;
    connection.address = address_of(record.origin.address_be);
    connection.port = ntohs(record.origin.port_be);
    connections.push_back(connection);
  }
  return connections;
}

Result<Origin> origin_of(const policy::Address& client, std::uint16_t port) {
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto connections = proxied_connections(*kernel);
  if (!connections) return tl::unexpected<Error>(connections.error());
  std::erase_if(*connections, [&](const ProxiedConnection& connection) {
    return connection.client != client || connection.client_port != port;
  });
  // The same address may be another's in each network namespace.
  if (connections->size() > 1)
    std::erase_if(*connections,
                  [here = own_netns()](const ProxiedConnection& connection) { return connection.netns != here; });
  if (connections->size() != 1)
    return fail("no_such_connection",
                fmt::format("no connection from {} port {} was sent to a proxy", policy::to_string(client), port),
                "ask for the client's address and port as accept(2) names them, while the connection lasts");
  const ProxiedConnection& connection = connections->front();
  return Origin{connection.address, connection.port, connection.proxy, name_of(*kernel, connection.cgroup_id)};
}

}  // namespace sbpf::agent
