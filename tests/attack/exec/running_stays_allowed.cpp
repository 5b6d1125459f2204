// SPDX-License-Identifier: Apache-2.0
// No attacks: what must run under the very policies that refuse the others.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/process.h"
#include "tests/attack/lib/programs.h"

using namespace attack;

namespace {

// The secret must not be seen: it is what tells that something forbidden was run.
void admin_scripts(const FileScene& s) {
  for (const char* name : {"workspace/ro/script", "workspace/dir/script"})
    admin_write(s(name), "#!/bin/sh\nexec /bin/true\n", 0755);
}

void must_run(const Context& ctx, const std::string& path) { run_and_take(ctx, {path}); }

}  // namespace

PROGRAM_ATTACK(listed_programs_stay_allowed,
               {.programs = Programs::listed, .prepare = admin_scripts, .harmless = true}) {
  must_run(ctx, "/bin/true");
  must_run(ctx, workspace(ctx, "ro/script"));
  run_and_take(ctx, {"/bin/sh", "-c", "true | cat; /usr/bin/env true"});
  run_fd_and_take(ctx, open_path("/bin/true"), "");
  run_and_take(ctx, {"/lib64/ld-linux-x86-64.so.2", "/bin/true"});
}

PROGRAM_ATTACK(listed_programs_on_overlay_stay_allowed,
               {.programs = Programs::listed, .ground = Ground::overlay, .prepare = admin_scripts, .harmless = true}) {
  must_run(ctx, workspace(ctx, "ro/script"));
  void* memory = map_file(workspace(ctx, "ro/script"), PROT_READ);
  protect(memory, PROT_READ | PROT_EXEC);
  map_file(workspace(ctx, "ro/script"), PROT_READ | PROT_EXEC);
}

PROGRAM_ATTACK(listed_program_within_a_denied_directory_stays_allowed, {.programs = Programs::listed,
                                                                        .allow = "workspace/dir/script",
                                                                        .forbid = "workspace/dir",
                                                                        .prepare = admin_scripts,
                                                                        .harmless = true}) {
  must_run(ctx, workspace(ctx, "dir/script"));
}

PROGRAM_ATTACK(listed_program_that_appears_later_stays_allowed, {.programs = Programs::listed,
                                                                 .allow = "workspace/tools",
                                                                 .meanwhile =
                                                                     [](const FileScene& s) {
                                                                       admin_mkdir(s("workspace/tools"));
                                                                       admin_write(s("workspace/tools/script"),
                                                                                   "#!/bin/sh\nexec /bin/true\n", 0755);
                                                                     },
                                                                 .harmless = true}) {
  ctx.join();
  must_run(ctx, workspace(ctx, "tools/script"));
}

PROGRAM_ATTACK(files_stay_free_beside_exec_rules,
               {.programs = Programs::listed, .prepare = admin_scripts, .harmless = true}) {
  create(workspace(ctx, "new"));
  overwrite(workspace(ctx, "new"), O_APPEND);
  map_file(workspace(ctx, "dir/script"), PROT_READ | PROT_WRITE);
  rename_to(workspace(ctx, "dir"), workspace(ctx, "moved"));
  must(unlink(workspace(ctx, "moved/file").c_str()), "unlink");
  open_file(workspace(ctx, "secret/token"), O_RDONLY);
}

PROGRAM_ATTACK(anonymous_code_stays_allowed, {.programs = Programs::listed, .harmless = true}) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  protect(memory, PROT_READ | PROT_EXEC);
  const Fd fd = memory_file();
  must(ftruncate(fd.get(), 4096), "ftruncate");
  map_file(fd, PROT_READ | PROT_WRITE);
}

PROGRAM_ATTACK(programs_that_are_not_denied_stay_allowed,
               {.programs = Programs::named, .prepare = admin_scripts, .harmless = true}) {
  must_run(ctx, "/bin/true");
  must_run(ctx, workspace(ctx, "dir/script"));
  const Fd fd = memory_file();
  copy_into(fd, "/bin/true");
  run_fd_and_take(ctx, fd, "");
}

PROGRAM_ATTACK(read_only_programs_stay_allowed,
               {.programs = Programs::unwritable, .prepare = admin_scripts, .harmless = true}) {
  must_run(ctx, "/bin/true");
  must_run(ctx, workspace(ctx, "ro/script"));
  run_and_take(ctx, {"/bin/sh", workspace(ctx, "dir/script")});  // read by the shell, and not run
  create(workspace(ctx, "new"));
}
