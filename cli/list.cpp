// SPDX-License-Identifier: Apache-2.0
// `sbpf list`: names, one a line, for people and for shell loops.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

Result<int> list(const Session& session) {
  auto listed = agent::list();
  if (!listed) return tl::unexpected<Error>(listed.error());
  const std::vector<std::string>* names = &listed->names;
  if (!listed->unclear.empty()) tell("warning: " + printable(listed->unclear) + "; sandboxes that have ended may be among these");
  std::string text;
  for (const std::string& name : *names) text += printable(name) + "\n";
  if (session.json) text = pretty({{"sandboxes", *names}});
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

}  // namespace

void add_list(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("list", "List the sandboxes, one name a line");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer("Example:\n  sbpf list | xargs -n1 sbpf verify");
  sub->callback([&session] { session.action = [&session] { return list(session); }; });
}

}  // namespace sbpf::cli
