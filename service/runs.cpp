// SPDX-License-Identifier: Apache-2.0
#include "service/runs.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <boost/asio.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <vector>

#include "service/log.h"
#include "service/sbpf.h"

namespace sbpf::service {
namespace {

constexpr std::chrono::milliseconds kFirstPause(200), kLongestPause(5000);

std::string made_up_name() {
  std::uint64_t number = 0;
  (void)!::getrandom(&number, sizeof number, 0);
  char digits[17];
  (void)std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(number));
  return digits;
}

enum class Place { gone, ours, of_another, unknown };

// Is the directory that would hold it sbpf's in the host's hierarchy, and not what hides that?
bool is_cgroup2(const std::string& path) {
  struct statfs filesystem {};
  const auto root = std::filesystem::path(path).parent_path();
  const bool there = ::statfs(root.c_str(), &filesystem) == 0 || ::statfs(root.parent_path().c_str(), &filesystem) == 0;
  return there && filesystem.f_type == CGROUP2_SUPER_MAGIC;
}

// Is it the run's cgroup that is there? Then everything in it is killed, at once.
Place kill_all(const std::string& path, std::uint64_t cgroup_id) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!directory) return errno == ENOENT && is_cgroup2(path) ? Place::gone : Place::unknown;
  if (::fstat(directory.get(), &info) != 0) return Place::unknown;
  if (cgroup_id != 0 && info.st_ino != cgroup_id) return Place::of_another;
  const Fd file(::openat(directory.get(), "cgroup.kill", O_WRONLY | O_CLOEXEC));
  if (file) (void)!::write(file.get(), "1", 1);
  return Place::ours;
}

}  // namespace

bool Runs::owned_by(const std::string& name, uid_t uid) const {
  const auto run = core_.assignments.runs().find(name);
  // One that is being made is nobody's to end yet.
  return run != core_.assignments.runs().end() && run->second.uid == uid && run->second.cgroup_id != 0;
}

Result<void> Runs::check_limits(const Peer& peer, const std::string& name) const {
  const auto& runs = core_.assignments.runs();
  const Limits& limits = core_.config.limits;
  const auto of_peer = static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const auto& run) { return run.second.uid == peer.uid; }));
  if (peer.uid != 0 && of_peer >= limits.runs_per_user)
    return fail("too_many_runs", fmt::format("uid {} has {} runs already", peer.uid, of_peer),
                "end one, or raise limits.runs_per_user of sbpfd.yaml");
  if (runs.size() >= limits.runs)
    return fail("too_many_runs", fmt::format("{} runs of users are under way already", runs.size()),
                "try again later, or raise limits.runs of sbpfd.yaml");
  // Also one of root's, whose name it should not have.
  if (runs.contains(name) || ::access((core_.cgroup_root + "/sbpf/" + name).c_str(), F_OK) == 0)
    return fail("sandbox_exists", fmt::format("a run named {} exists", name), "choose another name");
  return {};
}

asio::awaitable<Result<Json>> Runs::adopt(const Peer& peer, const Change& change, const std::string& name,
                                          const std::string& within) {
  // From here on the number cannot come to mean another process; whose it is is looked at after this.
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, change.pid, 0)));
  if (!process)
    co_return fail("process_gone", fmt::format("there is no process {}", change.pid),
                   "give one that waits to be confined", errno);
  Command command;
  command.arguments = {core_.sbpf, "adopt", "--json", "--name=" + name, "--pidfd=4"};
  Fd file;
  if (!change.policy_text.empty()) {
    auto made = text_file(change.policy_text);
    if (!made) co_return tl::unexpected<Error>(made.error());
    file = std::move(*made);
    command.arguments.push_back(std::string("--policy=") + kTextFile);
  } else if (!change.policy.empty()) {
    command.arguments.push_back("--policy=" + core_.policies->reference(change.policy));
  } else {
    command.ends_with_us = false;  // the process is in it, or is not: there is nothing to take down
  }
  if (!within.empty()) command.arguments.push_back("--within=" + within);
  command.arguments.push_back("--uid=" + std::to_string(peer.uid));
  command.arguments.push_back("--gid=" + std::to_string(peer.gid));
  command.arguments.push_back("--parent=" + std::to_string(peer.pid));
  command.policy_fd = file.get();
  command.process_fd = process.get();
  command.ordinary = true;
  Result<Json> status = co_await ask(core_.context, std::move(command), core_.config.limits.request);
  if (!status) co_return tl::unexpected<Error>(for_caller(status.error()));
  if (less_than_asked(*status))
    co_return fail("less_isolation", "the sandbox has less isolation than its policy asks for",
                   "run `sbpf preflight` as root");
  co_return status;
}

asio::awaitable<Reply> Runs::start(Peer peer, std::string body, StartedRun& started) {
  auto change = parse_change(body, Asks::run);
  if (!change) co_return reply_of(change.error());
  const std::string wanted = run_name(peer.uid, change->name.empty() ? made_up_name() : change->name);
  co_return co_await make(peer, std::move(*change), wanted, "", started);
}

asio::awaitable<Reply> Runs::make(Peer peer, Change change, std::string name, std::string within, StartedRun& started) {
  if (core_.directory->being_written().contains(change.policy + ".yaml"))
    co_return reply_of(Error{"busy", fmt::format("the file of policy {} is being written", change.policy),
                             "try again when it is", 0, "", true});
  if (auto free = check_limits(peer, name); !free) co_return reply_of(free.error());
  if (auto written = core_.assignments.set_run(name, {peer.uid, 0, within}); !written) {
    (void)core_.assignments.remove_run(name);
    co_return reply_of(written.error());
  }
  Result<Json> status = co_await adopt(peer, change, name, within);
  const std::uint64_t cgroup_id = status ? status->value("cgroup_id", std::uint64_t{0}) : 0;
  Result<void> kept;
  if (status) kept = core_.assignments.set_run(name, {peer.uid, cgroup_id, within});
  if (!status || !kept) {
    // `sbpf` has removed what it made, unless it was killed. What was there before is not ours.
    const bool of_another =
        !status && (status.error().code == "sandbox_exists" || status.error().code == "cgroup_exists");
    if (of_another) (void)core_.assignments.remove_run(name);
    StartedRun left{name, cgroup_id};  // a variable: GCC 12 destroys such a temporary of co_await twice
    co_await end(std::move(left));
    co_return reply_of(status ? kept.error() : status.error());
  }
  log::info(within.empty() ? fmt::format("run {} of uid {}", name, peer.uid)
                           : fmt::format("sandbox {} of uid {} in {}", name, peer.uid, within),
            {{"SANDBOX", name}, {"UID", std::to_string(peer.uid)}, {"PID", std::to_string(change.pid)}});
  started = {name, cgroup_id};
  (*status)["owner"] = peer.uid;
  co_return Reply{201, "application/json", text(*status)};
}

asio::awaitable<Reply> Runs::exec(Peer peer, std::string name, std::string body, StartedRun& started) {
  auto change = parse_change(body, Asks::exec);
  if (!change) co_return reply_of(change.error());
  if (!change->policy.empty() || !change->policy_text.empty()) {
    const std::string own = run_name(peer.uid, "exec-" + made_up_name());
    co_return co_await make(peer, std::move(*change), own, name, started);
  }
  Result<Json> status = co_await adopt(peer, *change, name, "");
  if (!status) co_return reply_of(status.error());
  log::info(fmt::format("process {} of uid {} comes into {}", change->pid, peer.uid, name),
            {{"SANDBOX", name}, {"UID", std::to_string(peer.uid)}, {"PID", std::to_string(change->pid)}});
  co_return Reply{200, "application/json", text(*status)};
}

asio::awaitable<void> Runs::end(StartedRun run) {
  const std::string name = run.name;
  const std::uint64_t cgroup_id = run.cgroup_id;
  const auto ours = [&] {
    const auto known = core_.assignments.runs().find(name);
    return known != core_.assignments.runs().end() && known->second.cgroup_id == cgroup_id;
  };
  if (!ours()) co_return;
  const std::string within = core_.assignments.runs().at(name).within;
  const std::string path = core_.cgroup_root + "/sbpf/" + (within.empty() ? "" : within + "/") + name;
  asio::steady_timer timer(core_.context);
  const auto is_left = [&] {
    const Place place = kill_all(path, cgroup_id);
    return place == Place::ours || place == Place::unknown;
  };
  // Of one whose cgroup went with the run that it was in there may be parts in the kernel.
  bool is_due = !within.empty();
  for (auto pause = kFirstPause; is_left() || is_due; pause = std::min(2 * pause, kLongestPause)) {
    is_due = false;
    Command command;
    command.arguments = {core_.sbpf, "kill", "--json", name};
    command.ends_with_us = false;
    Result<Json> done = co_await ask(core_.context, std::move(command), core_.config.limits.request);
    if (done) break;
    // A cgroup without a sandbox: `sbpf` was killed while it made one.
    if (::rmdir(path.c_str()) == 0 || (errno == ENOENT && is_cgroup2(path))) break;
    if (done.error().code != "no_such_sandbox")
      log::error(fmt::format("run {} cannot be ended yet", name), done.error(), {{"SANDBOX", name}});
    timer.expires_after(pause);
    co_await timer.async_wait(asio::use_awaitable);
  }
  (void)::rmdir(path.c_str());  // one that is in another is left by `sbpf kill`
  // That of its helpers, where `sbpf` was killed before it started one.
  (void)::rmdir((core_.cgroup_root + "/sbpf-resolver/" + name).c_str());
  if (!ours()) co_return;
  if (auto removed = core_.assignments.remove_run(name); !removed)
    log::error(fmt::format("run {}", name), removed.error(), {{"SANDBOX", name}});
}

asio::awaitable<void> Runs::end_lost() {
  std::vector<StartedRun> runs;
  for (const auto& [name, run] : core_.assignments.runs()) runs.push_back({name, run.cgroup_id});
  for (const StartedRun& run : runs) {
    log::warning(fmt::format("run {} is ended: its connection went with the service before", run.name),
                 {{"SANDBOX", run.name}});
    co_await end(run);
  }
}

asio::awaitable<Reply> Runs::end_of_owner(std::string name) {
  const auto run = core_.assignments.runs().find(name);
  if (run == core_.assignments.runs().end() || run->second.cgroup_id == 0)
    co_return reply_of(Error{"no_such_sandbox", fmt::format("no run is named {}", name),
                             "GET /v1/sandboxes lists the names", 0, "", false});
  StartedRun ended{name, run->second.cgroup_id};
  co_await end(std::move(ended));
  const Json body = {{"killed", name}};
  co_return Reply{200, "application/json", text(body)};
}

}  // namespace sbpf::service
