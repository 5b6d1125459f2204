// SPDX-License-Identifier: Apache-2.0
// `sbpf origin`: tells a proxy whom a connection that was sent to it is for.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "agent/sandbox/proxied.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

Json endpoint_json(const policy::Address& address, std::uint16_t port) {
  return {{"address", policy::to_string(address)}, {"port", port}};
}

Result<int> origin(const std::string& client, const Session& session) {
  auto endpoint = parse_address_port(client);
  if (!endpoint) return tl::unexpected<Error>(endpoint.error());
  auto found = agent::origin_of(endpoint->address, endpoint->port);
  if (!found) return tl::unexpected<Error>(found.error());
  const Json json = {{"origin", endpoint_json(found->address, found->port)},
                     {"proxy", endpoint_json(found->proxy.address, found->proxy.port)},
                     {"sandbox", found->sandbox}};
  auto printed = print((session.json ? dump(json) : to_string(AddressPort{found->address, found->port})) + "\n");
  if (!printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

}  // namespace

void add_origin(CLI::App& app, Session& session) {
  auto client = std::make_shared<std::string>();
  CLI::App* sub =
      app.add_subcommand("origin", "Print the original destination of a connection that `via` sent to a proxy");
  sub->add_option("CLIENT", *client, "Address and port of the proxy's client, as 127.0.0.1:40000 or [::1]:40000")
      ->required();
  sub->add_flag("--json", session.json, "Print JSON: origin, proxy and sandbox");
  sub->footer(
      "Example:\n  sbpf origin 127.0.0.1:40000\n\n"
      "The connection must still be open. Policies lead connections to a proxy by\n"
      "  connect: [{cidr: 0.0.0.0/0, ports: [443], protocol: tcp,\n"
      "             via: {address: 127.0.0.1, port: 3128}}]");
  sub->callback([client, &session] { session.action = [client, &session] { return origin(*client, session); }; });
}

}  // namespace sbpf::cli
