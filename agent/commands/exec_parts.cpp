// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/exec_parts.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <limits>
#include <numeric>
#include <thread>

#include "agent/files/namespaces.h"
#include "agent/host/announced_end.h"
#include "agent/host/fdinfo.h"
#include "agent/launch/stdio.h"
#include "agent/verify/verify.h"

namespace sbpf::agent {
namespace {

Result<void> check_status(const Status& status) {
  const auto mount = cgroup2_mount();
  if (status.attached_cgroup && mount && is_made_by_sbpf(status.cgroup, *mount))
    return fail("usage", fmt::format("{} is that of a program which `sbpf exec --policy` started", status.sandbox),
                "name the sandbox that it is in");
  if (status.attached_cgroup)
    return fail("usage", fmt::format("{} is an attached cgroup: its programs are another runtime's", status.sandbox),
                "start it by that runtime (`podman exec`, `systemd-run --scope`): what is in the cgroup is confined");
  if (status.frozen)
    return fail("isolation_not_active", fmt::format("sandbox {} is frozen", status.sandbox),
                "`sbpf status` says why; `sbpf kill` ends it");
  if (may_start(status, status.mode)) return {};
  return fail("isolation_not_active",
              fmt::format("sandbox {} is {}, so nothing is started in it: {}", status.sandbox,
                          to_string(status.isolation), why_not_active(status)),
              "`sbpf status` shows what is missing; mend it, or start the sandbox anew");
}

}  // namespace

Result<pid_t> first_program(const Cgroup& cgroup, std::uint64_t mounts) {
  auto pids = cgroup.processes();
  if (!pids) return tl::unexpected<Error>(pids.error());
  std::erase_if(*pids, [&](pid_t pid) { return mount_namespace(std::to_string(pid)) != mounts; });
  const auto oldest = std::ranges::min_element(
      *pids, {}, [](pid_t pid) { return start_ticks(pid).value_or(std::numeric_limits<std::uint64_t>::max()); });
  if (oldest != pids->end()) return *oldest;
  return fail("no_namespace", "no process of the sandbox is where its program began", "`sbpf list`: it may have ended");
}

Result<Status> proven_to_start_in(const std::string& name) {
  auto proven = status(name, true);
  if (!proven) return proven;
  if (auto fit = check_status(*proven); !fit) return tl::unexpected<Error>(fit.error());
  return proven;
}

Result<LiveSandbox> find_live(const Kernel& kernel, const Status& proven) {
  auto record = find_record(kernel, proven.sandbox);
  if (!record) return tl::unexpected<Error>(record.error());
  if (record->created_ns != proven.instance)
    return fail("sandbox_ended",
                fmt::format("sandbox {} ended meanwhile, and another one has its name", proven.sandbox), "try again");
  if (auto fit = check_status(read_status(kernel, *record, false)); !fit) return tl::unexpected<Error>(fit.error());
  auto cgroup = Cgroup::open_by_id(record->cgroup_id);
  if (!cgroup) return tl::unexpected<Error>(cgroup.error());
  auto image = read_policy(kernel, record->cgroup_id);
  if (!image) return tl::unexpected<Error>(image.error());
  auto kept = read_policy_text(record->cgroup_id, *image);
  if (!kept || kept->walked_paths.mounts == 0)
    return fail("no_policy", "the text of the policy in force was not kept, so how a program begins is not known",
                "start the sandbox anew: one that an older sbpf began, or whose text in /run was changed, has none");
  return LiveSandbox{*record, std::move(*cgroup), std::move(*image), std::move(*kept)};
}

Result<void> check_stdio_of(const LiveSandbox& sandbox, const std::array<int, 3>& fds) {
  const auto inodes = inspect_stdio(sandbox.image, fds);
  if (!inodes) return tl::unexpected<Error>(inodes.error());
  const auto& known = sandbox.record.stdio_inode;
  for (std::size_t i = 0; i < inodes->size(); i++)
    if ((*inodes)[i] != 0 && std::ranges::find(known, (*inodes)[i]) == std::end(known))
      return fail("inherited_socket", fmt::format("descriptor {} is a socket, which the sandbox was not begun with", i),
                  "give it a pipe, a file or a terminal: `… | cat`");
  return {};
}

bool has_ended(const Cgroup& cgroup) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 100; i++) {
    if (is_end_announced(cgroup) || cgroup.seen() == Seen::absent || !cgroup.populated()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return false;
}

void look_back(const Kernel& kernel, const LiveSandbox& sandbox, ExecResult& result) {
  const auto sum = [](const sbpf_sandbox& record) {
    return std::accumulate(std::begin(record.denied), std::end(record.denied), std::uint64_t(0));
  };
  const auto now = find_record(kernel, sandbox.record.cgroup_id);
  result.sandbox_ended = result.signal == SIGKILL && has_ended(sandbox.cgroup);
  if (now) result.denied = sum(*now) - std::min(sum(*now), sum(sandbox.record));
}

ExecResult wait_for_program(const Spawned& program, const ForwardedSignals& signals, const ExecOptions& options) {
  ExecResult result;
  std::array<pollfd, 3> waiting{
      {{program.pidfd.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {program.report.get(), POLLIN, 0}}};
  while (waiting[0].revents == 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno != EINTR) break;
      continue;
    }
    if (waiting[2].revents != 0) {
      waiting[2].fd = -1;
      result.not_started = program.why_not_started(options.argv.front());
      if (!result.not_started && options.on_started) options.on_started();
    }
    if (waiting[1].revents == 0) continue;
    signals.forward(program.pid);
    if (options.on_stopped && has_stopped(program.pid)) options.on_stopped(program.pid);
  }
  int status = 0;
  ::waitpid(program.pid, &status, 0);
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = exit_code_of(status);
  return result;
}

}  // namespace sbpf::agent
