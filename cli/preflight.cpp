// SPDX-License-Identifier: Apache-2.0
// `sbpf preflight`: what this host can enforce, found out by doing it.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

Result<int> preflight(const Session& session) {
  const agent::Preflight found = agent::preflight();
  const std::string text = session.json ? pretty(preflight_json(found)) : preflight_text(found);
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return found.ok() ? kExitOk : kExitLess;
}

}  // namespace

void add_preflight(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("preflight", "Find out what this host can enforce, and how to mend the rest");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer(
      "Example:\n  sbpf preflight --json | jq .domains.network\n\n"
      "Loads and attaches everything in a cgroup of its own, has a canary denied by each hook, and removes it\n"
      "all again. Exit code 3 if `sbpf run` would refuse.");
  sub->callback([&session] { session.action = [&session] { return preflight(session); }; });
}

}  // namespace sbpf::cli
