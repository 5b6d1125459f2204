// SPDX-License-Identifier: Apache-2.0
// `sbpf watch`: what the watch over all sandboxes sees and does, a line at a time.
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "agent/commands/watch.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/outlet.h"

namespace sbpf::cli {
namespace {

Json sandbox_json(const agent::Status& status, std::int64_t canary_at) {
  Json degraded = Json::array();
  for (const agent::Degradation& d : status.degraded)
    degraded.push_back(
        {{"what", d.what}, {"requested", d.requested}, {"effective", d.effective}, {"reason", d.reason}});
  return {{"name", status.sandbox},
          {"cgroup", status.cgroup},
          {"instance", status.instance},
          {"isolation", agent::to_string(status.isolation)},
          {"generation", status.generation},
          {"policy_name", status.policy_name},
          {"policy_sha256", status.policy_sha256},
          {"mode", status.mode == policy::Mode::audit ? "audit" : "enforce"},
          {"on_loss", policy::to_string(status.on_loss)},
          {"frozen", status.frozen},
          {"kept", status.kept},
          {"hooks_attached", status.hooks_attached()},
          {"hooks_total", status.hooks.size()},
          {"degraded", degraded},
          {"events", status.events},
          {"lost_full", status.lost_full},
          {"lost_rate", status.lost_rate},
          {"denied", denied_json(status)},
          {"canary_at", canary_at == 0 ? Json() : Json(format_time(canary_at))}};
}

constexpr std::size_t kRoom = 16 << 20;  // several times what a thousand sandboxes are told in
constexpr std::chrono::seconds kPatience{1};

// Whoever reads may go away, or stop: the sandboxes are watched on.
class Told {
 public:
  void line(const std::string& text) { (void)out_.line(text, Outlet::Weight::important); }
  void json(const Json& json) { line(dump(json)); }
  // As report(): what is wrong goes to stderr.
  void error(const Error& error) {
    (void)error_.line(fmt::format("sbpf: error: {}", printable(error.message)), Outlet::Weight::important);
    if (!error.hint.empty())
      (void)error_.line(fmt::format("  hint: {}", printable(error.hint)), Outlet::Weight::important);
  }
  void go_on() {
    (void)out_.flush();
    (void)error_.flush();
  }
  void finish() {
    (void)out_.finish(kPatience);
    (void)error_.finish(kPatience);
  }

 private:
  static std::string missing(std::uint64_t lines) { return dump(Json::object({{"untold", lines}})); }

  Outlet out_{STDOUT_FILENO, missing, kRoom}, error_{STDERR_FILENO, missing};
};

agent::WatchSink json_sink(Told& told) {
  const auto put = [&told](const Json& json) { told.json(json); };
  agent::WatchSink sink;
  sink.pass = [&told, put](const agent::WatchPass& pass) {
    told.go_on();
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
  sink.sandbox = [put](const agent::Status& status, std::int64_t canary_at) {
    put({{"sandbox", sandbox_json(status, canary_at)}});
  };
  sink.gone = [put](const std::string& name) { put({{"gone", {{"name", name}}}}); };
  sink.loss = [put](const agent::WatchLoss& loss) {
    put({{"loss",
          {{"sandbox", loss.sandbox},
           {"hooks", loss.hooks},
           {"reasons", loss.reasons},
           {"on_loss", policy::to_string(loss.on_loss)},
           {"answered", loss.answered},
           {"at", format_time(loss.at)}}}});
  };
  sink.restored = [put](const agent::WatchRestored& back) {
    put({{"restored",
          {{"sandbox", back.sandbox},
           {"lost_at", format_time(back.lost_at)},
           {"restored_at", format_time(back.restored_at)},
           {"hooks", back.hooks}}}});
  };
  sink.error = [&told, put](const Error& error) {
    told.error(error);
    put(Json::parse(error_json(error)));
  };
  return sink;
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

agent::WatchSink text_sink(Told& told) {
  const auto say = [&told](std::int64_t at, const std::string& sandbox, const std::string& what) {
    told.line(fmt::format("{} {}: {}", format_time(at), printable(sandbox), printable(what)));
  };
  agent::WatchSink sink;
  sink.pass = [&told](const agent::WatchPass&) { told.go_on(); };
  // Counters alone are no news to a person.
  auto last = std::make_shared<std::map<std::string, std::string>>();
  sink.sandbox = [last, say](const agent::Status& status, std::int64_t) {
    const std::string line = headline(status) + (status.frozen ? " frozen" : "");
    if (std::exchange((*last)[status.sandbox], line) != line) say(now(), status.sandbox, line);
  };
  sink.gone = [last, say](const std::string& name) {
    last->erase(name);
    say(now(), name, "gone");
  };
  sink.loss = [say](const agent::WatchLoss& loss) {
    std::string what;
    for (std::size_t i = 0; i < loss.hooks.size(); i++)
      what += fmt::format("{}{}: {}", what.empty() ? "" : "; ", loss.hooks[i], loss.reasons[i]);
    say(loss.at, loss.sandbox, fmt::format("isolation lost ({}): {}", what, loss.answered));
  };
  sink.restored = [say](const agent::WatchRestored& back) {
    say(back.restored_at, back.sandbox,
        fmt::format("isolation restored: between {} and now, missing were {}", format_time(back.lost_at),
                    joined(back.hooks)));
  };
  sink.error = [&told](const Error& error) { told.error(error); };
  return sink;
}

}  // namespace

void add_watch(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("watch", "Watch every sandbox, answer losses and repair them");
  sub->add_flag("--json", session.json, "Print JSON, one object a line");
  sub->footer(
      "Example:\n  sbpf watch --json | jq -c 'select(.loss)'\n\n"
      "Twice a second the watch reads back every link, pin, policy and setting of every sandbox from the kernel,\n"
      "those of `sbpf attach` included. Once a minute each sandbox gets a canary. The watch answers a loss by the\n"
      "policy's on_loss within a second, and repairs it. A frozen sandbox stays frozen. The watch ends on SIGTERM,\n"
      "on SIGINT, and at the end of its stdin if that is a pipe. See docs/WATCH.md.");
  sub->callback([&session] {
    session.action = [&session]() -> Result<int> {
      ignore_broken_pipes();
      Told told;
      auto done = agent::watch(session.json ? json_sink(told) : text_sink(told));
      told.finish();
      if (!done) return tl::unexpected<Error>(done.error());
      return kExitOk;
    };
  });
}

}  // namespace sbpf::cli
