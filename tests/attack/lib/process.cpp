// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <thread>
#include <vector>

namespace attack {

namespace {

// A Failure as it goes through a pipe or shared memory; error 0 = got through.
struct Report {
  int error = 0;
  char step[60] = {};
};

Report report_of(const Step& step) {
  Report report;
  try {
    step();
  } catch (const Failure& failure) {
    report.error = failure.error;
    failure.step.copy(report.step, sizeof(report.step) - 1);
  }
  return report;
}

void raise(const Report& report) {
  if (report.error != 0) throw Failure{report.error, report.step};
}

struct Pipe {
  Fd read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  must(pipe2(ends, O_CLOEXEC), "pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

[[noreturn]] void report_and_exit(const Pipe& pipe, const Step& step) {
  const Report report = report_of(step);
  std::_Exit(write(pipe.write_end.get(), &report, sizeof(report)) == sizeof(report) ? 0 : 1);
}

void raise_report_from(Pipe& pipe) {
  Report report;
  pipe.write_end.reset();
  if (read(pipe.read_end.get(), &report, sizeof(report)) != sizeof(report)) throw Failure{ECHILD, "child died"};
  raise(report);
}

struct Shared {
  const Step* step;
  Report report;
};

int run_shared(void* argument) {
  auto* shared = static_cast<Shared*>(argument);
  shared->report = report_of(*shared->step);
  return 0;
}

std::vector<std::string> command_of(const char* name, const Context& ctx, const std::string& extra) {
  std::vector<std::string> command = {"attacker", "exec", name};
  for (const auto& [key, value] : ctx.arguments()) command.push_back(key + "=" + value);
  if (!extra.empty()) command.push_back(extra);
  return command;
}

std::vector<char*> pointers_of(std::vector<std::string>& command) {
  std::vector<char*> pointers;
  for (std::string& part : command) pointers.push_back(part.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

void in_child(const Step& step) {
  Pipe pipe = make_pipe();
  const pid_t child = must(fork(), "fork");
  if (child == 0) report_and_exit(pipe, step);
  waitpid(child, nullptr, 0);
  raise_report_from(pipe);
}

void in_daemon(const Step& step) {
  Pipe pipe = make_pipe();
  const pid_t middle = must(fork(), "fork");
  if (middle == 0) {
    setsid();
    const pid_t parent = getpid(), child = fork();
    if (child != 0) std::_Exit(child < 0);
    while (getppid() == parent) usleep(1000);
    report_and_exit(pipe, step);
  }
  waitpid(middle, nullptr, 0);
  raise_report_from(pipe);
}

void in_vfork_like_child(const Step& step) {
  static char stack[1 << 18] __attribute__((aligned(16)));
  Shared shared{&step, {}};
  const pid_t child =
      must(clone(run_shared, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &shared), "clone");
  waitpid(child, nullptr, 0);
  raise(shared.report);
}

void in_thread(const Step& step) {
  Report report;
  std::thread([&] { report = report_of(step); }).join();
  raise(report);
}

void in_cgroup_child(int cgroup_fd, const Step& step) {
  Pipe pipe = make_pipe();
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<__u64>(cgroup_fd);
  const auto child = static_cast<pid_t>(must(syscall(SYS_clone3, &arguments, sizeof(arguments)), "clone3"));
  if (child == 0) report_and_exit(pipe, step);
  waitpid(child, nullptr, 0);
  raise_report_from(pipe);
}

void exec_attack(const std::string& program, const char* name, const Context& ctx, const std::string& extra) {
  auto command = command_of(name, ctx, extra);
  must(execv(program.c_str(), pointers_of(command).data()), "exec");
}

void exec_attack_fd(int program_fd, const char* name, const Context& ctx) {
  auto command = command_of(name, ctx, {});
  must(fexecve(program_fd, pointers_of(command).data(), environ), "exec");
}

std::string own_cgroup(const Context& ctx) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return ctx.text("cgroup_root") + line.substr(3);
  throw Failure{ENOENT, "own cgroup"};
}

void move_to_cgroup(const std::string& directory) {
  const Fd procs = open_file(directory + "/cgroup.procs", O_WRONLY);
  write_text(procs, std::to_string(getpid()));
}

Fd open_file(const std::string& path, int flags, int mode) {
  return Fd(must(open(path.c_str(), flags | O_CLOEXEC, mode), "open"));
}

void write_text(const Fd& fd, const std::string& text) { must(write(fd.get(), text.data(), text.size()), "write"); }

std::pair<Fd, std::string> new_terminal() {
  Fd controller(must(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "openpt"));
  must(unlockpt(controller.get()), "unlockpt");
  char name[64] = {};
  if (ptsname_r(controller.get(), name, sizeof name) != 0) throw Failure{errno, "ptsname"};
  return {std::move(controller), name};
}

void private_mounts() {
  must(unshare(CLONE_NEWNS), "unshare");
  must(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "make private");
}

}  // namespace attack
