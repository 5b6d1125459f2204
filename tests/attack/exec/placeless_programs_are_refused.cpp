// SPDX-License-Identifier: Apache-2.0
// Code that lies in no place a list could name: in memory, or deleted.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

namespace {

void program_to_copy(const FileScene& s) { admin_program(s, s("workspace/secret/program")); }
void code_to_copy(const FileScene& s) { admin_code(s, s("workspace/secret/code")); }

// In a directory whose programs may be run, and that the attacker may change.
void admin_deletable(const FileScene& s) {
  admin_mkdir(s("workspace/tools"));
  admin_program(s, s("workspace/tools/program"));
  admin_code(s, s("workspace/tools/code"));
}

Fd code_in_memory(const Context& ctx) {
  Fd fd = memory_file();
  copy_into(fd, workspace(ctx, "secret/code"));
  must(ftruncate(fd.get(), 4096), "ftruncate");
  return fd;
}

}  // namespace

PROGRAM_ATTACK(program_in_memory_is_refused, {.at = "exec", .programs = Programs::listed, .prepare = program_to_copy}) {
  const Fd fd = memory_file();
  copy_into(fd, workspace(ctx, "secret/program"));
  run_fd_and_take(ctx, fd, "");
}

PROGRAM_ATTACK(program_in_memory_by_proc_descriptor_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = program_to_copy}) {
  const Fd fd = memory_file();
  copy_into(fd, workspace(ctx, "secret/program"));
  run_and_take(ctx, {fd_link(fd), "stamp"});
}

PROGRAM_ATTACK(program_in_memory_beside_writable_files_is_refused,
               {.at = "exec",
                .programs = Programs::unwritable,
                .form = Form::carved,
                .prepare = [](const FileScene& s) { admin_program(s, s("workspace/ro/program")); }}) {
  const Fd fd = memory_file();
  copy_into(fd, workspace(ctx, "ro/program"));
  run_fd_and_take(ctx, fd, "");
}

PROGRAM_ATTACK(executable_mapping_of_memory_file_is_refused,
               {.at = "mmap", .programs = Programs::listed, .prepare = code_to_copy}) {
  run_code(ctx, map_file(code_in_memory(ctx), PROT_READ | PROT_EXEC));
}

PROGRAM_ATTACK(mapping_of_memory_file_made_executable_is_refused,
               {.at = "mprotect", .programs = Programs::listed, .prepare = code_to_copy}) {
  void* memory = map_file(code_in_memory(ctx), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(executable_system_v_memory_is_refused,
               {.at = "shmat", .programs = Programs::listed, .prepare = code_to_copy}) {
  const int id = static_cast<int>(must(shmget(IPC_PRIVATE, 4096, 0700 | IPC_CREAT), "shmget"));
  void* memory = shmat(id, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) throw Failure{errno, "shmat to write"};
  const void* from = map_file(workspace(ctx, "secret/code"), PROT_READ);
  std::memcpy(memory, from, 512);
  void* again = shmat(id, nullptr, SHM_EXEC);
  const int error = errno;
  shmctl(id, IPC_RMID, nullptr);
  if (again == reinterpret_cast<void*>(-1)) throw Failure{error, "shmat"};
  run_code(ctx, again);
}

// The ring's memory belongs to a file of the kernel's own, which was never deleted. Later kernels let nobody run it.
PROGRAM_ATTACK(executable_mapping_of_ring_is_refused,
               {.at = "mmap", .programs = Programs::listed, .prepare = code_to_copy, .lacking = {{EPERM}}}) {
  Ring ring;
  void* memory =
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, ring.get()->ring_fd, IORING_OFF_SQES);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  std::memcpy(memory, map_file(workspace(ctx, "secret/code"), PROT_READ), 64);
  run_code(ctx, memory);
}

PROGRAM_ATTACK(program_in_dev_shm_is_refused,
               {.at = "exec", .programs = Programs::listed, .prepare = program_to_copy}) {
  const std::string copy = "/dev/shm/sbpf-attack-" + ctx.token;
  copy_program(workspace(ctx, "secret/program"), copy);
  const Fd fd = open_path(copy);
  unlink(copy.c_str());
  run_fd_and_take(ctx, fd, "");
}

PROGRAM_ATTACK(deleted_program_is_refused,
               {.at = "exec", .programs = Programs::listed, .allow = "workspace/tools", .prepare = admin_deletable}) {
  const Fd fd = open_file(workspace(ctx, "tools/program"), O_RDONLY);
  must(unlink(workspace(ctx, "tools/program").c_str()), "unlink");
  run_fd_and_take(ctx, fd, "");
}

// Another program of the directory has run, so that its verdict is remembered.
PROGRAM_ATTACK(deleted_program_beside_one_that_ran_is_refused, {.at = "exec",
                                                                .programs = Programs::listed,
                                                                .allow = "workspace/tools",
                                                                .prepare = [](const FileScene& s) {
                                                                  admin_deletable(s);
                                                                  copy_program("/bin/true", s("workspace/tools/other"));
                                                                }}) {
  run_and_take(ctx, {workspace(ctx, "tools/other")});
  const Fd fd = open_file(workspace(ctx, "tools/program"), O_RDONLY);
  must(unlink(workspace(ctx, "tools/program").c_str()), "unlink");
  run_fd_and_take(ctx, fd, "");
}

PROGRAM_ATTACK(deleted_program_on_overlay_is_refused, {.at = "exec",
                                                       .programs = Programs::listed,
                                                       .ground = Ground::overlay,
                                                       .allow = "workspace/tools",
                                                       .prepare = admin_deletable}) {
  const Fd fd = open_file(workspace(ctx, "tools/program"), O_RDONLY);
  must(unlink(workspace(ctx, "tools/program").c_str()), "unlink");
  run_fd_and_take(ctx, fd, "");
}

PROGRAM_ATTACK(executable_mapping_of_deleted_code_is_refused,
               {.at = "mmap", .programs = Programs::listed, .allow = "workspace/tools", .prepare = admin_deletable}) {
  const Fd fd = open_file(workspace(ctx, "tools/code"), O_RDONLY);
  must(unlink(workspace(ctx, "tools/code").c_str()), "unlink");
  run_code(ctx, map_file(fd, PROT_READ | PROT_EXEC));
}

// A file that never had a name, in a directory whose programs may be run.
PROGRAM_ATTACK(nameless_program_is_refused, {.at = "exec",
                                             .programs = Programs::listed,
                                             .allow = "workspace/tools",
                                             .prepare =
                                                 [](const FileScene& s) {
                                                   program_to_copy(s);
                                                   admin_deletable(s);
                                                 },
                                             .lacking = {EOPNOTSUPP}}) {
  Fd writable(must(open(workspace(ctx, "tools").c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0700), "open O_TMPFILE"));
  copy_into(writable, workspace(ctx, "secret/program"));
  const Fd fd = open_path(fd_link(writable));
  writable = Fd();  // a file that is open for writing is not run
  run_fd_and_take(ctx, fd, "");
}
