// SPDX-License-Identifier: Apache-2.0
// `sbpf events`: the denials of a sandbox. Reading takes them out of the ring.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct EventsArgs {
  std::string name;
  bool follow = false;
};

Result<int> events(const EventsArgs& args, const Session& session) {
  Result<void> printed;
  const auto sink = [&](const agent::Event& event) {
    if (event.raw.reason == SBPF_REASON_CANARY) return true;  // a verification of ours, not the program
    const std::int64_t epoch = boot_epoch_ns();
    printed = print((session.json ? dump(event_json(event, epoch)) : event_text(event, epoch)) + "\n");
    return printed.has_value();
  };
  auto read = agent::events(args.name, args.follow, sink);
  if (!read) return tl::unexpected<Error>(read.error());
  // `sbpf events NAME | head -1` is a use, not a failure.
  if (!printed && printed.error().sys_errno != EPIPE) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

}  // namespace

void add_events(CLI::App& app, Session& session) {
  auto args = std::make_shared<EventsArgs>();
  CLI::App* sub = app.add_subcommand("events", "Show what a sandbox was denied, and what would allow it");
  sub->add_option("NAME", args->name, "The sandbox")->required();
  sub->add_flag("-f,--follow", args->follow, "Go on as it happens, until the sandbox ends");
  sub->add_flag("--json", session.json, "Print one JSON object a line");
  sub->footer(
      "Examples:\n  sbpf events task-7 --follow\n  sbpf events task-7 --json | jq -r .allow | sort -u\n\n"
      "An event is shown once: reading takes it out of the kernel's ring, and one reader at a time is let in.");
  sub->callback([args, &session] { session.action = [args, &session] { return events(*args, session); }; });
}

}  // namespace sbpf::cli
