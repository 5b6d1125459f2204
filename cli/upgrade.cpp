// SPDX-License-Identifier: Apache-2.0
// `sbpf upgrade`: the programs of this executable in the place of those that the kernel runs.
#include <CLI/CLI.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

Result<int> upgrade() {
  auto replaced = agent::upgrade();
  if (!replaced) return tl::unexpected<Error>(replaced.error());
  tell(*replaced ? "this executable's programs are in force" : "this executable's programs are in force already");
  return kExitOk;
}

}  // namespace

void add_upgrade(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("upgrade", "Replace the programs in the kernel with those of this executable");
  sub->footer(
      "Example:\n  /usr/lib/sbpf/agents/OLD hand-over /usr/bin/sbpf && sbpf upgrade\n\n"
      "The new programs are loaded and attached beside the old ones, and every sandbox's links are made to run\n"
      "them. All of this is read back before the old programs are removed. No hook is without a program at any\n"
      "moment. If the upgrade fails, the old programs stay in force. The package runs this command on upgrades. See\n"
      "docs/GUARD.md.");
  sub->callback([&session] { session.action = [] { return upgrade(); }; });
}

}  // namespace sbpf::cli
