// SPDX-License-Identifier: Apache-2.0
// `sbpf begin`: what sbpf-enter executes in the process of a user's run. It waits there until sbpfd has confined it,
// and becomes the program. Not in --help: a person has `sbpf run`.
#include <fcntl.h>

#include <CLI/CLI.hpp>

#include "agent/host/told_error.h"
#include "agent/launch/refused_calls.h"
#include "agent/launch/waiting_child.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/user_program.h"

namespace sbpf::cli {
namespace {

Result<policy::Policy> policy_in(const std::string& text, const std::string& seccomp) {
  auto policy = policy::parse(text, "policy", [](std::string_view) { return std::nullopt; });
  if (!policy) return fail("invalid_policy", policy::format(policy.error()));
  policy->launch.seccomp.text = seccomp;
  return std::move(*policy);
}

// Returns only errors.
Result<int> begin() {
  const auto begin = agent::begin_text_of(read_file(fmt::format("/proc/self/fd/{}", agent::kBeginText)));
  if (!begin) return fail("usage", "`sbpf begin` is for `sbpf run`", "sbpf run -- COMMAND [ARG...]");
  const auto policy = policy_in(begin->policy, begin->seccomp);
  if (!policy) return tl::unexpected<Error>(policy.error());
  const auto own = begin->own.empty() ? Result<policy::Policy>() : policy_in(begin->own, begin->own_seccomp);
  if (!own) return tl::unexpected<Error>(own.error());
  auto launch = launch_as_user(*policy, begin->own.empty() ? nullptr : &*own);
  if (!launch) return tl::unexpected<Error>(launch.error());
  if (::fcntl(agent::kBeginListenerTo, F_GETFD) >= 0) agent::ask(*launch, agent::kBeginListenerTo);
  agent::RunOptions options;
  options.argv = begin->argv;
  options.env = begin->env;
  agent::become_when_told(*launch, options, begin->parent, agent::kBeginGo, agent::kBeginReport);
}

}  // namespace

void add_begin(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("begin", "Become the program of a user's run (for sbpf run)");
  sub->group("");  // hidden
  sub->callback([&session] {
    session.action = []() -> Result<int> {
      auto failed = begin();
      if (::fcntl(agent::kBeginReport, F_GETFD) < 0) return failed;  // nobody waits for a word
      agent::tell_error(agent::kBeginReport, failed.error());
      return kExitOwn;
    };
  });
}

}  // namespace sbpf::cli
