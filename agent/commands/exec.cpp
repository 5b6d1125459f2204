// SPDX-License-Identifier: Apache-2.0
// `sbpf exec`: another program in a sandbox that runs already.
#include "agent/agent.h"
#include "agent/commands/exec_parts.h"
#include "agent/commands/exec_start.h"
#include "agent/sandbox/journal.h"

namespace sbpf::agent {
Result<ExecResult> exec(const std::string& name, const ExecOptions& options) {
  const auto start = prepare_exec(name, options, nullptr);
  if (!start) return tl::unexpected<Error>(start.error());
  auto host = open_locked();
  if (!host) return tl::unexpected<Error>(host.error());
  const auto sandbox = find_live(host->kernel, start->proven);
  if (!sandbox) return tl::unexpected<Error>(sandbox.error());
  const ForwardedSignals signals;
  if (options.on_active) options.on_active(start->proven);
  const auto program = start_exec(host->kernel, *sandbox, sandbox->cgroup, *start);
  if (!program) return tl::unexpected<Error>(program.error());
  // Not by closing it: until the program is executed its process has the same open file, and what runs inside may stop
  // it.
  if (auto others = unlock_host(host->lock); !others) return tl::unexpected<Error>(others.error());
  host->lock.reset();
  ExecResult result = wait_for_program(*program, signals, options);
  look_back(host->kernel, *sandbox, result);
  return result;
}

}  // namespace sbpf::agent
