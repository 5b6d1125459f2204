// SPDX-License-Identifier: Apache-2.0
// `sbpf hand-over`: lets an upgrade of this executable manage what this one loaded.
#include <CLI/CLI.hpp>
#include <memory>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

Result<int> hand_over(const std::string& executable) {
  if (auto done = agent::hand_over(executable); !done) return tl::unexpected<Error>(done.error());
  tell(fmt::format("{} manages the sandboxes, too", executable));
  return kExitOk;
}

}  // namespace

void add_hand_over(CLI::App& app, Session& session) {
  auto executable = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("hand-over", "Let an upgrade of this executable manage the live sandboxes");
  sub->add_option("EXECUTABLE", *executable, "The upgrade, whose programs have the same layout of maps")->required();
  sub->footer(
      "Example:\n  /usr/lib/sbpf/agents/OLD hand-over /usr/bin/sbpf\n\n"
      "sbpf's objects in the kernel answer to the executable that loaded them. This command also admits EXECUTABLE,\n"
      "for as long as the programs are loaded, and nobody else. Nothing changes for the sandboxes. The command is\n"
      "refused if EXECUTABLE's programs use another layout of maps (see `sbpf --version`). The package runs this\n"
      "command on upgrades, and then runs the new executable's `upgrade`. See docs/GUARD.md.");
  sub->callback([executable, &session] { session.action = [executable] { return hand_over(*executable); }; });
}

}  // namespace sbpf::cli
