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
  CLI::App* sub = app.add_subcommand("upgrade", "Put this executable's programs in the place of those in the kernel");
  sub->footer(
      "Example:\n  /usr/lib/sbpf/agents/OLD hand-over /usr/bin/sbpf && sbpf upgrade\n\n"
      "The new programs are loaded and attached beside the old ones, every sandbox's links are made to run them, and "
      "all\n"
      "of it is read back before the old ones go: no hook is without a program at any moment. What fails leaves the "
      "old\n"
      "ones in force. The package does it on upgrades. See docs/GUARD.md.");
  sub->callback([&session] { session.action = [] { return upgrade(); }; });
}

}  // namespace sbpf::cli
