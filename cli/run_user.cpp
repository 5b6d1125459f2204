// SPDX-License-Identifier: Apache-2.0
#include "cli/run_user.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>

#include "agent/launch/run_options.h"
#include "agent/launch/seccomp_ready.h"
#include "agent/launch/spawn.h"
#include "agent/launch/supervisor.h"
#include "base/file.h"
#include "cli/service_client.h"

namespace sbpf::cli {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

// Is it what was asked for? The service's word is taken for what it verified, not for which policy that was.
Result<void> check_status(const Json& status, const policy::Policy& policy) {
  const Json in_force = status.value("policy", Json::object());
  if (in_force.value("sha256", "") != policy::hex(policy::sha256(policy)))
    return fail("isolation_not_active", "sbpfd put another policy in force than was asked for",
                "sbpf and sbpfd must be of one version");
  if (status.value("isolation_active", false) || policy.mode == policy::Mode::audit) return {};
  return fail("isolation_not_active", "sbpfd did not verify the isolation", "run `sbpf preflight` as root");
}

// A socket of root's may be served by root inside a sandbox. It moves no process: only who may write cgroups does.
Result<void> check_place(const Json& status, pid_t pid) {
  const std::string place = read_file("/proc/" + std::to_string(pid) + "/cgroup");
  if (place.ends_with("/sbpf/" + status.value("sandbox", "") + "\n")) return {};
  return fail("isolation_not_active", "the program's process is in no sandbox, whatever the service at the socket says",
              "see who serves it: `ss -xlp | grep sbpf`");
}

constexpr auto kNever = Clock::time_point::max();

// Milliseconds until then, for poll(2); -1: never.
int until(Clock::time_point deadline) {
  if (deadline == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// Until the program has ended, or what should have become it: `refused` says why it did not. True: sbpfd went away meanwhile, and so it
// was killed.
bool wait_for_end(const agent::Spawned& child, const agent::RunOptions& options, const ServiceClient& service,
                  const agent::ForwardedSignals& signals, Clock::time_point deadline, agent::RunResult& result, std::optional<Error>& refused) {
  const auto end = [&child] { (void)::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0); };
  bool lost = false;
  std::array<pollfd, 4> waiting{
      {{child.pidfd.get(), POLLIN, 0}, {signals.fd(), POLLIN, 0}, {service.fd(), POLLIN, 0}, {child.report.get(), POLLIN, 0}}};
  for (;;) {
    const int ready = ::poll(waiting.data(), waiting.size(), until(deadline));
    if (ready < 0 && errno != EINTR) return true;
    if (ready > 0 && waiting[3].revents != 0) {
      waiting[3].fd = -1;
      refused = child.why_not_started(options.argv.front());
      if (!refused && options.on_started) options.on_started();
    }
    if (ready > 0 && waiting[0].revents != 0) return lost;
    if (ready > 0 && waiting[1].revents != 0) {
      signals.forward(child.pid);
      if (options.on_stopped && agent::has_stopped(child.pid)) options.on_stopped(child.pid);
    }
    if (ready > 0 && waiting[2].revents != 0) {
      lost = true;
      waiting[2].fd = -1;
      end();
    }
    if (Clock::now() >= deadline) {
      deadline = kNever;
      result.timed_out = true;
      end();  // the rest of the sandbox ends with the connection
    }
  }
}

}  // namespace

Result<agent::RunResult> run_as_user(const policy::Policy& policy, const agent::RunOptions& options,
                                     const std::string& socket, const std::function<void(const Json&)>& on_active) {
  if (auto possible = agent::check_for_user(policy, ::geteuid()); !possible)
    return tl::unexpected<Error>(possible.error());
  auto filters = agent::seccomp_filters(policy.launch.seccomp, policy.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  agent::Launch launch{agent::privileges_of(policy), std::move(*filters)};
  launch.privileges.as_user = ::geteuid() != 0;
  auto service = ServiceClient::connect(socket);
  if (!service) return tl::unexpected<Error>(service.error());
  auto child = agent::WaitingChild::start(launch, options);
  if (!child) return tl::unexpected<Error>(child.error());
  Json request = {{"pid", child->child().pid}, {"policy_text", policy::canonical(policy)}};
  if (!options.name.empty()) request["name"] = options.name;
  auto status = service->post("/v1/runs", request);
  if (!status) return tl::unexpected<Error>(status.error());
  if (auto right = check_status(*status, policy); !right) return tl::unexpected<Error>(right.error());
  if (auto placed = check_place(*status, child->child().pid); !placed) return tl::unexpected<Error>(placed.error());
  const agent::ForwardedSignals signals;
  on_active(*status);
  if (auto started = child->go_on(); !started) return tl::unexpected<Error>(started.error());
  const auto deadline = options.timeout ? Clock::now() + *options.timeout : kNever;
  agent::RunResult result;
  std::optional<Error> refused;
  const bool lost = wait_for_end(child->child(), options, *service, signals, deadline, result, refused);
  service->finish();  // what is left of the sandbox ends with it: a tracer inside could keep the program's end to itself
  int ended = 0;
  (void)::waitpid(child->child().pid, &ended, 0);
  if (refused) return tl::unexpected<Error>(*refused);
  result.exit_code = result.timed_out ? 124 : agent::exit_code_of(ended);
  if (lost)
    return fail("service_lost", "sbpfd went away, and the program was killed",
                "see `systemctl status sbpfd`; what else runs in the sandbox ends when it is back");
  return result;
}

}  // namespace sbpf::cli
