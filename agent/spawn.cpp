// SPDX-License-Identifier: Apache-2.0
#include "agent/spawn.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/supervise.h"

namespace sbpf::agent {
namespace {

// What the child tells through its pipe when it could not exec.
struct ExecFailure {
  int error;
};

[[noreturn]] void child_main(const RunOptions& options, int report, const std::vector<std::string>& candidates) {
  restore_signals();
  std::vector<char*> argv, env;
  for (const std::string& a : options.argv) argv.push_back(const_cast<char*>(a.c_str()));
  for (const std::string& e : options.env) env.push_back(const_cast<char*>(e.c_str()));
  argv.push_back(nullptr);
  env.push_back(nullptr);
  // Everything but stdio is gone at exec, the report pipe included; no gap through which a new one could appear.
  ::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
  ExecFailure failure{ENOENT};
  for (const std::string& candidate : candidates) {
    ::execve(candidate.c_str(), argv.data(), env.data());
    if (errno != ENOENT && errno != ENOTDIR) failure.error = errno;
  }
  (void)!::write(report, &failure, sizeof failure);
  ::_exit(127);
}

std::vector<std::string> exec_candidates(const RunOptions& options) {
  const std::string& name = options.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  std::string path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  for (const std::string& e : options.env)
    if (e.rfind("PATH=", 0) == 0) path = e.substr(5);
  std::vector<std::string> candidates;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string dir = path.substr(begin, end - begin);
    candidates.push_back((dir.empty() ? "." : dir) + "/" + name);
    begin = end + 1;
  }
  return candidates;
}

}  // namespace

Result<pid_t> spawn(const Cgroup& cgroup, const RunOptions& options, Fd& pidfd) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("spawn", "cannot make a pipe", "", errno);
  Fd reader(ends[0]), writer(ends[1]);
  const auto candidates = exec_candidates(options);
  auto pid = clone_into(cgroup, pidfd);
  if (!pid) return pid;
  if (*pid == 0) child_main(options, writer.get(), candidates);
  writer.reset();
  ExecFailure failure{};
  ssize_t n = 0;
  do n = ::read(reader.get(), &failure, sizeof failure);
  while (n < 0 && errno == EINTR);
  if (n != sizeof failure) return pid;
  ::waitpid(*pid, nullptr, 0);
  const bool missing = failure.error == ENOENT || failure.error == ENOTDIR;
  return fail(missing ? "command_not_found" : "command_not_executable",
              options.argv.front() + ": " + std::strerror(failure.error),
              missing ? "the PATH of the sandbox's environment is searched; give an absolute path" : "", failure.error);
}

}  // namespace sbpf::agent
