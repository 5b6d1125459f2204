// SPDX-License-Identifier: Apache-2.0
// `sbpf attach`: a policy on a cgroup that another runtime made. `sbpf reattach`: an assignment, in force again.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "agent/agent.h"
#include "agent/host/paths.h"
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
  sbpf attach --cgroup /sys/fs/cgroup/docker-ID.scope --policy untrusted -n web
  sbpf attach --cgroup /sys/fs/cgroup/web.service --policy web --keep
  sbpf detach web

Running processes are frozen while the policy is put in place. If an open socket is forbidden by the policy, it is
listed and the attach is refused, unless --evict ends it or --keep-open-sockets accepts it.

Without --keep the sandbox ends with the cgroup. systemd removes the cgroup when the unit stops, and the next
cgroup of that name is not confined. Use --keep for units that start again; a container's cgroup never comes back.)";

constexpr const char* kReattachFooter = R"(Example:
  sbpf reattach web

An assignment is made by `sbpf attach --keep` or the API. This command puts it in force again after a restart of
the host, before its unit starts. Where sbpf is installed as a package, systemd does so by sbpf-assigned@NAME.service.
An assignment already in force is unchanged. The exit code is 0 if the cgroup is confined, even if degraded.)";

// The programs in the kernel may be those of an executable that an upgrade kept (docs/GUARD.md): it manages what is
// assigned, too. Returns where there is none.
void become_kept_agent(const std::string& name) {
  std::error_code ec;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", ec);
  for (const auto& entry : std::filesystem::directory_iterator(agent::kKeptAgents, ec))
    if (entry.path() != own) ::execl(entry.path().c_str(), "sbpf", "reattach", name.c_str(), nullptr);
}

Result<int> reattach(const std::string& name, bool if_assigned, bool json) {
  auto status = agent::reattach(name);
  if (!status && status.error().code == "no_such_sandbox" && if_assigned) return kExitOk;
  if (!status && (status.error().code == "not_the_agent" || status.error().code == "stale_programs"))
    become_kept_agent(name);
  if (!status) return tl::unexpected<Error>(status.error());
  return print_change(*status, json, status->isolation == agent::Isolation::degraded);
}

}  // namespace

void add_attach(CLI::App& app, Session& session) {
  auto args = std::make_shared<AttachArgs>();
  CLI::App* sub = app.add_subcommand("attach", "Put a policy on an existing cgroup and all below it");
  sub->add_option("-c,--cgroup", args->options.cgroup, "Directory of a cgroup (v2)")->type_name("PATH")->required();
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file")->type_name("POLICY")->required();
  sub->add_option("-n,--name", args->options.name, "Name of the sandbox (default: taken from the path)")
      ->type_name("NAME");
  sub->add_flag("--evict", args->options.evict, "End open TCP and UDP connections that the policy forbids");
  sub->add_flag("--keep-open-sockets", args->options.keep_open_sockets,
                "Accept open sockets that the policy forbids; the status is then degraded");
  sub->add_flag("--keep", args->options.keep,
                "Keep the cgroup: a unit that starts again starts confined, until `sbpf detach`");
  sub->add_flag("--json", session.json, "Print the status as JSON");
  sub->footer(kAttachFooter);
  sub->callback([args, &session] { session.action = [args, &session] { return attach(*args, session); }; });
}

void add_reattach(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("reattach", "Put an assignment in force again, as after a restart of the host");
  sub->add_option("NAME", *name, "The sandbox")->required();
  auto if_assigned = std::make_shared<bool>(false);
  sub->add_flag("--if-assigned", *if_assigned,
                "Do nothing, and report no error, if nothing is assigned under this name");
  sub->add_flag("--json", session.json, "Print the status as JSON");
  sub->footer(kReattachFooter);
  sub->callback([name, if_assigned, &session] {
    session.action = [name, if_assigned, &session] { return reattach(*name, *if_assigned, session.json); };
  });
}

}  // namespace sbpf::cli
