// SPDX-License-Identifier: Apache-2.0
// `sbpf swap`: another policy on a live sandbox.
#include <CLI/CLI.hpp>
#include <memory>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct SwapArgs {
  std::string name, policy;
  agent::SwapOptions options;
};

Result<int> swap(const SwapArgs& args, const Session& session) {
  auto loaded = load_policy(args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  auto status = agent::swap(args.name, loaded->policy, args.options);
  if (!status) return tl::unexpected<Error>(status.error());
  // Files that were kept on the operator's word are less than active, and asked for.
  return print_change(*status, session.json,
                      args.options.keep_open_files && status->isolation == agent::Isolation::degraded);
}

}  // namespace

void add_swap(CLI::App& app, Session& session) {
  auto args = std::make_shared<SwapArgs>();
  CLI::App* sub = app.add_subcommand("swap", "Change the policy of a live sandbox, in one step");
  sub->add_option("NAME", args->name, "The sandbox")->required();
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file")->type_name("POLICY")->required();
  auto* evict = sub->add_flag("--evict", args->options.evict,
                              "End the processes that have files open which the new policy forbids");
  sub->add_flag("--keep-open-files", args->options.keep_open_files,
                "Let the processes keep these files; the status is then degraded")
      ->excludes(evict);
  sub->add_flag("--json", session.json, "Print the status as JSON");
  sub->footer(
      "Example:\n  sbpf swap --policy ./verifier.yaml task-7\n\n"
      "One flip in the kernel: every operation is judged by the old policy or by the new one, never by none.\n"
      "If anything is wrong with the new policy, the old one stays in force.\n\n"
      "Connections that the new policy forbids are ended. If a file is already open or mapped, and only the old\n"
      "policy allows it, it is listed and the swap is refused, unless --evict ends its processes or\n"
      "--keep-open-files accepts it.");
  sub->callback([args, &session] { session.action = [args, &session] { return swap(*args, session); }; });
}

}  // namespace sbpf::cli
