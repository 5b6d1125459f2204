// SPDX-License-Identifier: Apache-2.0
// `sbpf detach`, `sbpf kill`, `sbpf unload`: what takes isolation away.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

struct DetachArgs {
  std::string name;
  bool all = false;
};

// One line on stderr, or with --json {"detached": NAME} on stdout.
Result<int> done(const char* what, const std::string& name, bool json) {
  if (!json) {
    tell(fmt::format("{} {}", what, printable(name)));
    return kExitOk;
  }
  const Json line = {{what, name}};
  if (auto printed = print(dump(line) + "\n"); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

Result<int> detach_one(const std::string& name, bool json) {
  auto detached = agent::detach(name);
  if (!detached) return tl::unexpected<Error>(detached.error());
  return done("detached", name, json);
}

// Goes on after a failure, so that one broken sandbox does not keep the others; the first failure is the answer.
Result<int> detach_all(bool json) {
  auto names = agent::list();
  if (!names) return tl::unexpected<Error>(names.error());
  ignore_broken_pipes();
  Result<int> answer = kExitOk;
  for (const std::string& name : names->names) {
    auto one = detach_one(name, json);
    if (one) continue;
    if (answer)
      answer = tl::unexpected<Error>(one.error());
    else
      tell(fmt::format("error: {}", printable(one.error().message)));
  }
  return answer;
}

Result<int> detach(const DetachArgs& args, bool json) {
  if (args.all == !args.name.empty())
    return fail("usage", "detach takes the name of a sandbox or --all", "`sbpf list` shows the names");
  return args.all ? detach_all(json) : detach_one(args.name, json);
}

Result<int> kill(const std::string& name, bool json) {
  auto killed = agent::kill(name);
  if (!killed) return tl::unexpected<Error>(killed.error());
  return done("killed", name, json);
}

Result<int> unload() {
  auto unloaded = agent::unload();
  if (!unloaded) return tl::unexpected<Error>(unloaded.error());
  if (*unloaded == 0)
    tell("unloaded");
  else
    tell(fmt::format(
        "unloaded, but {} programs stay attached: a process holds them (`sbpf run`, `sbpf events --follow`, sbpfd), "
        "or another pin or link",
        *unloaded));
  return kExitOk;
}

}  // namespace

void add_detach(CLI::App& app, Session& session) {
  auto args = std::make_shared<DetachArgs>();
  CLI::App* sub = app.add_subcommand("detach", "Take the policy off a sandbox");
  sub->add_option("NAME", args->name, "The sandbox");
  sub->add_flag("--all", args->all, "All sandboxes");
  sub->add_flag("--json", session.json, "Print one JSON object for each");
  sub->footer(
      "Examples:\n  sbpf detach web\n  sbpf detach --all\n\n"
      "A sandbox made by `sbpf run` ends with all its processes. The processes of an attached cgroup go on, and\n"
      "NOTHING confines them any more; `sbpf kill` ends them too.");
  sub->callback([args, &session] { session.action = [args, &session] { return detach(*args, session.json); }; });
}

void add_kill(CLI::App& app, Session& session) {
  auto name = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("kill", "Kill every process of a sandbox and take it down");
  sub->add_option("NAME", *name, "The sandbox")->required();
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer("Example:\n  sbpf kill task-7");
  sub->callback([name, &session] { session.action = [name, &session] { return kill(*name, session.json); }; });
}

void add_unload(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("unload", "Remove sbpf's programs from the kernel, if no sandbox is left");
  sub->footer("Example:\n  sbpf detach --all && sbpf unload");
  sub->callback([&session] { session.action = unload; });
}

}  // namespace sbpf::cli
