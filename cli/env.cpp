// SPDX-License-Identifier: Apache-2.0
// `sbpf env`: a program with the policy's environment and no other, without a sandbox. For tools of the host that put
// variables into what they read, as Docker Compose does with ${NAME}.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "agent/launch/spawn.h"
#include "cli/commands.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

struct EnvArgs {
  std::string policy = "no-network";
  std::vector<std::string> env;
};

// Returns only if the program could not be run.
Result<int> run_with(const EnvArgs& args, const Session& session) {
  if (session.command.empty())
    return fail("usage", "no command was given", "put it after two dashes: sbpf env -- COMMAND [ARG...]");
  auto loaded = load_policy(args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  const std::vector<std::string> own = env_strings(environ);
  auto environment = build_env(loaded->policy.env, own, args.env, own);
  if (!environment) return tl::unexpected<Error>(environment.error());
  return tl::unexpected<Error>(agent::exec_program(session.command, *environment));
}

constexpr const char* kFooter = R"(Examples:
  sbpf env -- env                     the environment of a sandboxed program
  sbpf env -e TAG=v1 -- docker compose -f task.yaml config

The program runs in no sandbox: only its environment is the policy's. A variable that a compose file uses by ${NAME}
is empty unless the policy or --env names it. The program itself decides whether it reads files such as .env.)";

}  // namespace

void add_env(CLI::App& app, Session& session) {
  auto args = std::make_shared<EnvArgs>();
  CLI::App* sub = app.add_subcommand("env", "Run a program with the policy's environment only, without a sandbox");
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file (default: no-network)")
      ->type_name("POLICY");
  sub->add_option("-e,--env", args->env,
                  "Give the program this variable; by NAME alone, with the value that sbpf has; repeatable")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  sub->footer(kFooter);
  sub->callback([args, &session] { session.action = [args, &session] { return run_with(*args, session); }; });
}

}  // namespace sbpf::cli
