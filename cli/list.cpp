// SPDX-License-Identifier: Apache-2.0
// `sbpf list`: names, one a line, for people and for shell loops.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/service_client.h"

namespace sbpf::cli {
namespace {

Result<int> print_names(const std::vector<std::string>& names, const Session& session) {
  std::string text;
  for (const std::string& name : names) text += printable(name) + "\n";
  if (session.json) text = pretty({{"sandboxes", names}});
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

// A user's own, by way of sbpfd.
Result<int> list_of_user(const Session& session) {
  auto service = ServiceClient::connect(usual_socket());
  if (!service) return tl::unexpected<Error>(service.error());
  const auto answer = service->get("/v1/sandboxes");
  if (!answer) return tl::unexpected<Error>(answer.error());
  std::vector<std::string> names;
  for (const Json& sandbox : answer->value("sandboxes", Json::array()))
    if (sandbox.is_object() && sandbox.value("owner", Json()) == ::geteuid()) names.push_back(text_in(sandbox, "name"));
  return print_names(names, session);
}

Result<int> list(const Session& session) {
  if (::geteuid() != 0) return list_of_user(session);
  auto listed = agent::list();
  if (!listed) return tl::unexpected<Error>(listed.error());
  if (!listed->unclear.empty())
    tell(fmt::format("warning: {}; sandboxes that have ended may be among these", printable(listed->unclear)));
  return print_names(listed->names, session);
}

}  // namespace

void add_list(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("list", "List the sandboxes, one name a line");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer("Example:\n  sbpf list | xargs -n1 sbpf verify");
  sub->callback([&session] { session.action = [&session] { return list(session); }; });
}

}  // namespace sbpf::cli
