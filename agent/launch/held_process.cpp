// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/held_process.h"

#include <poll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "agent/files/namespaces.h"
#include "agent/host/fdinfo.h"
#include "base/file.h"
#include "base/proc_cgroup.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

constexpr int kStopSteps = 2000;  // of 1 ms

Error gone() {
  return Error{"process_gone",
               "the process that was to be confined has ended",
               "keep it waiting until the answer is there",
               ESRCH,
               "",
               false};
}

tl::unexpected<Error> unfit(std::string what, std::string hint) {
  return fail("process_unfit", fmt::format("the process {}", std::move(what)), std::move(hint));
}

tl::unexpected<Error> not_yours(const std::string& what) {
  return fail("not_your_process", fmt::format("the process {}", what),
              "name a child of the process that asks, which runs as the same user");
}

// The lines of a file of "key: value", the values without the blanks around them.
std::map<std::string, std::string> fields_of(std::string_view text) {
  std::map<std::string, std::string> fields;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':'), begin = line.find_first_not_of(" \t", colon + 1);
    if (colon != std::string::npos)
      fields[line.substr(0, colon)] = begin == std::string::npos ? "" : line.substr(begin);
  }
  return fields;
}

// Is the field there, and each of its numbers this one?
bool all_are(const std::map<std::string, std::string>& fields, const char* key, std::uint64_t wanted, int base = 10) {
  const auto found = fields.find(key);
  if (found == fields.end()) return false;
  std::istringstream words(found->second);
  std::size_t n = 0;
  for (std::string word; words >> word; n++) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, base);
    if (error != std::errc() || end != word.data() + word.size() || value != wanted) return false;
  }
  return n > 0;
}

bool same_namespace(const std::string& proc, const char* kind, const std::string& other = "/proc/self") {
  const std::uint64_t number = namespace_number(proc, kind);
  return number != 0 && number == namespace_number(other, kind);
}

bool is_alive(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, 0) == 0;
}

}  // namespace

Result<void> check_process(std::string_view status, const Owner& owner) {
  const auto fields = fields_of(status);
  if (!all_are(fields, "Uid", owner.uid) || !all_are(fields, "Gid", owner.gid))
    return not_yours(fmt::format("does not run as uid {} and gid {} alone", owner.uid, owner.gid));
  if (!all_are(fields, "PPid", static_cast<std::uint64_t>(owner.parent)))
    return not_yours("is not a child of the one that asks");
  if (!all_are(fields, "Threads", 1))
    return unfit("has more than one thread",
                 "a policy holds for all of a process: hand over one that has just been forked");
  // Without it, it could become another user's between this look and the sandbox, by a set-user-id program.
  if (!all_are(fields, "NoNewPrivs", 1)) return unfit("may gain privileges", "set PR_SET_NO_NEW_PRIVS in it first");
  if (owner.uid != 0 && (!all_are(fields, "CapPrm", 0, 16) || !all_are(fields, "CapEff", 0, 16)))
    return unfit("has capabilities", "drop them first");
  return {};
}

Result<HeldProcess> HeldProcess::hold(int pidfd, const Owner& owner) {
  const auto pid =
      static_cast<pid_t>(fdinfo_number(read_file("/proc/self/fdinfo/" + std::to_string(pidfd)), "Pid:").value_or(0));
  if (pid <= 0) return tl::unexpected<Error>(gone());
  // A stranger that has the number by now is not the pidfd's, and is let go without having been stopped.
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
    const int number = errno;
    if (number == ESRCH || !is_alive(pidfd)) return tl::unexpected<Error>(gone());
    return unfit(fmt::format("cannot be held: {}", std::strerror(number)),
                 "no debugger may trace it, and /proc/sys/kernel/yama/ptrace_scope be below 3");
  }
  HeldProcess held(pidfd, pid);
  if (!held.alive()) return tl::unexpected<Error>(gone());
  if (::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return tl::unexpected<Error>(gone());
  if (auto stopped = held.wait_until_stopped(); !stopped) return tl::unexpected<Error>(stopped.error());
  if (auto fit = held.check(owner); !fit) return tl::unexpected<Error>(fit.error());
  return held;
}

HeldProcess::HeldProcess(HeldProcess&& other) noexcept : pidfd_(other.pidfd_), pid_(std::exchange(other.pid_, -1)) {}

HeldProcess::~HeldProcess() {
  if (pid_ > 0) (void)::ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
}

bool HeldProcess::alive() const { return is_alive(pidfd_); }

Result<void> HeldProcess::wait_until_stopped() const {
  for (int i = 0; i < kStopSteps; i++) {
    int status = 0;
    const pid_t answered = ::waitpid(pid_, &status, WNOHANG | __WALL);
    if (answered < 0 || (answered == pid_ && !WIFSTOPPED(status))) return tl::unexpected<Error>(gone());
    if (answered == pid_) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return fail("process_busy", "the process does not stop",
              "it is in an uninterruptible call: hand over one that waits");
}

Result<void> HeldProcess::check(const Owner& owner) const {
  const std::string proc = "/proc/" + std::to_string(pid_);
  if (auto fit = check_process(read_file(proc + "/status"), owner); !fit)
    return alive() ? fit : tl::unexpected<Error>(gone());
  for (const char* kind : {"user", "pid"})
    if (!same_namespace(proc, kind))
      return unfit(fmt::format("is in another {} namespace", kind), "start it in the host's namespaces");
  std::error_code ec;
  for (fs::directory_iterator entry(proc + "/fd", ec), end; !ec && entry != end; entry.increment(ec)) {
    const std::string number = entry->path().filename();
    if (number.size() == 1 && number[0] <= '2') continue;
    if (const std::string what = fs::read_symlink(entry->path(), ec).string(); !what.starts_with("pipe:["))
      return unfit(fmt::format("has descriptor {} open: {}", number, what),
                   "close all but stdin, stdout, stderr and pipes first: what is open is out of a policy's reach");
  }
  if (ec || !alive()) return tl::unexpected<Error>(gone());
  return {};
}

bool HeldProcess::has_our_network() const { return same_namespace("/proc/" + std::to_string(pid_), "net"); }

bool HeldProcess::shares_network(pid_t other) const {
  return same_namespace("/proc/" + std::to_string(pid_), "net", "/proc/" + std::to_string(other));
}

Result<bool> HeldProcess::is_alone_in(const char* kind) const {
  const std::string own = std::to_string(pid_);
  const std::uint64_t number = namespace_number("/proc/" + own, kind);
  std::error_code ec;
  fs::directory_iterator process("/proc", ec);
  for (const fs::directory_iterator end; number != 0 && !ec && process != end; process.increment(ec)) {
    const std::string pid = process->path().filename();
    if (pid == own || pid.find_first_not_of("0123456789") != std::string::npos) continue;
    std::uint64_t there = namespace_number(process->path(), kind);
    // Where the first thread has ended, the others may be left. Another namespace than the first's is for root alone.
    if (there == 0)
      for (const std::string& task : names_in(process->path() / "task"))
        there = std::max(there, namespace_number(process->path() / "task" / task, kind));
    if (there == number) return false;
  }
  if (number != 0 && !ec) return true;
  return fail("cannot_tell", fmt::format("who else is in the {} namespace of the process cannot be told", kind));
}

Result<std::array<Fd, 3>> HeldProcess::stdio() const {
  std::array<Fd, 3> fds;
  for (int i = 0; i < 3; i++) {
    fds[static_cast<std::size_t>(i)] = Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_, i, 0)));
    if (!fds[static_cast<std::size_t>(i)] && errno != EBADF)
      return fail("process_gone", SystemError{errno}, "the streams of the process cannot be looked at");
  }
  return fds;
}

Result<std::string> HeldProcess::cgroup() const {
  const std::string cgroups = read_file(fmt::format("/proc/{}/cgroup", pid_));
  const std::string_view path = unified_cgroup(cgroups);
  if (path.empty()) return tl::unexpected<Error>(gone());
  return std::string(path);
}

Result<void> HeldProcess::move_to(const Cgroup& to) const {
  if (!alive()) return tl::unexpected<Error>(gone());
  if (auto moved = to.write("cgroup.procs", std::to_string(pid_)); !moved)
    return moved.error().sys_errno == ESRCH ? tl::unexpected<Error>(gone()) : moved;
  auto mount = cgroup2_mount();
  auto now = cgroup();
  if (!mount || !now || *mount + *now != to.path() || !alive()) return tl::unexpected<Error>(gone());
  return {};
}

}  // namespace sbpf::agent
