// SPDX-License-Identifier: Apache-2.0
// `sbpf watch`: what the watch over all sandboxes sees and does, a line at a time.
#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/watch.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

const char* on_loss_text(policy::OnLoss on_loss) {
  return on_loss == policy::OnLoss::kill ? "kill" : on_loss == policy::OnLoss::alert ? "alert" : "freeze";
}

Json sandbox_json(const agent::Status& status, std::int64_t canary_at) {
  Json degraded = Json::array(), denied = Json::object();
  for (const agent::Degradation& d : status.degraded)
    degraded.push_back(
        {{"what", d.what}, {"requested", d.requested}, {"effective", d.effective}, {"reason", d.reason}});
  for (const agent::Hook& hook : agent::hooks_of(status.flags))
    if (const std::uint64_t n = status.denied.at(static_cast<std::size_t>(hook.id)); n > 0) denied[hook.name] = n;
  return {{"name", status.sandbox},
          {"cgroup", status.cgroup},
          {"instance", status.instance},
          {"isolation", agent::to_string(status.isolation)},
          {"generation", status.generation},
          {"policy_name", status.policy_name},
          {"policy_sha256", status.policy_sha256},
          {"mode", status.mode == policy::Mode::audit ? "audit" : "enforce"},
          {"on_loss", on_loss_text(status.on_loss)},
          {"frozen", status.frozen},
          {"kept", status.kept},
          {"hooks_attached", status.hooks_attached()},
          {"hooks_total", status.hooks.size()},
          {"degraded", degraded},
          {"events", status.events},
          {"lost_full", status.lost_full},
          {"lost_rate", status.lost_rate},
          {"denied", denied},
          {"canary_at", canary_at == 0 ? Json() : Json(format_time(canary_at))}};
}

// Whoever reads may go away: the sandboxes are watched on.
void put(const Json& json) { (void)print(dump(json) + "\n"); }

agent::WatchSink json_sink(const Session& session) {
  agent::WatchSink sink;
  sink.pass = [](const agent::WatchPass& pass) {
    put({{"pass",
          {{"at", format_time(pass.at)},
           {"sandboxes", pass.sandboxes},
           {"active", pass.active},
           {"degraded", pass.degraded},
           {"inactive", pass.inactive},
           {"canary_age_s", pass.canary_age_s},
           {"duration_us", pass.duration_us},
           {"late_us", pass.late_us}}}});
  };
  sink.sandbox = [](const agent::Status& status, std::int64_t canary_at) {
    put({{"sandbox", sandbox_json(status, canary_at)}});
  };
  sink.gone = [](const std::string& name) { put({{"gone", {{"name", name}}}}); };
  sink.loss = [](const agent::WatchLoss& loss) {
    put({{"loss",
          {{"sandbox", loss.sandbox},
           {"hooks", loss.hooks},
           {"reasons", loss.reasons},
           {"on_loss", on_loss_text(loss.on_loss)},
           {"answered", loss.answered},
           {"at", format_time(loss.at)}}}});
  };
  sink.restored = [](const agent::WatchRestored& back) {
    put({{"restored",
          {{"sandbox", back.sandbox},
           {"lost_at", format_time(back.lost_at)},
           {"restored_at", format_time(back.restored_at)},
           {"hooks", back.hooks}}}});
  };
  sink.error = [&session](const Error& error) { report(error, session); };
  return sink;
}

void say(std::int64_t at, const std::string& sandbox, const std::string& what) {
  (void)print(format_time(at) + " " + printable(sandbox) + ": " + printable(what) + "\n");
}

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

agent::WatchSink text_sink(const Session& session) {
  agent::WatchSink sink;
  sink.pass = [](const agent::WatchPass&) {};
  // Counters alone are no news to a person.
  auto told = std::make_shared<std::map<std::string, std::string>>();
  sink.sandbox = [told](const agent::Status& status, std::int64_t) {
    const std::string line = headline(status) + (status.frozen ? " frozen" : "");
    if (std::exchange((*told)[status.sandbox], line) != line) say(now(), status.sandbox, line);
  };
  sink.gone = [told](const std::string& name) {
    told->erase(name);
    say(now(), name, "gone");
  };
  sink.loss = [](const agent::WatchLoss& loss) {
    std::string what;
    for (std::size_t i = 0; i < loss.hooks.size(); i++)
      what += (what.empty() ? "" : "; ") + loss.hooks[i] + ": " + loss.reasons[i];
    say(loss.at, loss.sandbox, "isolation lost (" + what + "): " + loss.answered);
  };
  sink.restored = [](const agent::WatchRestored& back) {
    say(back.restored_at, back.sandbox,
        "isolation restored: between " + format_time(back.lost_at) + " and now, missing were " + joined(back.hooks));
  };
  sink.error = [&session](const Error& error) { report(error, session); };
  return sink;
}

}  // namespace

void add_watch(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("watch", "Watch every sandbox, answer losses and repair them");
  sub->add_flag("--json", session.json, "Print JSON, one object a line");
  sub->footer(
      "Example:\n  sbpf watch --json | jq -c 'select(.loss)'\n\n"
      "Twice a second every link, pin, policy and setting of every sandbox is read back from the kernel, those of\n"
      "`sbpf attach` included; once a minute each sandbox gets a canary. What is missing is answered by the policy's\n"
      "on_loss within a second and put back. A frozen sandbox stays frozen. Ends on SIGTERM, SIGINT, and with its\n"
      "stdin if that is a pipe. See docs/WATCH.md.");
  sub->callback([&session] {
    session.action = [&session]() -> Result<int> {
      ignore_broken_pipes();
      auto done = agent::watch(session.json ? json_sink(session) : text_sink(session));
      if (!done) return tl::unexpected<Error>(done.error());
      return kExitOk;
    };
  });
}

}  // namespace sbpf::cli
