// SPDX-License-Identifier: Apache-2.0
// Files in /proc of a process outside, opened before: what is asked of them later, no hook sees.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

std::string file_of(const Context& ctx, const char* name, const std::string& proc = "/proc/") {
  return proc + ctx.text("bystander") + "/" + name;
}

void write_memory(const Context& ctx, const Fd& memory) {
  must(pwrite(memory.get(), ctx.token.data(), ctx.token.size(), ctx.number("bystander_memory")), "pwrite");
}

void read_environment(Context& ctx, const Fd& environment) {
  char text[512];
  const auto got = must(read(environment.get(), text, sizeof text), "read");
  ctx.loot({text, static_cast<std::size_t>(got)});
}

// Files that say of a process that it is this one.
void pretend(const std::string& space, const std::string& status) {
  char own[64] = {};
  must(readlink("/proc/self/ns/pid", own, sizeof own - 1), "readlink");
  must(symlink(own, space.c_str()), "symlink");
  write_text(open_file(status, O_CREAT | O_WRONLY), "Name:\tx\nNStgid:\t" + std::to_string(getpid()) + "\n");
}

// What the first process of a PID namespace opens there, where its number is 1, as that of the host's first is here.
void in_own_pids(const Context& ctx, const Step& open) {
  private_mounts();
  must(unshare(CLONE_NEWPID), "unshare");
  int opened[2], go[2];
  must(pipe2(opened, O_CLOEXEC), "pipe");
  must(pipe2(go, O_CLOEXEC), "pipe");
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    close(go[1]);
    char end = 0;
    try {
      must(mount("none", "/mnt", "proc", 0, nullptr), "mount of proc");
      open();
      must(write(opened[1], "x", 1), "write");
      must(read(go[0], &end, 1), "read");
    } catch (const Failure& failure) {
      _exit(failure.error);
    }
    _exit(0);
  }
  close(opened[1]);
  char done = 0;
  const bool ready = read(opened[0], &done, 1) == 1;
  if (ready) ctx.join();
  close(go[1]);
  int status = 0;
  must(waitpid(child, &status, 0), "waitpid");
  if (!ready || status != 0) throw Failure{WEXITSTATUS(status), "child"};
}

}  // namespace

ATTACK(attach_with_memory_of_outside_process_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused}) {
  const Fd memory = open_file(file_of(ctx, "mem"), O_RDWR);
  ctx.join();
  write_memory(ctx, memory);
}

ATTACK(attach_with_memory_of_outside_thread_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused}) {
  const Fd memory = open_file(file_of(ctx, "task/") + ctx.text("bystander") + "/mem", O_WRONLY);
  ctx.join();
  write_memory(ctx, memory);
}

ATTACK(attach_with_environment_of_outside_process_is_refused,
       {.victim = Victim::bystander_program_secret, .allow = kNever, .launch = Launch::attach_refused}) {
  const Fd environment = open_file(file_of(ctx, "environ"), O_RDONLY);
  ctx.join();
  read_environment(ctx, environment);
}

// By a mount that is gone: nothing says any more whose number it is.
ATTACK(attach_with_memory_of_outside_process_by_lost_mount_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused, .root = true}) {
  private_mounts();
  must(mount("none", "/mnt", "proc", 0, nullptr), "mount of proc");
  const Fd memory = open_file(file_of(ctx, "mem", "/mnt/"), O_RDWR);
  must(umount2("/mnt", MNT_DETACH), "umount");
  ctx.join();
  write_memory(ctx, memory);
}

// By a mount of that one file.
ATTACK(attach_with_environment_of_outside_process_by_another_name_is_refused,
       {.victim = Victim::bystander_program_secret, .allow = kNever, .launch = Launch::attach_refused, .root = true}) {
  private_mounts();
  must(mount("none", "/mnt", "tmpfs", 0, nullptr), "mount");
  const std::string name = "/mnt/" + std::to_string(getpid());
  close(must(open(name.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600), "open"));
  must(mount(file_of(ctx, "environ").c_str(), name.c_str(), nullptr, MS_BIND, nullptr), "mount of the file");
  const Fd environment = open_file(name, O_RDONLY);
  ctx.join();
  read_environment(ctx, environment);
}

// By a mount that is covered by another, where files of these names say that the process is the attacker.
ATTACK(attach_with_memory_of_outside_process_by_covered_mount_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused, .root = true}) {
  private_mounts();
  must(mount("none", "/mnt", "proc", 0, nullptr), "mount of proc");
  const Fd memory = open_file(file_of(ctx, "mem", "/mnt/"), O_RDWR);
  must(mount("none", "/mnt", "tmpfs", 0, nullptr), "mount");
  const std::string fake = "/mnt/" + ctx.text("bystander");
  must(mkdir(fake.c_str(), 0755), "mkdir");
  must(mkdir((fake + "/ns").c_str(), 0755), "mkdir");
  pretend(fake + "/ns/pid", fake + "/status");
  close(must(open((fake + "/mem").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600), "open"));
  ctx.join();
  write_memory(ctx, memory);
}

// The same over parts of what the mount shows.
ATTACK(attach_with_memory_of_outside_process_by_covered_names_is_refused,
       {.victim = Victim::bystander_memory, .allow = kNever, .launch = Launch::attach_refused, .root = true}) {
  private_mounts();
  must(mount("none", "/mnt", "proc", 0, nullptr), "mount of proc");
  const Fd memory = open_file(file_of(ctx, "mem", "/mnt/"), O_RDWR);
  const std::string space = file_of(ctx, "ns", "/mnt/"), status = file_of(ctx, "status", "/mnt/");
  must(mount("none", space.c_str(), "tmpfs", 0, nullptr), "mount");
  pretend(space + "/pid", space + "/status");
  must(mount((space + "/status").c_str(), status.c_str(), nullptr, MS_BIND, nullptr), "mount of the file");
  ctx.join();
  write_memory(ctx, memory);
}

// The number of the host's first process is that of one's own, too.
ATTACK(attach_with_file_of_first_process_is_refused,
       {.allow = kNever,
        .launch = Launch::attach_inside_refused,
        .root = true,
        .claims = "its status is the machine's, and tells that it is there"}) {
  Fd status;
  in_own_pids(ctx, [&] { status = open_file("/proc/1/status", O_RDONLY); });
}

// One's own, a thread's, a child's; and a mere place.
ATTACK(attach_with_files_of_own_processes_is_free,
       {.victim = Victim::bystander_memory, .launch = Launch::attach_inside_refused, .harmless = true}) {
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    for (;;) pause();
  }
  const Fd own = open_file("/proc/self/mem", O_RDWR), mounts = open_file("/proc/self/mountinfo", O_RDONLY);
  const Fd directory = open_file("/proc/" + std::to_string(child), O_RDONLY | O_DIRECTORY);
  const Fd others = open_file("/proc/" + std::to_string(child) + "/stat", O_RDONLY);
  const Fd place(must(open(("/proc/" + ctx.text("bystander")).c_str(), O_PATH | O_CLOEXEC), "open O_PATH"));
  in_thread([&] {
    const Fd name = open_file("/proc/thread-self/comm", O_RDWR);
    const Fd number = open_file("/proc/" + std::to_string(syscall(SYS_gettid)) + "/stat", O_RDONLY);
    ctx.join();
  });
  must(kill(child, SIGKILL), "kill");
  must(waitpid(child, nullptr, 0), "waitpid");
}

ATTACK(attach_with_file_of_own_pid_namespace_is_free,
       {.victim = Victim::bystander_memory, .launch = Launch::attach_inside_refused, .root = true, .harmless = true}) {
  Fd own, status;
  in_own_pids(ctx, [&] {
    own = open_file("/mnt/1/mem", O_RDWR);
    status = open_file("/mnt/self/status", O_RDONLY);
  });
}
