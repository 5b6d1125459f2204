// SPDX-License-Identifier: Apache-2.0
// No attacks: what must get through under the very policy that refuses the others. A rule that refuses too much passes
// every attack.
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

// What a build does all day.
void work(const Context& ctx) {
  const auto at = [&](const char* name) { return workspace(ctx, name); };
  must(mkdir(at("new").c_str(), 0755), "mkdir");
  create(at("new/one"));
  overwrite(at("new/one"), O_APPEND);
  rename_to(at("new/one"), at("dir/one"));
  rename_to(at("dir/one"), at("dir/file"));
  rename_to(at("dir/file"), at("free"), 2);  // RENAME_EXCHANGE
  must(link(at("free").c_str(), at("new/link").c_str()), "link");
  must(symlink("link", at("new/symlink").c_str()), "symlink");
  must(truncate(at("new/symlink").c_str(), 2), "truncate");
  must(chmod(at("free").c_str(), 0600), "chmod");
  must(utimensat(AT_FDCWD, at("free").c_str(), nullptr, 0), "utimensat");
  must(mkfifo(at("new/fifo").c_str(), 0600), "mkfifo");
  rename_to(at("new"), at("dir/moved"));
  for (const char* name : {"dir/moved/link", "dir/moved/symlink", "dir/moved/fifo"})
    must(unlink(at(name).c_str()), "unlink");
  must(rmdir(at("dir/moved").c_str()), "rmdir");
  list(ctx, open_file(at("dir"), O_RDONLY | O_DIRECTORY));
}

// What may be read is read, what may be entered is entered.
void look_around(const Context& ctx) {
  for (const char* name :
       {"ro/file", "ro/dir/file", "tests/test.py", "tests/dir/more.py", "instruction.md", "project/tests/test.py"})
    open_file(workspace(ctx, name), O_RDONLY);
  for (const char* name : {"ro", "tests", "project", "project/tests", "empty"})
    open_file(workspace(ctx, name), O_RDONLY | O_DIRECTORY);
}

}  // namespace

FILE_ATTACK(work_in_workspace_stays_allowed, {.harmless = true}) { work(ctx); }

FILE_ATTACK(work_by_default_read_stays_allowed, {.form = Form::carved, .harmless = true}) { work(ctx); }

FILE_ATTACK(work_by_default_write_stays_allowed, {.form = Form::open, .harmless = true}) { work(ctx); }

FILE_ATTACK(work_on_tmpfs_stays_allowed, {.ground = Ground::memory, .harmless = true}) { work(ctx); }

FILE_ATTACK(work_on_overlay_stays_allowed, {.ground = Ground::overlay, .harmless = true}) { work(ctx); }

FILE_ATTACK(reading_stays_allowed, {.harmless = true}) { look_around(ctx); }

FILE_ATTACK(reading_on_overlay_stays_allowed, {.form = Form::carved, .ground = Ground::overlay, .harmless = true}) {
  look_around(ctx);
}

// Memory, which the kernel keeps as a file of its own. There may be no huge pages to be had.
FILE_ATTACK(huge_pages_stay_allowed, {.harmless = true}) {
  constexpr std::size_t kSize = 2u << 20;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  must(memory == MAP_FAILED && errno != ENOMEM ? -1 : 0, "mmap");
}

// Only what is in a file is secret, not that it is there.
FILE_ATTACK(stat_of_denied_file_stays_allowed, {.harmless = true}) {
  struct stat info {};
  must(stat(workspace(ctx, "secret/token").c_str(), &info), "stat");
  must(access(scene(ctx, "outside/token").c_str(), F_OK), "access");
  must(chdir(workspace(ctx, "secret").c_str()), "chdir");
  must(fstat(open_path("token").get(), &info), "fstat");
}

FILE_ATTACK(name_to_handle_of_denied_file_stays_allowed, {.harmless = true}) {
  alignas(file_handle) char space[sizeof(file_handle) + MAX_HANDLE_SZ] = {};
  auto* handle = reinterpret_cast<file_handle*>(space);
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount = 0;
  must(name_to_handle_at(AT_FDCWD, workspace(ctx, "secret/token").c_str(), handle, &mount, 0), "name_to_handle_at");
}

// A name that begins as a protected one does.
FILE_ATTACK(neighbour_of_protected_name_stays_writable, {.form = Form::carved, .harmless = true}) {
  overwrite(workspace(ctx, "tests2/file"));
  create(workspace(ctx, "tests2/new"));
  create(workspace(ctx, ".hooks2"));
  create(workspace(ctx, "instruction.md.orig"));
  must(mkdir(workspace(ctx, "test").c_str(), 0755), "mkdir");
}

FILE_ATTACK(writing_beside_rules_stays_allowed, {.harmless = true}) {
  create(workspace(ctx, "project/new"));
  must(mkdir(workspace(ctx, "project/dir").c_str(), 0755), "mkdir");
  create(workspace(ctx, "empty/sooner"));
  must(unlink(workspace(ctx, "empty/sooner").c_str()), "unlink");
  must(mkdir(workspace(ctx, "a").c_str(), 0755), "mkdir");
  create(workspace(ctx, "a/c"));
  must(mkdir(workspace(ctx, "dir/a").c_str(), 0755), "mkdir");
  create(workspace(ctx, "dir/a/b"));
}

FILE_ATTACK(forty_levels_stay_writable, {.harmless = true}) {
  std::string name = workspace(ctx, "deep");
  for (int i = 0; i < 40; i++) {
    must(mkdir(name.c_str(), 0755), "mkdir");
    name += "/d";
  }
  create(name);
  overwrite(name);
}

FILE_ATTACK(memory_files_stay_free, {.harmless = true}) {
  const Fd fd(static_cast<int>(must(memfd_create("attack", MFD_CLOEXEC), "memfd_create")));
  write_text(fd, "text");
  must(ftruncate(fd.get(), 4096), "ftruncate");
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  std::memcpy(memory, "mapping", 7);
  overwrite(fd_link(fd));
  open_file(fd_link(fd), O_RDONLY);
}

FILE_ATTACK(pipes_and_sockets_stay_free, {.harmless = true}) {
  int ends[2];
  must(pipe2(ends, O_CLOEXEC), "pipe");
  overwrite("/proc/self/fd/" + std::to_string(ends[1]));
  int pair[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
  must(write(pair[0], "text", 4), "write");
  const Fd pidfd(static_cast<int>(must(syscall(SYS_pidfd_open, getpid(), 0), "pidfd_open")));
}

FILE_ATTACK(unix_bind_in_workspace_stays_allowed, {.harmless = true}) {
  const Fd fd(must(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket"));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  workspace(ctx, "socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  must(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), "bind");
}

// A file system that the administrator mounted in the workspace has its rules.
FILE_ATTACK(file_system_in_workspace_stays_writable,
            {.prepare =
                 [](const FileScene& s) {
                   admin_mkdir(s("workspace/mnt"));
                   must(mount("none", s("workspace/mnt").c_str(), "tmpfs", 0, "mode=0777"), "admin mount");
                 },
             .harmless = true}) {
  must(mkdir(workspace(ctx, "mnt/dir").c_str(), 0755), "mkdir");
  create(workspace(ctx, "mnt/dir/file"));
  rename_to(workspace(ctx, "mnt/dir/file"), workspace(ctx, "mnt/file"));
}

FILE_ATTACK(rename_beside_rules_made_outside_stays_allowed,
            {.meanwhile = [](const FileScene& s) { admin_mkdir(s("workspace/fresh/dir")); }, .harmless = true}) {
  ctx.join();
  create(workspace(ctx, "fresh/dir/file"));
  rename_to(workspace(ctx, "fresh"), workspace(ctx, "dir/fresh"));
}

FILE_ATTACK(running_programs_stays_allowed,
            {.prepare = [](const FileScene& s) { admin_program(s, s("workspace/ro/program")); }, .harmless = true}) {
  run_and_take(ctx, {"/bin/true"});
  run_and_take(ctx, {"/bin/sh", "-c", "true"});
}
