// SPDX-License-Identifier: Apache-2.0
// `sbpf status` and `sbpf verify`: the kernel's answer, and an exit code that a script can trust.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/run_user.h"
#include "cli/service_client.h"
#include "policy/filesystem.h"

namespace sbpf::cli {
namespace {

struct StatusArgs {
  std::string name;
  std::string require;
  bool brief = false;
  bool policy = false;
};

Json one_json(const agent::Status& status, const StatusArgs& args) {
  return args.brief ? short_status_json(status) : status_json(status);
}

std::string text_of(std::span<const agent::Status> statuses, const StatusArgs& args) {
  if (!args.brief) return status_table(statuses);
  std::string text;
  for (const agent::Status& status : statuses) text += short_status(status);
  return text;
}

// A user's own sandbox, by way of sbpfd, which asks the kernel now.
Result<int> status_for_user(const StatusArgs& args, const Session& session) {
  if (args.name.empty()) return fail("usage", "the status of all sandboxes is for root", "name one of `sbpf list`");
  const auto path = sandbox_path(args.name);
  if (!path) return tl::unexpected<Error>(path.error());
  auto service = ServiceClient::connect(usual_socket());
  if (!service) return tl::unexpected<Error>(service.error());
  const auto whole = service->get(*path);
  if (!whole) return tl::unexpected<Error>(whole.error());
  const Json brief = short_status_json(*whole);
  std::string text = fmt::format("{} {}", text_in(brief, "sandbox"), text_in(brief, "isolation"));
  for (const Json& reason : brief.at("reasons")) text += fmt::format("; {}", reason.get<std::string>());
  text = session.json ? pretty(args.brief ? brief : *whole) : printable(text) + "\n";
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return whole->value("isolation_active", Json(false)) == true ? kExitOk : kExitLess;
}

Result<int> status_of_all(const StatusArgs& args, const Session& session) {
  auto statuses = agent::statuses();
  if (!statuses) return tl::unexpected<Error>(statuses.error());
  std::string text = statuses->empty() ? "no sandboxes\n" : text_of(*statuses, args);
  if (session.json) {
    Json list = Json::array();
    for (const agent::Status& status : *statuses) list.push_back(one_json(status, args));
    text = pretty({{"sandboxes", list}});
  }
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  // Of no sandbox at all, none is active: whoever requires it expected one.
  if (statuses->empty()) return args.require.empty() ? kExitOk : kExitLess;
  return std::ranges::all_of(*statuses, is_active) ? kExitOk : kExitLess;
}

// The policy in force, whose name and digest the status has.
Result<int> show_policy(const StatusArgs& args, const Session& session) {
  if (args.name.empty()) return fail("usage", "--show-policy is of one sandbox", "name one of `sbpf list`");
  const auto in_force = ::geteuid() != 0 ? policy_of_user(args.name, usual_socket())
                                         : agent::policy_in_force(args.name).map([](auto&& found) {
                                             return UsersPolicy{std::move(found.policy), found.mounts};
                                           });
  if (!in_force) return tl::unexpected<Error>(in_force.error());
  const std::string text = policy::canonical(in_force->policy);
  const Json json = {{"policy_text", text},
                     {"sha256", policy::hex(policy::sha256(in_force->policy))},
                     {"mount_namespace", in_force->mounts}};
  if (auto printed = print(session.json ? pretty(json) : text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

Result<int> status(const StatusArgs& args, const Session& session) {
  if (args.policy) return show_policy(args, session);
  if (::geteuid() != 0) return status_for_user(args, session);
  if (args.name.empty()) return status_of_all(args, session);
  auto status = agent::status(args.name, false);
  if (!status) return tl::unexpected<Error>(status.error());
  const std::string text = session.json ? pretty(one_json(*status, args)) : text_of({&*status, 1}, args);
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return is_active(*status) ? kExitOk : kExitLess;
}

Result<int> verify(const std::string& name, const Session& session) {
  auto status = agent::status(name, true);
  if (!status) return tl::unexpected<Error>(status.error());
  const auto count = [&](const char* verdict) {
    return static_cast<std::size_t>(
        std::ranges::count(status->hooks, std::string(verdict), &agent::HookStatus::canary));
  };
  // Unreachable: the kernel lacks the protocol, so there is nothing to deny. Not run is not proven.
  const std::size_t denied = count("denied"), unreachable = count("unreachable"),
                    total = agent::hooks_of(status->flags & ~SBPF_SANDBOX_FLOWS).size();
  const bool proven = is_active(*status) && denied + unreachable == total;
  std::string text = fmt::format("{}\ncanaries denied: {}/{}", status_table({&*status, 1}), denied, total);
  if (unreachable > 0) text += ", " + std::to_string(unreachable) + " of protocols that this kernel lacks";
  text += proven ? "\nisolation is verified\n" : "\nisolation is NOT verified\n";
  if (session.json) {
    Json json = status_json(*status);
    json["verified"] = proven;
    text = pretty(json);
  }
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return proven ? kExitOk : kExitLess;
}

}  // namespace

void add_status(CLI::App& app, Session& session) {
  auto args = std::make_shared<StatusArgs>();
  CLI::App* sub = app.add_subcommand("status", "Show the state of a sandbox, as the kernel reports it now");
  sub->add_option("NAME", args->name, "The sandbox (default: all)");
  sub->add_option("--require", args->require,
                  "Exit with 3 unless the sandbox has this level; also if that cannot be determined")
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"active"}));
  sub->add_flag("--show-policy", args->policy, "Print the policy in force instead, as YAML");
  sub->add_flag("--short", args->brief, "Show only the level of each sandbox, and why it is not active");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer(
      "Examples:\n  sbpf status\n  sbpf status task-7 --require active --json | jq .isolation_active\n\n"
      "Every hook is read back from the kernel: its program, its link, its cgroup. The exit code is 3 if isolation is\n"
      "not active: a hook is missing, or the policy's mode is audit.");
  sub->callback([args, &session] {
    // What is required and cannot be shown is not there.
    session.less_if = args->require.empty() ? "no_such_sandbox" : "*";
    session.action = [args, &session] { return status(*args, session); };
  });
}

void add_verify(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("verify", "Show the status, and run a canary that each hook must deny");
  sub->add_option("NAME", *name, "The sandbox")->required();
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer(
      "Example:\n  sbpf verify task-7\n\nThe exit code is 3 unless every hook is attached and denied its canary.");
  sub->callback([name, &session] {
    session.less_if = "*";
    session.action = [name, &session] { return verify(*name, session); };
  });
}

}  // namespace sbpf::cli
