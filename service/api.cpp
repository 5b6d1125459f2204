// SPDX-License-Identifier: Apache-2.0
#include "service/api.h"

#include <fmt/core.h>
#include <boost/asio.hpp>
#include <memory>

#include "base/fd.h"
#include "service/log.h"
#include "service/sbpf.h"

namespace sbpf::service {
namespace {

Json error_json(const Error& error) {
  return {{"code", error.code.text()}, {"message", error.message}, {"hint", error.hint}};
}

std::string sha_of(const Json& status) { return status.value("policy", Json::object()).value("sha256", ""); }

double seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Result<void> Api::permit(const Peer& peer, Wants what) const {
  auto cgroup = cgroup_of(peer.pid);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  if (const std::string inside = sandbox_of(*cgroup, core_.cgroup_root, core_.world.sandboxes()); !inside.empty())
    return fail("peer_sandboxed", fmt::format("the caller is inside the sandbox {}", inside),
                "sandboxes do not talk to sbpfd");
  if (auto allowed = may(peer, what, core_.group); !allowed) return allowed;
  // Without the watch it is not known which cgroups are sandboxes.
  if (what != Wants::read && !core_.watch_alive())
    return fail("watch_stalled", "sbpfd does not know how the sandboxes stand: its watch made no pass of late",
                "try again in a second; `sbpf` itself works without sbpfd");
  return {};
}

Result<void> Api::permit_owner(const Peer& peer, const std::string& sandbox) const {
  if (peer.uid == 0 || runs_.owned_by(sandbox, peer.uid)) return {};
  return fail(
      "not_permitted",
      fmt::format("the events, the policy and the processes of {} are for root and for whose run it is, and the caller "
                  "has uid {}",
                  sandbox, peer.uid),
      "call as its owner, or as root");
}

Result<void> Api::known(const std::string& sandbox) const {
  // A run is known before the watch has seen it.
  if (core_.world.sandboxes().contains(sandbox) || core_.assignments.runs().contains(sandbox)) return {};
  return fail("no_such_sandbox", fmt::format("no sandbox is named {}", sandbox), "GET /v1/sandboxes lists the names");
}

asio::awaitable<Reply> Api::answer(Route route, std::string body) {
  switch (route.asks) {
    case Asks::preflight:
      co_return co_await preflight();
    case Asks::sandboxes:
      co_return sandboxes();
    case Asks::sandbox:
      co_return co_await sandbox(std::move(route.name));
    case Asks::policy_of:
      co_return co_await policy_of(std::move(route.name));
    case Asks::policies:
      co_return co_await policies();
    case Asks::metrics:
      if (!core_.config.metrics)
        co_return reply_of(
            Error{"no_such_path", "metrics are switched off", "set `metrics: true` in sbpfd.yaml", 0, "", false});
      co_return Reply{200, "text/plain; version=0.0.4; charset=utf-8",
                      core_.metrics.text(core_.world.age(Clock::now()))};
    case Asks::health:
      co_return health();
    case Asks::attach:
    case Asks::swap:
      co_return co_await attach_or_swap(std::move(route), std::move(body));
    case Asks::detach:
      co_return co_await detach(std::move(route));
    case Asks::run:
    case Asks::exec:
    case Asks::events:
      break;  // they last, or are of the peer's own process: server.cpp
  }
  co_return reply_of(Error{"no_such_path", "this cannot be answered at once", "", 0, "", false});
}

asio::awaitable<Result<Json>> Api::sbpf(std::vector<std::string> arguments, int policy_fd, bool ends_with_us) {
  Command command;
  command.arguments = std::move(arguments);
  command.arguments.insert(command.arguments.begin(), core_.sbpf);
  command.policy_fd = policy_fd;
  command.ends_with_us = ends_with_us;
  co_return co_await ask(core_.context, std::move(command), core_.config.limits.request);
}

Reply Api::health() const {
  const auto age = core_.world.age(Clock::now());
  const bool well = core_.watch_alive() && *age < std::chrono::seconds(2);
  Json body = {{"ok", well}};
  body["last_pass_age_seconds"] = age ? Json(seconds(*age)) : Json(nullptr);
  return {well ? 200u : 503u, "application/json", text(body)};
}

Json Api::with_policy_error(Json sandbox, const std::string& name) const {
  if (const auto run = core_.assignments.runs().find(name); run != core_.assignments.runs().end())
    sandbox["owner"] = run->second.uid;
  const auto assigned = core_.assignments.all().find(name);
  if (assigned == core_.assignments.all().end()) return sandbox;
  sandbox["follows"] = assigned->second.policy;
  const auto& policies = core_.policies->all();
  const auto file = policies.find(assigned->second.policy);
  if (file == policies.end() && !policies.empty())
    sandbox["policy_error"] =
        error_json({"no_such_policy", fmt::format("the file of policy {} is gone", assigned->second.policy),
                    "the last policy stays in force", 0, "", false});
  else if (file != policies.end() && !file->second.valid)
    sandbox["policy_error"] = error_json(file->second.error);
  else if (const auto failed = swap_errors_.find(name); failed != swap_errors_.end())
    sandbox["policy_error"] = error_json(failed->second);
  return sandbox;
}

Reply Api::sandboxes() const {
  if (!core_.watch_alive())
    return reply_of(Error{"watch_stalled",
                          "sbpfd does not know how the sandboxes stand: its watch made no pass of late",
                          "try again in a second; `sbpf status` asks the kernel", 0, "", true});
  Json list = Json::array();
  for (const auto& [name, sandbox] : core_.world.sandboxes()) list.push_back(with_policy_error(sandbox, name));
  const Json body = {{"sandboxes", list}, {"verified_age_seconds", seconds(*core_.world.age(Clock::now()))}};
  return {200, "application/json", text(body)};
}

asio::awaitable<Reply> Api::preflight() {
  // It loads everything anew: not something to be had many times at once.
  if (preflight_runs_)
    co_return reply_of(Error{"too_many", "a preflight runs already", "ask again when it is done", 0, "", true});
  preflight_runs_ = true;
  const std::shared_ptr<void> done(nullptr, [this](void*) { preflight_runs_ = false; });
  std::vector<std::string> arguments = {"preflight", "--json"};
  Result<Json> answer = co_await sbpf(std::move(arguments));
  if (!answer) co_return reply_of(answer.error());
  co_return Reply{200, "application/json", text(*answer)};
}

asio::awaitable<Reply> Api::policies() {
  auto scanned = co_await core_.policies->scan(core_.config.limits.request);
  if (!scanned) co_return reply_of(scanned.error());
  if (!scanned->empty()) co_await follow_policies();
  Json list = Json::array();
  for (const auto& [name, file] : core_.policies->all()) {
    Json one = {{"name", name}, {"origin", file.path.empty() ? "built-in" : file.path}, {"valid", file.valid}};
    if (file.valid)
      one["sha256"] = file.sha256;
    else
      one["error"] = error_json(file.error);
    list.push_back(std::move(one));
  }
  const Json body = {{"policies", list}};
  co_return Reply{200, "application/json", text(body)};
}

asio::awaitable<Reply> Api::sandbox(std::string name) {
  std::vector<std::string> arguments = {"status", name, "--json"};
  Result<Json> status = co_await sbpf(std::move(arguments));
  if (!status) co_return reply_of(status.error());
  co_return Reply{200, "application/json", text(with_policy_error(std::move(*status), name))};
}

asio::awaitable<Reply> Api::policy_of(std::string name) {
  std::vector<std::string> arguments = {"status", name, "--show-policy", "--json"};
  Result<Json> policy = co_await sbpf(std::move(arguments));
  if (!policy) co_return reply_of(policy.error());
  co_return Reply{200, "application/json", text(*policy)};
}

asio::awaitable<Reply> Api::attach_or_swap(Route route, std::string body) {
  const bool attaches = route.asks == Asks::attach;
  auto change = parse_change(body, route.asks);
  if (!change) co_return reply_of(change.error());
  const std::string name = attaches ? change->name : route.name;
  if (core_.directory->being_written().contains(change->policy + ".yaml"))
    co_return reply_of(Error{"busy", fmt::format("the file of policy {} is being written", change->policy),
                             "try again when it is", 0, "", true});
  Fd file;
  std::string reference = "/proc/self/fd/3";
  if (change->policy.empty()) {
    auto made = text_file(change->policy_text);
    if (!made) co_return reply_of(made.error());
    file = std::move(*made);
  } else {
    reference = core_.policies->reference(change->policy);
  }
  std::vector<std::string> arguments;
  if (attaches)
    arguments = {"attach", "--json", "--cgroup=" + change->cgroup, "--policy=" + reference, "--name=" + name};
  if (attaches && change->keep) arguments.emplace_back("--keep");
  if (!attaches) arguments = {"swap", "--json", "--policy=" + reference, name};
  if (change->open == Change::Open::evict) arguments.emplace_back("--evict");
  if (change->open == Change::Open::keep)
    arguments.emplace_back(attaches ? "--keep-open-sockets" : "--keep-open-files");
  // It goes on if this service dies meanwhile: a sandbox is as it was, or as it was to become.
  Result<Json> status = co_await sbpf(std::move(arguments), file.get(), false);
  if (!status) co_return reply_of(for_caller(status.error()));

  swap_errors_.erase(name);
  auto kept =
      change->policy.empty()
          ? core_.assignments.remove(name)
          : core_.assignments.set(name, {change->policy, status->value("instance", std::uint64_t{0}), sha_of(*status)});
  if (!kept) log::error(fmt::format("sandbox {}", name), kept.error(), {{"SANDBOX", name}});
  log::info((attaches ? "attached " : "swapped ") + name,
            {{"SANDBOX", name}, {"POLICY", change->policy.empty() ? "(text)" : change->policy}});
  const bool accepted = change->open == Change::Open::keep && status->value("isolation", "") == "degraded";
  if (accepted || !less_than_asked(*status))
    co_return Reply{attaches ? 201u : 200u, "application/json", text(with_policy_error(std::move(*status), name))};
  Json less = {{"error", error_json({"less_isolation",
                                     fmt::format("sandbox {} has less isolation than its policy asks for", name),
                                     "see `degraded` of `sandbox`", 0, "", false})}};
  less["sandbox"] = std::move(*status);
  co_return Reply{500, "application/json", text(less)};
}

asio::awaitable<Reply> Api::detach(Route route) {
  std::vector<std::string> arguments = {route.kill ? "kill" : "detach", "--json", route.name};
  Result<Json> done = co_await sbpf(std::move(arguments), -1, false);
  if (!done) co_return reply_of(done.error());
  forget(route.name);
  log::info((route.kill ? "killed " : "detached ") + route.name, {{"SANDBOX", route.name}});
  co_return Reply{200, "application/json", text(*done)};
}

void Api::forget(const std::string& sandbox) {
  swap_errors_.erase(sandbox);
  if (auto removed = core_.assignments.remove(sandbox); !removed)
    log::error(fmt::format("sandbox {}", sandbox), removed.error(), {{"SANDBOX", sandbox}});
}

asio::awaitable<void> Api::follow_policies() {
  if (following_) {
    follow_again_ = true;
    co_return;
  }
  following_ = true;
  const std::shared_ptr<void> done(nullptr, [this](void*) { following_ = false; });
  do {
    follow_again_ = false;
    // A policy may extend the one that is half written. The end of the write is told, too.
    if (!core_.directory->being_written().empty()) co_return;
    auto changed = co_await core_.policies->scan(core_.config.limits.request);
    if (!changed) {
      log::error("policies", changed.error());
      core_.metrics.policy_error();
      co_return;
    }
    for (const std::string& name : *changed) {
      const PolicyFile& file = core_.policies->all().at(name);
      if (file.path.empty()) continue;
      if (file.valid) {
        log::info(fmt::format("policy {} is read", name), {{"POLICY", name}, {"SHA256", file.sha256}});
      } else {
        log::error(fmt::format("policy {} is refused, and what was in force stays", name), file.error,
                   {{"POLICY", name}});
        core_.metrics.policy_error();
      }
    }
    const auto assigned = core_.assignments.all();  // a copy: requests go on meanwhile
    for (const auto& [sandbox, assignment] : assigned) co_await follow(sandbox, assignment);
  } while (follow_again_);
}

// That the sandbox has this policy by now.
void Api::note(const std::string& sandbox, Assignment assignment, const std::string& sha256) {
  const auto known = core_.assignments.all().find(sandbox);
  if (known == core_.assignments.all().end() || known->second.instance != assignment.instance ||
      known->second.sha256 == sha256)
    return;
  assignment.sha256 = sha256;
  if (auto kept = core_.assignments.set(sandbox, std::move(assignment)); !kept)
    log::error(fmt::format("sandbox {}", sandbox), kept.error(), {{"SANDBOX", sandbox}});
}

asio::awaitable<void> Api::follow(std::string sandbox, Assignment assignment) {
  const auto file = core_.policies->all().find(assignment.policy);
  const auto known = core_.world.sandboxes().find(sandbox);
  if (file == core_.policies->all().end() || !file->second.valid || known == core_.world.sandboxes().end()) co_return;
  const std::string wanted = file->second.sha256;
  if (known->second.value("policy_sha256", "") == wanted && !swap_errors_.contains(sandbox)) co_return;
  std::vector<std::string> arguments = {"status", sandbox, "--json"};
  Result<Json> now = co_await sbpf(std::move(arguments));
  if (!now) co_return;  // gone, as the watch will tell
  if (now->value("instance", std::uint64_t{0}) != assignment.instance) co_return forget(sandbox);
  swap_errors_.erase(sandbox);
  const log::Fields fields = {{"SANDBOX", sandbox}, {"POLICY", assignment.policy}};
  const std::string sha256 = sha_of(*now);
  if (sha256 == wanted) co_return note(sandbox, std::move(assignment), wanted);
  if (sha256 != assignment.sha256) {
    const auto current = core_.assignments.all().find(sandbox);
    if (current == core_.assignments.all().end() || current->second.sha256 != assignment.sha256)
      co_return;  // a request did it meanwhile
    log::warning(
        fmt::format("sandbox {} follows its policy's file no longer: `sbpf swap` gave it another policy", sandbox),
        fields);
    co_return forget(sandbox);
  }
  arguments = {"swap", "--json", "--policy=" + core_.policies->reference(assignment.policy), sandbox};
  Result<Json> swapped = co_await sbpf(std::move(arguments), -1, false);
  if (swapped) {
    log::info(fmt::format("sandbox {} follows its changed policy", sandbox), fields);
    co_return note(sandbox, std::move(assignment), wanted);
  }
  if (swapped.error().code == "no_such_sandbox") co_return;
  log::error(fmt::format("sandbox {} keeps the policy that it had", sandbox), swapped.error(), fields);
  core_.metrics.policy_error();
  swap_errors_[sandbox] = swapped.error();
}

}  // namespace sbpf::service
