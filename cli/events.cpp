// SPDX-License-Identifier: Apache-2.0
// `sbpf events`: the denials of a sandbox.
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
  bool flows = false;
  bool ocsf = false;
};

// What `--flows` shows: what was allowed, as the policy has it recorded, and what was denied for its address.
bool is_flow(const sbpf_event& event) {
  switch (event.reason) {
    case SBPF_REASON_FLOW:
    case SBPF_REASON_FLOW_ACCEPTED:
    case SBPF_REASON_FLOW_ENDED:
      return true;
    default:
      return event.domain == SBPF_DOMAIN_NETWORK && event.reason == SBPF_REASON_NO_RULE;
  }
}

Result<int> events(const EventsArgs& args, const Session& session) {
  Result<void> printed;
  const auto sink = [&](const agent::Event& event) {
    if (event.raw.reason == SBPF_REASON_CANARY) return true;  // a verification of ours, not the program
    if (args.flows && !is_flow(event.raw)) return true;
    const std::int64_t epoch = boot_epoch_ns();
    printed = print((args.ocsf      ? dump(event_ocsf(event, epoch, SBPF_VERSION))
                     : session.json ? dump(event_json(event, epoch))
                                    : event_text(event, epoch)) +
                    "\n");
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
  sub->add_flag("--flows", args->flows,
                "Only connections and datagrams, allowed ones too where the policy has record_flows");
  auto* json = sub->add_flag("--json", session.json, "Print one JSON object a line");
  sub->add_flag("--ocsf", args->ocsf, "The same in the Open Cybersecurity Schema Framework, 1.5")->excludes(json);
  sub->footer(
      "Examples:\n  sbpf events task-7 --follow\n  sbpf events task-7 --json | jq -r .allow | sort -u\n"
      "  sbpf events task-7 --flows --json | jq -r '[.verdict, .name, .address, .port] | @tsv'\n\n"
      "Equal denials are one event a second, with their number. Reading takes nothing away: the latest 250 KB of a sandbox are\n"
      "kept while it lives, and the first event of each kind always.");
  sub->callback([args, &session] { session.action = [args, &session] { return events(*args, session); }; });
}

}  // namespace sbpf::cli
