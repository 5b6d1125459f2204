// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/proxied.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <sys/stat.h>

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

Result<std::vector<Led>> led_connections(const Kernel& kernel) {
  bpf_iter_link_info about{};
  about.map.map_fd = static_cast<__u32>(kernel.origins());
  auto records = read_records<sbpf_led>(kernel.asked(Asked::led), &about, "origins", "connections that were led to a proxy");
  if (!records) return tl::unexpected<Error>(records.error());
  std::vector<Led> connections;
  for (const sbpf_led& record : *records) {
    Led led;
    led.proxy = {address_of(record.origin.led_be), ntohs(record.origin.led_port_be)};
    // What the socket holds may be of a connection before.
    if (record.remote_port_be != record.origin.led_port_be || address_of(record.remote_be) != led.proxy.address) continue;
    led.cookie = record.cookie;
    led.cgroup_id = record.origin.cgroup_id;
    led.netns = record.netns;
    led.client = address_of(record.local_be);
    led.client_port = record.local_port;
    led.address = address_of(record.origin.address_be);
    led.port = ntohs(record.origin.port_be);
    connections.push_back(led);
  }
  return connections;
}

Result<Origin> origin_of(const policy::Address& client, std::uint16_t port) {
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto connections = led_connections(*kernel);
  if (!connections) return tl::unexpected<Error>(connections.error());
  std::erase_if(*connections, [&](const Led& led) { return led.client != client || led.client_port != port; });
  // The same address may be another's in each network namespace.
  if (connections->size() > 1)
    std::erase_if(*connections, [here = own_netns()](const Led& led) { return led.netns != here; });
  if (connections->size() != 1)
    return fail("no_such_connection",
                "no connection from " + policy::to_string(client) + " port " + std::to_string(port) + " was led to a proxy",
                "ask for the client's address and port as accept(2) names them, while the connection lasts");
  const Led& led = connections->front();
  return Origin{led.address, led.port, led.proxy, name_of(*kernel, led.cgroup_id)};
}

}  // namespace sbpf::agent
