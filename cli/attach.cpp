// SPDX-License-Identifier: Apache-2.0
// `sbpf attach`: a policy on a cgroup that another runtime made.
#include <CLI/CLI.hpp>
#include <memory>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct AttachArgs {
  agent::AttachOptions options;
  std::string policy;
};

Result<int> attach(const AttachArgs& args, const Session& session) {
  auto loaded = load_policy(args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  auto status = agent::attach(loaded->policy, args.options);
  if (!status) return tl::unexpected<Error>(status.error());
  // Sockets that were kept on the operator's word are less than active, and asked for.
  const bool kept = args.options.keep_open_sockets && status->isolation == agent::Isolation::degraded;
  return print_change(*status, session.json, kept);
}

constexpr const char* kAttachFooter = R"(Example:
  sbpf attach --cgroup /sys/fs/cgroup/system.slice/docker-ID.scope --policy untrusted --name web
  sbpf attach --cgroup /sys/fs/cgroup/system.slice/web.service --policy web --keep
  sbpf detach web

Running processes are frozen while the policy is put in place. A socket that is already open and that the policy
forbids is listed and refuses the attach, unless --evict ends it or --keep-open-sockets accepts it.

Without --keep the sandbox ends with the cgroup: systemd removes it when the unit stops, and the next one of that name is
not confined. Use --keep for units that start again; a container's cgroup never comes back.)";

}  // namespace

void add_attach(CLI::App& app, Session& session) {
  auto args = std::make_shared<AttachArgs>();
  CLI::App* sub = app.add_subcommand("attach", "Put a policy on an existing cgroup and all below it");
  sub->add_option("-c,--cgroup", args->options.cgroup, "Directory of a cgroup (v2)")->type_name("PATH")->required();
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file")->type_name("POLICY")->required();
  sub->add_option("-n,--name", args->options.name, "Name of the sandbox (default: from the path)")->type_name("NAME");
  sub->add_flag("--evict", args->options.evict, "End open TCP and UDP connections that the policy forbids");
  sub->add_flag("--keep-open-sockets", args->options.keep_open_sockets,
                "Accept open sockets that the policy forbids; status then says degraded");
  sub->add_flag("--keep", args->options.keep,
                "Keep the cgroup: a unit that starts again starts confined, until `sbpf detach`");
  sub->add_flag("--json", session.json, "Print the status as JSON");
  sub->footer(kAttachFooter);
  sub->callback([args, &session] { session.action = [args, &session] { return attach(*args, session); }; });
}

}  // namespace sbpf::cli
