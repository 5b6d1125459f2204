// SPDX-License-Identifier: Apache-2.0
#include "cli/run_user.h"

#include <unistd.h>

#include <csignal>
#include <optional>

#include "agent/commands/exec_parts.h"
#include "agent/files/namespaces.h"
#include "agent/host/cgroup.h"
#include "agent/launch/run_options.h"
#include "agent/launch/supervisor.h"
#include "agent/launch/waiting_child.h"
#include "cli/format.h"
#include "cli/user_program.h"
#include "policy/filesystem.h"

namespace sbpf::cli {
namespace {

// What the policy and the options say of them. An audit changes nothing, here as well, but for --workspace.
agent::OwnPlaces places_for(const policy::Policy& policy, const agent::RunOptions& options) {
  agent::OwnPlaces own;
  own.workspace = options.workspace;
  if (policy.mode == policy::Mode::audit) return own;
  own.directories = policy::private_places(policy);
  own.network = policy.network.loopback == policy::Loopback::private_namespace;
  return own;
}

// The places of a live run that have other mounts than this process.
Result<std::optional<agent::OwnPlaces>> places_in(const std::string& path, std::uint64_t mounts,
                                                  const std::string& socket) {
  if (mounts == 0 || mounts == agent::mount_namespace("self")) return std::nullopt;
  auto service = ServiceClient::connect(socket);
  const auto status = service ? service->get(path) : tl::unexpected<Error>(service.error());
  if (!status) return tl::unexpected<Error>(status.error());
  const auto cgroup = agent::Cgroup::open(status->value("cgroup", ""));
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  const auto first = agent::first_program(*cgroup, mounts);
  if (!first) return tl::unexpected<Error>(first.error());
  agent::OwnPlaces own;
  own.joined = {*first, mounts};
  return own;
}

}  // namespace

Result<agent::RunResult> run_as_user(const policy::Policy& policy, const agent::RunOptions& options,
                                     const std::string& socket, const std::function<void(const Json&)>& on_active,
                                     const std::function<void(const Json&)>& on_denial,
                                     const std::function<void(const Json&)>& on_event) {
  if (auto usable = agent::check_workspace(policy, options); !usable) return tl::unexpected<Error>(usable.error());
  Json request = {{"policy_text", policy::canonical(policy)}};
  if (!options.name.empty()) request["name"] = options.name;
  auto program = confine_child({.policy = policy,
                                .options = options,
                                .places = places_for(policy, options),
                                .socket = socket,
                                .target = "/v1/runs",
                                .request = std::move(request),
                                .within = "",
                                .tells_calls = true});
  if (!program) return tl::unexpected<Error>(program.error());
  on_active(program->status);
  return finish_user_program(*program, policy, options, socket, on_denial, on_event);
}

Result<UsersPolicy> policy_of_user(const std::string& name, const std::string& socket) {
  const auto path = sandbox_path(name);
  if (!path) return tl::unexpected<Error>(path.error());
  auto service = ServiceClient::connect(socket);
  if (!service) return tl::unexpected<Error>(service.error());
  const auto answer = service->get(*path + "/policy");
  if (!answer) return tl::unexpected<Error>(answer.error());
  auto policy = policy::parse(text_in(*answer, "policy_text"), "sbpfd", [](std::string_view) { return std::nullopt; });
  if (!policy) return fail("service_lost", "sbpfd sent a policy that is none", policy::format(policy.error()));
  return UsersPolicy{std::move(*policy), answer->value("mount_namespace", std::uint64_t{0})};
}

namespace {

// A program that is to come into a live run, by the policies of which it begins.
Result<UserProgram> enter_run(const std::string& name, const UsersPolicy& in_force, const policy::Policy* own,
                              agent::RunOptions& start, const agent::ExecOptions& options, const std::string& socket) {
  start.argv = options.argv;
  auto env = options.environment(own != nullptr ? *own : in_force.policy, {::geteuid(), ::getegid(), {}});
  if (!env) return tl::unexpected<Error>(env.error());
  start.env = std::move(*env);
  const auto path = sandbox_path(name);
  if (!path) return tl::unexpected<Error>(path.error());
  auto places = places_in(*path, in_force.mounts, socket);
  if (!places) return tl::unexpected<Error>(places.error());
  Json request = Json::object();
  if (own != nullptr) request["policy_text"] = policy::canonical(*own);
  return confine_child({.policy = in_force.policy,
                        .own = own,
                        .options = start,
                        .places = std::move(*places),
                        .socket = socket,
                        .target = *path + "/processes",
                        .request = std::move(request),
                        .within = own != nullptr ? name : ""});
}

}  // namespace

Result<agent::ExecResult> exec_as_user(const std::string& name, const UsersPolicy& in_force,
                                       const agent::ExecOptions& options, const std::string& socket,
                                       const std::function<void(const Json&)>& on_active) {
  agent::RunOptions start;
  auto program = enter_run(name, in_force, nullptr, start, options, socket);
  if (!program) return tl::unexpected<Error>(program.error());
  auto& child = program->child;
  const agent::ForwardedSignals signals;
  on_active(program->status);
  if (auto started = child.go_on(); !started) return tl::unexpected<Error>(started.error());
  agent::ExecResult result = agent::wait_for_program(child.child(), signals, options);
  const auto cgroup = agent::Cgroup::open(program->status.value("cgroup", ""));
  result.sandbox_ended = result.signal == SIGKILL && (!cgroup || agent::has_ended(*cgroup));
  return result;
}

Result<agent::RunResult> exec_under_as_user(const std::string& name, const UsersPolicy& in_force,
                                            const policy::Policy& own, const agent::ExecOptions& options,
                                            agent::RunOptions supervised, const std::string& socket,
                                            const std::function<void(const Json&)>& on_active,
                                            const std::function<void(const Json&)>& on_denial) {
  auto program = enter_run(name, in_force, &own, supervised, options, socket);
  if (!program) return tl::unexpected<Error>(program.error());
  on_active(program->status);
  return finish_user_program(*program, own, supervised, socket, on_denial, nullptr);
}

}  // namespace sbpf::cli
