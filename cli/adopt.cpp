// SPDX-License-Identifier: Apache-2.0
// `sbpf adopt`: for sbpfd, which runs it for each POST /v1/runs. Not in --help: a person has `sbpf run`.
#include <CLI/CLI.hpp>
#include <memory>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct AdoptArgs {
  agent::AdoptOptions options;
  std::string policy;
};

Result<int> adopt(const AdoptArgs& args, const Session& session) {
  // Its process sets the seccomp filters itself. A path in the policy is a user's word, and is not read with root's
  // rights.
  auto loaded = load_policy(args.policy, false);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  auto status = agent::adopt(loaded->policy, args.options);
  if (!status) return tl::unexpected<Error>(status.error());
  return print_change(*status, session.json, false);
}

}  // namespace

void add_adopt(CLI::App& app, Session& session) {
  auto args = std::make_shared<AdoptArgs>();
  CLI::App* sub = app.add_subcommand("adopt", "Put another user's waiting process into a new sandbox (for sbpfd)");
  sub->group("");  // hidden
  sub->add_option("--name", args->options.name, "Name of the sandbox")->required();
  sub->add_option("--policy", args->policy, "Policy: a profile's name or a file")->required();
  sub->add_option("--pidfd", args->options.pidfd, "Descriptor of the process")->required();
  sub->add_option("--uid", args->options.uid, "Whose process it must be")->required();
  sub->add_option("--gid", args->options.gid, "Whose process it must be")->required();
  sub->add_option("--parent", args->options.parent, "Whose child it must be")->required();
  sub->add_flag("--json", session.json, "Print the status as JSON");
  sub->callback([args, &session] { session.action = [args, &session] { return adopt(*args, session); }; });
}

}  // namespace sbpf::cli
