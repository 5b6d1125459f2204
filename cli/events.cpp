// SPDX-License-Identifier: Apache-2.0
// `sbpf events`: the denials of a sandbox.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/service_client.h"

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

// `sbpf events NAME | head -1` is a use, not a failure.
Result<int> ended(const Result<void>& printed) {
  if (!printed && printed.error().sys_errno != EPIPE) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

// By way of sbpfd, which tells users what befell their own sandboxes.
Result<int> events_of_user(const EventsArgs& args, const Session& session) {
  if (args.flows || args.ocsf) return fail("usage", "--flows and --ocsf are for root", "take --json, and filter it");
  const auto path = sandbox_path(args.name);
  if (!path) return tl::unexpected<Error>(path.error());
  auto service = ServiceClient::connect(usual_socket());
  if (!service) return tl::unexpected<Error>(service.error());
  Result<void> printed;
  const auto read = service->stream(fmt::format("{}/events?follow={}", *path, args.follow),
                                    std::chrono::seconds(args.follow ? 0 : 30), [&](const Json& event) {
                                      if (text_in(event, "reason") == to_string(SBPF_REASON_CANARY)) return true;
                                      printed = print((session.json ? dump(event) : event_text(event)) + "\n");
                                      return printed.has_value();
                                    });
  if (!read) return tl::unexpected<Error>(read.error());
  return ended(printed);
}

Result<int> events(const EventsArgs& args, const Session& session) {
  if (::geteuid() != 0) return events_of_user(args, session);
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
  return ended(printed);
}

}  // namespace

void add_events(CLI::App& app, Session& session) {
  auto args = std::make_shared<EventsArgs>();
  CLI::App* sub =
      app.add_subcommand("events", "Show the operations that a sandbox was denied, and what would allow them");
  sub->add_option("NAME", args->name, "The sandbox")->required();
  sub->add_flag("-f,--follow", args->follow, "Print events as they happen, until the sandbox ends");
  sub->add_flag("--flows", args->flows,
                "Show only connections and datagrams; allowed ones too if the policy has record_flows");
  auto* json = sub->add_flag("--json", session.json, "Print one JSON object a line");
  sub->add_flag("--ocsf", args->ocsf, "Print events in the Open Cybersecurity Schema Framework, 1.5")->excludes(json);
  sub->footer(
      "Examples:\n  sbpf events task-7 --follow\n  sbpf events task-7 --json | jq -r .allow | sort -u\n"
      "  sbpf events task-7 --flows --json | jq -r '[.verdict, .name, .port] | @tsv'\n\n"
      "Equal denials become one event a second, with their number. Reading removes no events: while a sandbox\n"
      "lives, the latest 250 KB of its events are kept, and always the first of each kind.");
  sub->callback([args, &session] { session.action = [args, &session] { return events(*args, session); }; });
}

}  // namespace sbpf::cli
