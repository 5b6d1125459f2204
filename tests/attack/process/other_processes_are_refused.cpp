// SPDX-License-Identifier: Apache-2.0
// Processes outside, and those of another sandbox, of the same user id: changing them, and reading out of them.
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

namespace {

// Two attacks: on a process outside of every sandbox, and on one in another. `error` at the step `on`.
#define BOTH_ATTACKS(name, on, error, who, why)                                                        \
  static void name##_body(Context& ctx);                                                               \
  PROCESS_ATTACK(name##_of_outside_process_is_refused,                                                 \
                 {.at = on, .expected = error, .victim = Victim::who, .claims = why}) {                \
    name##_body(ctx);                                                                                  \
  }                                                                                                    \
  PROCESS_ATTACK(name##_of_process_in_another_sandbox_is_refused,                                      \
                 {.at = on, .expected = error, .victim = Victim::who, .claims = why, .boxed = true}) { \
    name##_body(ctx);                                                                                  \
  }                                                                                                    \
  static void name##_body(Context& ctx)

// The same by files of /proc.
#define BOTH_ATTACKS_BY_FILE(name, on, error, who)                                                             \
  static void name##_body(Context& ctx);                                                                       \
  PROC_FILE_ATTACK(name##_of_outside_process_is_refused, on, error, who, nullptr, false) { name##_body(ctx); } \
  PROC_FILE_ATTACK(name##_of_process_in_another_sandbox_is_refused, on, error, who, nullptr, true) {           \
    name##_body(ctx);                                                                                          \
  }                                                                                                            \
  static void name##_body(Context& ctx)

#define PROC_FILE_ATTACK(name, on, error, who, why, in_another) \
  static void name##_inside(Context& ctx);                      \
  PROCESS_ATTACK(name, {.at = on,                               \
                        .expected = error,                      \
                        .victim = Victim::who,                  \
                        .claims = why,                          \
                        .boxed = in_another,                    \
                        .hidden_by_run = true}) {               \
    ctx.join();                                                 \
    name##_inside(ctx);                                         \
  }                                                             \
  static void name##_inside([[maybe_unused]] Context& ctx)

constexpr const char* kOneProcessor = "the machine has one processor, to which it is bound as it was";
constexpr const char* kOneNode = "the machine has one node, on which its memory is and stays";
constexpr const char* kAdvice = "the advice changes nothing until memory is short";
constexpr const char* kOrder = "the answer tells the order of two addresses, which change with each run";
constexpr const char* kNoList = "the answer is an address, and that of a process without such a list";
constexpr const char* kPublic = "its arguments are the machine's, and no secret can be put there";

pid_t bystander(const Context& ctx) { return static_cast<pid_t>(ctx.number("bystander")); }

std::string proc(const Context& ctx, const char* file) { return "/proc/" + ctx.text("bystander") + "/" + file; }

void read_some(const Context& ctx, const Fd& fd) {
  char text[512];
  const auto got = must(read(fd.get(), text, sizeof text), "read");
  if (got == 0) throw Failure{ENODATA, "read"};
  ctx.loot({text, static_cast<std::size_t>(got)});
}

void read_file(const Context& ctx, const std::string& path) { read_some(ctx, open_file(path, O_RDONLY)); }

void read_link(const Context& ctx, const std::string& path) {
  char text[256];
  const auto got = must(readlink(path.c_str(), text, sizeof text), "readlink");
  ctx.loot({text, static_cast<std::size_t>(got)});
}

constexpr std::size_t kSecret = 20;  // at the beginning of the bystander's memory, and at the end of its program

// Signals of a socket's readiness go to its owner.
void send_input_signal(const Fd& a, const Fd& b) {
  must(fcntl(a.get(), F_SETSIG, SIGKILL), "setsig");
  must(fcntl(a.get(), F_SETFL, O_ASYNC | O_NONBLOCK), "async");
  must(write(b.get(), "x", 1), "write");
}

void make_pair(Fd& a, Fd& b) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  a = Fd(ends[0]);
  b = Fd(ends[1]);
}

}  // namespace

// ---- changes ----

BOTH_ATTACKS(nice_value, "setpriority", EPERM, bystander_settings, nullptr) {
  must(setpriority(PRIO_PROCESS, static_cast<id_t>(bystander(ctx)), 5), "setpriority");
}

BOTH_ATTACKS(scheduling, "sched_setscheduler", EPERM, bystander_settings, nullptr) {
  const sched_param parameter{};
  must(sched_setscheduler(bystander(ctx), SCHED_BATCH, &parameter), "sched_setscheduler");
}

BOTH_ATTACKS(processors, "sched_setaffinity", EPERM, bystander_life, kOneProcessor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(0, &set);
  must(sched_setaffinity(bystander(ctx), sizeof set, &set), "sched_setaffinity");
}

BOTH_ATTACKS(io_priority, "ioprio_set", EPERM, bystander_settings, nullptr) {
  must(syscall(SYS_ioprio_set, 1, bystander(ctx), 3 << 13), "ioprio_set");  // the process; idle
}

BOTH_ATTACKS(limits, "prlimit", EPERM, bystander_settings, nullptr) {
  const rlimit limit = {0, 0};
  must(prlimit(bystander(ctx), RLIMIT_CORE, &limit, nullptr), "prlimit");
}

BOTH_ATTACKS(memory_nodes, "migrate_pages", EPERM, bystander_life, kOneNode) {
  const unsigned long nodes = 1;
  must(syscall(SYS_migrate_pages, bystander(ctx), 64, &nodes, &nodes), "migrate_pages");
}

BOTH_ATTACKS(memory_advice, "process_madvise", EACCES, bystander_life, kAdvice) {
  const Fd other(static_cast<int>(must(syscall(SYS_pidfd_open, bystander(ctx), 0), "pidfd_open")));
  iovec range{reinterpret_cast<void*>(ctx.number("bystander_memory")), 4096};
  must(syscall(SYS_process_madvise, other.get(), &range, 1, MADV_COLD, 0), "process_madvise");
}

PROCESS_ATTACK(signal_to_process_in_another_sandbox_is_refused,
               {.at = "kill", .victim = Victim::bystander_life, .boxed = true}) {
  must(kill(bystander(ctx), SIGKILL), "kill");
}

PROCESS_ATTACK(signal_to_thread_outside_is_refused, {.at = "tgkill", .victim = Victim::bystander_life}) {
  must(syscall(SYS_tgkill, bystander(ctx), bystander(ctx), SIGKILL), "tgkill");
}

PROCESS_ATTACK(queued_signal_to_outside_is_refused, {.at = "sigqueue", .victim = Victim::bystander_life}) {
  must(sigqueue(bystander(ctx), SIGKILL, sigval{}), "sigqueue");
}

PROCESS_ATTACK(stop_of_outside_process_is_refused, {.at = "kill", .victim = Victim::bystander_stop}) {
  must(kill(bystander(ctx), SIGSTOP), "kill");
}

PROCESS_ATTACK(stop_of_process_in_another_sandbox_is_refused,
               {.at = "kill", .victim = Victim::bystander_stop, .boxed = true}) {
  must(kill(bystander(ctx), SIGSTOP), "kill");
}

PROCESS_ATTACK(stop_of_outside_process_by_pidfd_is_refused,
               {.at = "pidfd_send_signal", .victim = Victim::bystander_stop}) {
  const Fd other(static_cast<int>(must(syscall(SYS_pidfd_open, bystander(ctx), 0), "pidfd_open")));
  must(syscall(SYS_pidfd_send_signal, other.get(), SIGSTOP, nullptr, 0), "pidfd_send_signal");
}

// The kernel lets SIGCONT through within a session, whoever the processes are.
PROCESS_ATTACK(resumption_of_outside_process_is_refused, {.at = "kill", .victim = Victim::bystander_resume}) {
  must(kill(bystander(ctx), SIGCONT), "kill");
}

PROCESS_ATTACK(resumption_of_process_in_another_sandbox_is_refused,
               {.at = "kill", .victim = Victim::bystander_resume, .boxed = true}) {
  must(kill(bystander(ctx), SIGCONT), "kill");
}

PROCESS_ATTACK(descriptor_signals_to_outside_are_refused, {.at = "setown", .victim = Victim::bystander_life}) {
  Fd a, b;
  make_pair(a, b);
  must(fcntl(a.get(), F_SETOWN, bystander(ctx)), "setown");
  send_input_signal(a, b);
}

PROCESS_ATTACK(descriptor_signals_to_another_sandbox_are_refused,
               {.at = "setown", .victim = Victim::bystander_life, .boxed = true}) {
  Fd a, b;
  make_pair(a, b);
  must(fcntl(a.get(), F_SETOWN, bystander(ctx)), "setown");
  send_input_signal(a, b);
}

PROCESS_ATTACK(descriptor_signals_to_a_thread_outside_are_refused,
               {.at = "setown_ex", .victim = Victim::bystander_life}) {
  Fd a, b;
  make_pair(a, b);
  const f_owner_ex owner = {F_OWNER_TID, bystander(ctx)};
  must(fcntl(a.get(), F_SETOWN_EX, &owner), "setown_ex");
  send_input_signal(a, b);
}

PROCESS_ATTACK(descriptor_signals_by_ioctl_to_outside_are_refused, {.at = "ioctl", .victim = Victim::bystander_life}) {
  Fd a, b;
  make_pair(a, b);
  const int owner = bystander(ctx);
  must(ioctl(a.get(), FIOSETOWN, &owner), "ioctl");
  send_input_signal(a, b);
}

// Another number of the same request.
PROCESS_ATTACK(descriptor_signals_by_socket_ioctl_to_outside_are_refused,
               {.at = "ioctl", .victim = Victim::bystander_life}) {
  Fd a, b;
  make_pair(a, b);
  const int owner = bystander(ctx);
  must(ioctl(a.get(), SIOCSPGRP, &owner), "ioctl");
  send_input_signal(a, b);
}

PROCESS_ATTACK(descriptor_signals_by_socket_ioctl_to_another_sandbox_are_refused,
               {.at = "ioctl", .victim = Victim::bystander_life, .boxed = true}) {
  Fd a, b;
  make_pair(a, b);
  const int owner = bystander(ctx);
  must(ioctl(a.get(), SIOCSPGRP, &owner), "ioctl");
  send_input_signal(a, b);
}

PROCESS_ATTACK(descriptor_signals_to_a_group_are_refused,
               {.at = "setown", .claims = "the group is its own, and no signal is sent"}) {
  Fd a, b;
  make_pair(a, b);
  must(fcntl(a.get(), F_SETOWN, -getpgrp()), "setown");
}

PROCESS_ATTACK(trace_of_process_in_another_sandbox_is_refused,
               {.at = "ptrace", .victim = Victim::bystander_trace, .boxed = true}) {
  must(ptrace(PTRACE_SEIZE, bystander(ctx), nullptr, nullptr), "ptrace");
}

PROCESS_ATTACK(memory_of_process_in_another_sandbox_is_refused,
               {.at = "process_vm_writev", .victim = Victim::bystander_memory, .boxed = true}) {
  std::string token = ctx.token;
  iovec here{token.data(), token.size()};
  iovec there{reinterpret_cast<void*>(ctx.number("bystander_memory")), token.size()};
  must(process_vm_writev(bystander(ctx), &here, 1, &there, 1, 0), "process_vm_writev");
}

PROCESS_ATTACK(descriptor_of_process_in_another_sandbox_is_refused,
               {.at = "pidfd_getfd", .victim = Victim::bystander_socket, .boxed = true}) {
  const Fd other(static_cast<int>(must(syscall(SYS_pidfd_open, bystander(ctx), 0), "pidfd_open")));
  const Fd fd(
      static_cast<int>(must(syscall(SYS_pidfd_getfd, other.get(), ctx.number("bystander_fd"), 0), "pidfd_getfd")));
  must(write(fd.get(), ctx.token.data(), ctx.token.size()), "write");
}

// ---- reading ----

BOTH_ATTACKS(memory_by_call, "process_vm_readv", EPERM, bystander_memory_secret, nullptr) {
  char text[kSecret];
  iovec here{text, sizeof text}, there{reinterpret_cast<void*>(ctx.number("bystander_memory")), sizeof text};
  must(process_vm_readv(bystander(ctx), &here, 1, &there, 1, 0), "process_vm_readv");
  ctx.loot({text, sizeof text});
}

BOTH_ATTACKS(comparison, "kcmp", EPERM, bystander_life, kOrder) {
  must(syscall(SYS_kcmp, getpid(), bystander(ctx), KCMP_FILES, 0, 0), "kcmp");
}

BOTH_ATTACKS(robust_list, "get_robust_list", EPERM, bystander_life, kNoList) {
  void* head = nullptr;
  std::size_t size = 0;
  must(syscall(SYS_get_robust_list, bystander(ctx), &head, &size), "get_robust_list");
}

BOTH_ATTACKS_BY_FILE(environment, "open", EPERM, bystander_program_secret) { read_file(ctx, proc(ctx, "environ")); }
BOTH_ATTACKS_BY_FILE(command_line, "open", EPERM, bystander_program_secret) { read_file(ctx, proc(ctx, "cmdline")); }
BOTH_ATTACKS_BY_FILE(status, "open", EPERM, bystander_program_secret) { read_file(ctx, proc(ctx, "status")); }
BOTH_ATTACKS_BY_FILE(statistics, "open", EPERM, bystander_program_secret) { read_file(ctx, proc(ctx, "stat")); }
BOTH_ATTACKS_BY_FILE(memory_map, "open", EPERM, bystander_program_secret) { read_file(ctx, proc(ctx, "maps")); }
BOTH_ATTACKS_BY_FILE(root_directory, "readlink", EACCES, bystander_memory_secret) { read_link(ctx, proc(ctx, "root")); }
BOTH_ATTACKS_BY_FILE(working_directory, "readlink", EACCES, bystander_memory_secret) {
  read_link(ctx, proc(ctx, "cwd"));
}
BOTH_ATTACKS_BY_FILE(program, "readlink", EACCES, bystander_program_secret) { read_link(ctx, proc(ctx, "exe")); }

PROC_FILE_ATTACK(memory_file_of_process_in_another_sandbox_is_refused, "open", EPERM, bystander_memory_secret, nullptr,
                 true) {
  const Fd memory = open_file(proc(ctx, "mem"), O_RDONLY);
  char text[kSecret];
  must(pread(memory.get(), text, sizeof text, ctx.number("bystander_memory")), "read");
  ctx.loot({text, sizeof text});
}

PROC_FILE_ATTACK(files_below_root_of_outside_process_are_refused, "open", EACCES, bystander_memory_secret, nullptr,
                 false) {
  read_file(ctx, proc(ctx, "root/etc/passwd"));
}

PROC_FILE_ATTACK(files_below_directory_of_outside_process_are_refused, "open", EACCES, bystander_memory_secret, nullptr,
                 false) {
  const Fd directory = open_file(proc(ctx, "cwd/."), O_RDONLY | O_DIRECTORY);
  read_some(ctx, Fd(must(openat(directory.get(), "etc/passwd", O_RDONLY | O_CLOEXEC), "openat")));
}

PROC_FILE_ATTACK(program_file_of_outside_process_is_refused, "open", EACCES, bystander_program_secret, nullptr, false) {
  const Fd program = open_file(proc(ctx, "exe"), O_RDONLY);
  must(lseek(program.get(), -static_cast<off_t>(kSecret), SEEK_END), "lseek");
  read_some(ctx, program);
}

PROC_FILE_ATTACK(descriptor_list_of_outside_process_is_refused, "open", EPERM, bystander_program_secret, nullptr,
                 false) {
  const Fd list = open_file(proc(ctx, "fd"), O_RDONLY | O_DIRECTORY);
  char text[256];
  const auto got = must(readlinkat(list.get(), ctx.text("bystander_file").c_str(), text, sizeof text), "readlink");
  ctx.loot({text, static_cast<std::size_t>(got)});
}

PROC_FILE_ATTACK(thread_of_outside_process_is_refused, "open", EPERM, bystander_program_secret, nullptr, false) {
  read_file(ctx, proc(ctx, ("task/" + ctx.text("bystander") + "/comm").c_str()));
}

PROC_FILE_ATTACK(outside_process_by_way_of_self_is_refused, "open", EPERM, bystander_program_secret, nullptr, false) {
  read_file(ctx, "/proc/self/../" + ctx.text("bystander") + "/cmdline");
}

PROC_FILE_ATTACK(outside_process_by_descriptor_of_proc_is_refused, "open", EPERM, bystander_program_secret, nullptr,
                 false) {
  const Fd directory = open_file(proc(ctx, ""), O_PATH | O_DIRECTORY);
  read_some(ctx, Fd(must(openat(directory.get(), "cmdline", O_RDONLY | O_CLOEXEC), "open")));
}

PROC_FILE_ATTACK(outside_process_by_symbolic_link_is_refused, "open", EPERM, bystander_program_secret, nullptr, false) {
  const std::string link = "/tmp/sbpf-attack-link-" + std::to_string(getpid());
  must(symlink(proc(ctx, "cmdline").c_str(), link.c_str()), "symlink");
  const Fd fd(open(link.c_str(), O_RDONLY | O_CLOEXEC));
  const int error = errno;
  unlink(link.c_str());
  if (!fd) throw Failure{error, "open"};
  read_some(ctx, fd);
}

PROC_FILE_ATTACK(outside_process_by_reopened_descriptor_is_refused, "open", EPERM, bystander_program_secret, nullptr,
                 false) {
  const Fd file = open_file(proc(ctx, "cmdline"), O_PATH);
  read_file(ctx, "/proc/self/fd/" + std::to_string(file.get()));
}

PROCESS_ATTACK(supervisor_of_the_sandbox_is_refused, {.at = "open", .victim = Victim::bystander_program_secret}) {
  read_file(ctx, "/proc/" + (ctx.denied ? std::to_string(getppid()) : ctx.text("bystander")) + "/cmdline");
}

PROC_FILE_ATTACK(first_process_of_the_machine_is_refused, "open", EPERM, bystander_life, kPublic, false) {
  read_file(ctx, "/proc/1/cmdline");
}
