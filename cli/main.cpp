// SPDX-License-Identifier: Apache-2.0
// sbpf: parses the command line, carries out one command, answers with an exit code.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "agent/agent.h"
#include "agent/host/descriptors.h"
#include "agent/host/inside_sandbox.h"
#include "agent/kernel/kernel.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "cli/help.h"

namespace sbpf::cli {
namespace {

constexpr const char* kMainFooter = R"(Examples:
  sbpf preflight                          can this host enforce everything?
  sbpf run -- ./untrusted                 no network
  sbpf run --policy ./task.yaml -- make test
  sbpf status --require active            for scripts
  sbpf explain --policy ./task.yaml connect 192.0.2.1:443

Exit codes:
  the program's own for `run` and `exec` (128+n for signal n)
  1    explain: the policy denies it; learn: the last run was not green
  2    the request is wrong: usage, policy, cgroup, or an unfit source to stage
  3    less isolation than required (status, verify, preflight)
  124  --timeout ran out
  125  sbpf itself failed; nothing was run unconfined
  126  the program could not be executed
  127  the program was not found

`sbpf COMMAND --help` has examples of each command.)";

// These need nothing of the kernel side, and work in a sandbox as elsewhere.
bool stands_alone(std::string_view command) {
  constexpr std::array<std::string_view, 5> kAlone = {"env", "explain", "stage", "policy", "completion"};
  return std::ranges::find(kAlone, command) != kAlone.end();
}

struct Command {
  std::string_view name;
  void (*add)(CLI::App& app, Session& session);
};

// In the order of --help.
constexpr std::array kCommands = {
    Command{"run", add_run},
    Command{"exec", add_exec},
    Command{"learn", add_learn},
    Command{"env", add_env},
    Command{"attach", add_attach},
    Command{"reattach", add_reattach},
    Command{"adopt", add_adopt},
    Command{"begin", add_begin},
    Command{"swap", add_swap},
    Command{"allow", add_allow},
    Command{"detach", add_detach},
    Command{"kill", add_kill},
    Command{"status", add_status},
    Command{"verify", add_verify},
    Command{"watch", add_watch},
    Command{"list", add_list},
    Command{"events", add_events},
    Command{"top", add_top},
    Command{"preflight", add_preflight},
    Command{"explain", add_explain},
    Command{"origin", add_origin},
    Command{"stage", add_stage},
    Command{"policy", add_policy},
    Command{"break-glass", add_break_glass},
    Command{"hand-over", add_hand_over},
    Command{"upgrade", add_upgrade},
    Command{"unload", add_unload},
    Command{"completion", add_completion},
};

// All of them are a tenth of what a start of `run` executes: where the first word names one, it is the only one.
void add_commands(CLI::App& app, Session& session, std::string_view first) {
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("sbpf {}\nprograms {}\nlayout {}", SBPF_VERSION,
                                                agent::programs_digest(), agent::layout_digest()));
  app.footer(kMainFooter);
  app.formatter(std::make_shared<HelpFormatter>());
  const auto named = std::ranges::find(kCommands, first, &Command::name);
  if (named != kCommands.end()) return named->add(app, session);
  for (const Command& command : kCommands) command.add(app, session);
}

// What could stand in the place of a word that was not understood.
std::vector<std::string> alternatives(const CLI::App& app, bool option) {
  std::vector<std::string> names;
  if (!option)
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      names.push_back(sub->get_name());
  if (option)
    for (const CLI::Option* known : app.get_options())
      for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  return names;
}

// The command that was being parsed: the innermost one.
const CLI::App& chosen(const CLI::App& app) {
  const CLI::App* inner = &app;
  for (auto subs = inner->get_subcommands(); !subs.empty(); subs = inner->get_subcommands()) inner = subs.front();
  return *inner;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name()
                                     : fmt::format("{} {}", full_name(*app.get_parent()), app.get_name());
}

Error usage_error(const CLI::App& app, const CLI::ParseError& problem) {
  const CLI::App& command = chosen(app);
  Error error{"usage", problem.what(), fmt::format("`{} --help`", full_name(command)), 0, "", false};
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return error;
  const std::string word = extras.front().substr(0, extras.front().find('='));
  const bool option = word.starts_with('-');
  const bool wants_command = !option && !alternatives(command, false).empty();
  error.message = fmt::format("unknown {}{}{}",
                              option          ? "option "
                              : wants_command ? "command "
                                              : "argument ",
                              word, &command == &app ? "" : " of " + full_name(command));
  if (takes_program(command.get_name()) && !option)
    error.hint =
        fmt::format("the program to run goes after two dashes: {} [OPTIONS] -- COMMAND [ARG...]", full_name(command));
  else if (std::string near = did_you_mean(word, alternatives(command, option)); !near.empty())
    error.hint = std::move(near);
  return error;
}

// Cuts the program and its arguments off, byte for byte: they are none of CLI11's business.
std::vector<std::string> own_arguments(int argc, char** argv, Session& session) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (arguments.empty() || !takes_program(arguments.front())) return arguments;
  const auto dashes = std::ranges::find(arguments, "--");
  if (dashes == arguments.end()) return arguments;
  session.command.assign(dashes + 1, arguments.end());
  arguments.erase(dashes, arguments.end());
  return arguments;
}

int fail_with(const Error& error, const Session& session) {
  report(error, session);
  return exit_code_of(error, session);
}

int run_main(int argc, char** argv) {
  Session session;
  CLI::App app("Enforcement in the kernel, by eBPF, for sandboxes that run untrusted code.", "sbpf");
  add_commands(app, session, argc > 1 ? argv[1] : "");
  std::vector<std::string> arguments = own_arguments(argc, argv, session);
  std::ranges::reverse(arguments);  // as CLI11 wants them
  try {
    app.parse(arguments);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success) == 0 ? kExitOk : kExitOwn;
  } catch (const CLI::ParseError& problem) {
    return fail_with(usage_error(app, problem), session);
  }
  agent::raise_limits();
  auto exit_code = session.action();
  if (exit_code) return *exit_code;
  const int code = exit_code_of(exit_code.error(), session);
  const bool asked_wrongly = code == kExitUsage && exit_code.error().code != "needs_root";
  if (asked_wrongly || stands_alone(argv[1])) return fail_with(exit_code.error(), session);
  report(agent::explained_by(agent::inside(), exit_code.error()), session);
  return code;
}

}  // namespace
}  // namespace sbpf::cli

int main(int argc, char** argv) {
  try {
    return sbpf::cli::unless_unwritten(sbpf::cli::run_main(argc, argv));
  } catch (const std::exception& exception) {  // memory ran out, or a defect: never an exit code of the program's
    sbpf::cli::tell(fmt::format("error: {}", exception.what()));
    return sbpf::cli::kExitOwn;
  }
}
