// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/spawn.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <utility>

#include "agent/host/descriptors.h"
#include "agent/host/told_error.h"
#include "agent/launch/run_options.h"
#include "agent/launch/supervisor.h"
#include "base/child.h"

namespace sbpf::agent {
namespace {

// What the child does before exec, each with 0 or an errno. The filters come last: the steps need calls that they
// refuse.
struct Step {
  const char* what;
  int (*take)(const Launch& launch);
  const char* hint;
};
constexpr Step kSteps[] = {
    {"the caller's own limits", [](const Launch&) { return restore_limits(); }, ""},
    {"process.limits", [](const Launch& l) { return set_limits(l.privileges); },
     "a limit above the caller's own needs CAP_SYS_RESOURCE; open_files cannot exceed /proc/sys/fs/nr_open"},
    {"the bounding set of process.capabilities", [](const Launch& l) { return drop_bounding(l.privileges); },
     "sbpf needs CAP_SETPCAP"},
    {"process.user", [](const Launch& l) { return set_user(l.privileges); }, "sbpf needs CAP_SETUID and CAP_SETGID"},
    {"process.capabilities", [](const Launch& l) { return set_capabilities(l.privileges); },
     "no capability can be kept that sbpf itself lacks"},
    // A change of user may have undone it. Exec begins anew.
    {"that only root looks into it", [](const Launch&) { return ::prctl(PR_SET_DUMPABLE, 0) == 0 ? 0 : errno; }, ""},
    {"no_new_privs", [](const Launch& l) { return set_no_new_privs(l.privileges); }, ""},
    {"what was set, read back", [](const Launch& l) { return verify_privileges(l.privileges); }, ""},
    {"process.seccomp", [](const Launch& l) { return install_seccomp(l.filters, l.listener_to); },
     "the kernel needs CONFIG_SECCOMP_FILTER, and takes 32768 instructions of filters in all"},
};
constexpr std::size_t kExec = std::size(kSteps);

// What the child tells through its pipe when a step failed.
struct Failure {
  std::size_t step;
  int error;
};

[[noreturn]] void give_up(int report, Failure failure) {
  (void)!::write(report, &failure, sizeof failure);
  ::_exit(127);
}

// argv[0] as it is, or in each directory of PATH.
std::vector<std::string> exec_candidates(const std::string& name, const std::vector<std::string>& env) {
  if (name.find('/') != std::string::npos) return {name};
  std::string path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (const std::string& e : env)
    if (e.rfind("PATH=", 0) == 0) path = e.substr(5);
  std::vector<std::string> candidates;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string dir = path.substr(begin, end - begin);
    candidates.push_back(fmt::format("{}/{}", dir.empty() ? "." : dir, name));
    begin = end + 1;
  }
  return candidates;
}

// All that exec needs, so that the child allocates nothing.
class Program {
 public:
  Program(const std::vector<std::string>& argv, const std::vector<std::string>& env)
      : candidates_(exec_candidates(argv.front(), env)) {
    for (const std::string& a : argv) argv_.push_back(const_cast<char*>(a.c_str()));
    for (const std::string& e : env) env_.push_back(const_cast<char*>(e.c_str()));
    argv_.push_back(nullptr);
    env_.push_back(nullptr);
  }
  // Returns the errno; of several candidates that of one which is there.
  int exec() const {
    int error = ENOENT;
    for (const std::string& candidate : candidates_) {
      ::execve(candidate.c_str(), argv_.data(), env_.data());
      if (errno != ENOENT && errno != ENOTDIR) error = errno;
    }
    return error;
  }

 private:
  std::vector<std::string> candidates_;
  std::vector<char*> argv_, env_;
};

Error exec_failure(const std::string& name, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  return fail(missing ? ErrorCode("command_not_found") : ErrorCode("command_not_executable"),
              SystemError{
                  error, missing ? "the PATH of the program's own environment is searched; give an absolute path" : ""},
              "{}", name)
      .value();
}

Error launch_failure(const Failure& failure) {
  return fail("launch_failed", SystemError{failure.error, kSteps[failure.step].hint}, "cannot set {}",
              kSteps[failure.step].what)
      .value();
}

std::optional<Failure> take_steps(const Launch& launch) {
  for (std::size_t i = 0; i < kExec; i++)
    if (const int error = kSteps[i].take(launch); error != 0) return Failure{i, error};
  return std::nullopt;
}

// `kept`: the report, and what the program inherits.
[[noreturn]] void child_main(const Launch& launch, const Program& program, std::vector<int>&& kept, int report) {
  restore_signals();
  // Everything but stdio is gone at exec, the report pipe included; no gap through which a new one could appear. The
  // rest goes now: exec may wait for long, and holds no lock of ours meanwhile.
  ::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  for (const int fd : kept)
    if (fd != report && fd != launch.listener_to) ::fcntl(fd, F_SETFD, 0);
  (void)close_all_but(std::move(kept));
  if (const auto failure = take_steps(launch)) give_up(report, *failure);
  give_up(report, {kExec, program.exec()});
}

}  // namespace

std::optional<Error> Spawned::why_not_started(const std::string& name) const {
  Failure failure{};
  ssize_t n = 0;
  do n = ::read(report.get(), &failure, sizeof failure);
  while (n < 0 && errno == EINTR);
  if (n != sizeof failure) return std::nullopt;
  if (failure.step == kExec) return exec_failure(name, failure.error);
  return launch_failure(failure);
}

Result<Spawned> spawn(const Cgroup& cgroup, const Launch& launch, const RunOptions& options) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("spawn", "cannot make a pipe", "", errno);
  Spawned child;
  child.report = Fd(ends[0]);
  const Fd report(ends[1]);
  const Program program(options.argv, options.env);
  std::vector<int> kept = options.inherited;
  kept.push_back(report.get());
  if (launch.listener_to >= 0) kept.push_back(launch.listener_to);
  auto pid = clone_into(cgroup, child.pidfd);
  if (!pid) return tl::unexpected<Error>(pid.error());
  if (*pid == 0) child_main(launch, program, std::move(kept), report.get());
  child.pid = *pid;
  return child;
}

void become_when_told(const Launch& launch, const RunOptions& options, pid_t parent, int go, int report) {
  const Program program(options.argv, options.env);
  char word = 0;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != parent || ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    ::_exit(127);
  // It comes into a sandbox whose programs may be of the same user, with the caller's memory and environment: until
  // exec nobody but root looks into it.
  if (::prctl(PR_SET_DUMPABLE, 0) != 0) ::_exit(127);
  (void)::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);  // a kernel without keyrings has none to share
  restore_signals();
  (void)close_all_but({go, report, launch.listener_to});
  // Before it is in the sandbox, whose hooks would not let it send the filter's listener; and where it is held for that
  // it has no sockets.
  if (const auto failure = take_steps(launch)) {
    tell_error(report, launch_failure(*failure));
    ::_exit(127);
  }
  (void)close_all_but({go, report});
  if (::write(report, &word, 1) != 1 || ::read(go, &word, 1) != 1) ::_exit(127);
  ::fcntl(go, F_SETFD, FD_CLOEXEC);
  ::fcntl(report, F_SETFD, FD_CLOEXEC);
  give_up(report, {kExec, program.exec()});
}

Error exec_program(const std::vector<std::string>& argv, const std::vector<std::string>& env) {
  (void)restore_limits();
  return exec_failure(argv.front(), Program(argv, env).exec());
}

}  // namespace sbpf::agent
