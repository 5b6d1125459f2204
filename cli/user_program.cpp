// SPDX-License-Identifier: Apache-2.0
#include "cli/user_program.h"

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
#include <set>

#include "agent/host/cgroup.h"
#include "agent/host/usage.h"
#include "agent/launch/launch_under.h"
#include "agent/launch/seccomp_ready.h"
#include "agent/launch/supervisor.h"
#include "agent/sandbox/event_advice.h"
#include "base/file.h"
#include "cli/common.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

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
Result<void> check_place(const Json& status, const std::string& within, pid_t pid) {
  const std::string place = read_file(fmt::format("/proc/{}/cgroup", pid));
  const std::string above = within.empty() ? "" : within + "/";
  if (place.ends_with(fmt::format("/sbpf/{}{}\n", above, status.value("sandbox", "")))) return {};
  return fail("isolation_not_active", "the program's process is in no sandbox, whatever the service at the socket says",
              "see who serves it: `ss -xlp | grep sbpf`");
}

// In places of its own; where they cannot be made, only for a policy that does not ask for any.
Result<agent::WaitingChild> start_child(const UserStart& start, const agent::Launch& launch) {
  const agent::RunOptions& options = start.options;
  const std::optional<agent::OwnPlaces>& own = start.places;
  const bool here = !own || ::geteuid() == 0;  // root that goes by way of sbpfd is for tests of it
  if (here) return agent::WaitingChild::start(launch, options);
  const bool asks = !own->directories.empty() || own->network || own->workspace || own->joined;
  if (!asks && agent::find_sbpf_enter().empty()) {
    if (options.on_warning)
      options.on_warning(
          "the program shares /proc and the IPC namespace with your others: sbpf-enter is not installed");
    return agent::WaitingChild::start(launch, options);
  }
  agent::BeginText begin{
      policy::canonical(start.policy), start.policy.launch.seccomp.text, options.argv, options.env, -1, "", ""};
  if (start.own != nullptr) {
    begin.own = policy::canonical(*start.own);
    begin.own_seccomp = start.own->launch.seccomp.text;
  }
  return agent::WaitingChild::start_in(*own, std::move(begin), launch.listener_to);
}

}  // namespace

Result<agent::Launch> launch_as_user(const policy::Policy& policy, const policy::Policy* own) {
  for (const policy::Policy* one : {&policy, own})
    if (auto possible = one == nullptr ? Result<void>() : agent::check_for_user(*one, ::geteuid()); !possible)
      return tl::unexpected<Error>(possible.error());
  auto filters = agent::seccomp_filters(policy.launch.seccomp, policy.launch.capabilities);
  if (!filters) return tl::unexpected<Error>(filters.error());
  agent::Launch launch{agent::privileges_of(policy), std::move(*filters)};
  launch.privileges.as_user = ::geteuid() != 0;
  if (own != nullptr)
    if (auto tightened = agent::tighten(launch, *own); !tightened) return tl::unexpected<Error>(tightened.error());
  return launch;
}

Result<UserProgram> confine_child(UserStart start) {
  auto launch = launch_as_user(start.policy, start.own);
  if (!launch) return tl::unexpected<Error>(launch.error());
  auto calls = start.tells_calls ? agent::RefusedCalls::make(*launch, start.policy.launch.seccomp)
                                 : Result<agent::RefusedCalls>();
  if (!calls) return tl::unexpected<Error>(calls.error());
  auto service = ServiceClient::connect(start.socket);
  if (!service) return tl::unexpected<Error>(service.error());
  auto child = start_child(start, *launch);
  calls->child_started();
  if (!child) return tl::unexpected<Error>(child.error());
  const pid_t pid = child->child().pid;
  start.request["pid"] = pid;
  auto status = service->post(start.target, start.request);
  if (!status) return tl::unexpected<Error>(status.error());
  const policy::Policy& in_force = start.own != nullptr ? *start.own : start.policy;
  if (auto right = check_status(*status, in_force); !right) return tl::unexpected<Error>(right.error());
  if (auto placed = check_place(*status, start.within, pid); !placed) return tl::unexpected<Error>(placed.error());
  return UserProgram{std::move(*service), std::move(*child), std::move(*calls), std::move(*status)};
}

namespace {

constexpr auto kNever = Clock::time_point::max();

// Milliseconds until then, for poll(2); -1: never.
int until(Clock::time_point deadline) {
  if (deadline == kNever) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

// The events of the run, as they come. That they cannot be read weakens nothing.
class EventFeed {
 public:
  EventFeed(const std::string& socket, const std::string& sandbox, const agent::RunOptions& options,
            const std::function<void(const Json&)>& on_event)
      : options_(options), on_event_(on_event) {
    if (!on_event_) return;
    auto service = ServiceClient::connect(socket);
    const auto begun = service ? service->begin_stream(fmt::format("/v1/sandboxes/{}/events", sandbox))
                               : tl::unexpected<Error>(service.error());
    if (begun)
      service_.emplace(std::move(*service));
    else
      give_up(begun.error());
  }
  int fd() const { return service_ ? service_->fd() : -1; }
  void take() {
    const auto more = service_->take_from_stream([this](const Json& event) {
      on_event_(event);
      return true;
    });
    if (!more) return give_up(more.error());
    if (!*more) end();
  }
  void end() { service_.reset(); }

 private:
  void give_up(const Error& why) {
    end();
    if (options_.on_warning) options_.on_warning(fmt::format("events are not told any more: {}", why.message));
  }
  const agent::RunOptions& options_;
  const std::function<void(const Json&)>& on_event_;
  std::optional<ServiceClient> service_;
};

// What its seccomp filter refuses, by which sbpfd is not asked. Each call is told once.
class CallFeed {
 public:
  CallFeed(agent::RefusedCalls& calls, const policy::Policy& policy, const std::string& sandbox,
           std::function<void(const Json&)> told)
      : calls_(calls), policy_(policy), sandbox_(sandbox), told_(std::move(told)) {}
  int fd() const { return calls_.fd(); }
  void take() {
    calls_.pass();
    calls_.take([this](const agent::RefusedCall& call) {
      if (!known_.insert(call.number).second) return;
      agent::Event event = agent::event_of(call, sandbox_);
      agent::advise_on_call(policy_, event);
      told_(event_json(event, boot_epoch_ns()));
    });
  }

 private:
  agent::RefusedCalls& calls_;
  const policy::Policy& policy_;
  const std::string& sandbox_;
  std::function<void(const Json&)> told_;
  std::set<int> known_;
};

// Until the program has ended, or what should have become it: result.not_started says why it did not. True: sbpfd went
// away meanwhile, and so it was killed.
bool wait_for_end(const agent::Spawned& child, const agent::RunOptions& options, const ServiceClient& service,
                  const agent::ForwardedSignals& signals, EventFeed& events, CallFeed& calls,
                  Clock::time_point deadline, agent::RunResult& result) {
  const auto end = [&child] { (void)::syscall(SYS_pidfd_send_signal, child.pidfd.get(), SIGKILL, nullptr, 0); };
  bool lost = false;
  std::array<pollfd, 6> waiting{{{child.pidfd.get(), POLLIN, 0},
                                 {signals.fd(), POLLIN, 0},
                                 {service.fd(), POLLIN, 0},
                                 {child.report.get(), POLLIN, 0},
                                 {events.fd(), POLLIN, 0},
                                 {-1, POLLIN, 0}}};
  for (;;) {
    waiting[5].fd = calls.fd();
    const int ready = ::poll(waiting.data(), waiting.size(), until(deadline));
    if (ready < 0 && errno != EINTR) return true;
    if (ready > 0 && waiting[3].revents != 0) {
      waiting[3].fd = -1;
      result.not_started = child.why_not_started(options.argv.front());
      if (!result.not_started && options.on_started) options.on_started();
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
    if (ready > 0 && waiting[4].revents != 0) {
      events.take();
      waiting[4].fd = events.fd();
    }
    if (ready > 0 && waiting[5].revents != 0) calls.take();
    if (Clock::now() >= deadline) {
      deadline = kNever;
      result.timed_out = true;
      end();  // the rest of the sandbox ends with the connection
    }
  }
}

// Events of which nobody has a record, as the sandbox's status has them.
std::optional<std::uint64_t> lost_events(const std::string& socket, const std::string& sandbox) {
  auto service = ServiceClient::connect(socket);
  const auto status = service ? service->get("/v1/sandboxes/" + sandbox) : tl::unexpected<Error>(service.error());
  if (!status) return std::nullopt;
  const Json lost = status->value("lost_events", Json::object());
  return lost.value("ring_full", std::uint64_t{0}) + lost.value("rate_limit", std::uint64_t{0});
}

// While the sandbox lives. That they cannot be read weakens nothing. Whoever was denied nothing lost no denial either.
void read_denials(const std::string& socket, const std::string& sandbox, const agent::RunOptions& options,
                  const std::function<void(const Json&)>& on_denial, agent::RunResult& result) {
  constexpr std::chrono::seconds kPatience{3};  // what is left in the sandbox runs on meanwhile
  bool any = false;
  auto service = ServiceClient::connect(socket);
  const auto read = service ? service->stream(fmt::format("/v1/sandboxes/{}/events?follow=false", sandbox), kPatience,
                                              [&](const Json& event) {
                                                any = true;
                                                on_denial(event);
                                                return true;
                                              })
                            : tl::unexpected<Error>(service.error());
  result.denials_known = read.has_value();
  if (read && any) result.lost_events = lost_events(socket, sandbox);
  if (read && !any) result.lost_events = 0;
  if (!read && options.on_warning)
    options.on_warning(fmt::format("what was denied cannot be told: {}", read.error().message));
}

}  // namespace

Result<agent::RunResult> finish_user_program(UserProgram& program, const policy::Policy& policy,
                                             const agent::RunOptions& options, const std::string& socket,
                                             const std::function<void(const Json&)>& on_denial,
                                             const std::function<void(const Json&)>& on_event) {
  auto& [service, child, calls, status] = program;
  const agent::ForwardedSignals signals;
  const std::string sandbox = status.value("sandbox", "");
  EventFeed events(socket, sandbox, options, on_event);
  if (auto started = child.go_on(); !started) return tl::unexpected<Error>(started.error());
  const auto deadline = options.timeout ? Clock::now() + *options.timeout : kNever;
  agent::RunResult result;
  CallFeed refused(calls, policy, sandbox, [&](const Json& event) {
    if (on_event) on_event(event);
    if (on_denial) on_denial(event);
  });
  const bool lost = wait_for_end(child.child(), options, service, signals, events, refused, deadline, result);
  if (const auto cgroup = agent::Cgroup::open(status.value("cgroup", ""))) result.usage = agent::read_usage(*cgroup);
  events.end();  // its connection is one of those that the service gives this user
  if (!lost && on_denial) read_denials(socket, sandbox, options, on_denial, result);
  // What is left of the sandbox ends with it: a tracer inside could keep the program's end to itself.
  if (!service.finish() && options.on_warning)
    options.on_warning("sbpfd has not ended the sandbox: what else runs there goes on, confined, until it does");
  int ended = 0;
  (void)::waitpid(child.child().pid, &ended, 0);
  result.signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
  result.exit_code = result.timed_out ? 124 : agent::exit_code_of(ended);
  if (lost)
    return fail("service_lost", "sbpfd went away, and the program was killed",
                "see `systemctl status sbpfd`; what else runs in the sandbox ends when it is back");
  return result;
}

}  // namespace sbpf::cli
