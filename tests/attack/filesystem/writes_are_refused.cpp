// SPDX-License-Identifier: Apache-2.0
// Changing the contents of what may only be read, and the entries of directories that may only be read.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

FILE_ATTACK(write_to_read_only_file_is_refused, {.at = "open"}) { overwrite(workspace(ctx, "ro/file")); }

FILE_ATTACK(write_to_read_only_file_by_default_write_is_refused, {.at = "open", .form = Form::open}) {
  overwrite(workspace(ctx, "ro/dir/file"));
}

FILE_ATTACK(write_by_default_read_is_refused, {.at = "open", .form = Form::carved}) {
  overwrite(scene(ctx, "elsewhere/token"));
}

FILE_ATTACK(write_to_denied_file_is_refused, {.at = "open"}) { overwrite(scene(ctx, "outside/token")); }

FILE_ATTACK(write_to_protected_file_is_refused, {.at = "open"}) { overwrite(workspace(ctx, "tests/test.py")); }

FILE_ATTACK(write_below_protected_directory_is_refused, {.at = "open", .form = Form::open}) {
  overwrite(workspace(ctx, "tests/dir/more.py"));
}

FILE_ATTACK(write_to_single_protected_file_is_refused, {.at = "open"}) { overwrite(workspace(ctx, "instruction.md")); }

FILE_ATTACK(write_to_read_only_file_on_tmpfs_is_refused, {.at = "open", .ground = Ground::memory}) {
  overwrite(workspace(ctx, "ro/file"));
}

FILE_ATTACK(write_to_protected_file_on_tmpfs_is_refused,
            {.at = "open", .form = Form::carved, .ground = Ground::memory}) {
  overwrite(workspace(ctx, "instruction.md"));
}

FILE_ATTACK(read_write_open_of_read_only_file_is_refused, {.at = "open"}) {
  write_text(open_file(workspace(ctx, "ro/file"), O_RDWR), "changed");
}

FILE_ATTACK(append_to_read_only_file_is_refused, {.at = "open"}) { overwrite(workspace(ctx, "ro/file"), O_APPEND); }

FILE_ATTACK(truncating_open_is_refused, {.at = "open"}) {
  open_file(workspace(ctx, "tests/test.py"), O_WRONLY | O_TRUNC);
}

// Opened for reading only, and emptied nevertheless.
FILE_ATTACK(truncating_open_for_reading_is_refused, {.at = "open", .form = Form::carved}) {
  open_file(workspace(ctx, "tests/test.py"), O_RDONLY | O_TRUNC);
}

FILE_ATTACK(creating_open_of_protected_file_is_refused, {.at = "create"}) { create(workspace(ctx, "instruction.md")); }

FILE_ATTACK(truncate_of_read_only_file_is_refused, {.at = "truncate"}) {
  must(truncate(workspace(ctx, "ro/file").c_str(), 3), "truncate");
}

FILE_ATTACK(truncate_of_protected_file_is_refused, {.at = "truncate", .form = Form::open}) {
  must(truncate(workspace(ctx, "project/tests/test.py").c_str(), 0), "truncate");
}

FILE_ATTACK(truncate_on_tmpfs_is_refused, {.at = "truncate", .ground = Ground::memory}) {
  must(truncate(workspace(ctx, "ro/file").c_str(), 3), "truncate");
}

FILE_ATTACK(ftruncate_of_reopened_file_is_refused, {.at = "open"}) {
  const Fd reading = open_file(workspace(ctx, "ro/file"), O_RDONLY);
  const Fd writing = open_file(fd_link(reading), O_RDWR);
  must(ftruncate(writing.get(), 0), "ftruncate");
}

FILE_ATTACK(shared_mapping_of_read_only_file_is_refused, {.at = "open"}) {
  const Fd fd = open_file(workspace(ctx, "ro/file"), O_RDWR);
  void* memory = mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  std::memcpy(memory, "mapping!", 8);
  must(msync(memory, 8, MS_SYNC), "msync");
}

FILE_ATTACK(fallocate_of_read_only_file_is_refused, {.at = "open"}) {
  const Fd fd = open_file(workspace(ctx, "ro/file"), O_WRONLY);
  must(fallocate(fd.get(), 0, 0, 4096), "fallocate");
}

FILE_ATTACK(copy_file_range_into_read_only_file_is_refused, {.at = "open"}) {
  create(workspace(ctx, "new"));
  const Fd from = open_file(workspace(ctx, "new"), O_RDONLY), to = open_file(workspace(ctx, "ro/file"), O_WRONLY);
  must(copy_file_range(from.get(), nullptr, to.get(), nullptr, 7, 0), "copy_file_range");
}

// Directories: their entries.

FILE_ATTACK(creation_in_read_only_directory_is_refused, {.at = "create"}) { create(workspace(ctx, "ro/new")); }

FILE_ATTACK(creation_in_protected_directory_is_refused, {.at = "create", .form = Form::open}) {
  create(workspace(ctx, "tests/dir/new"));
}

FILE_ATTACK(creation_in_denied_directory_is_refused, {.at = "create"}) { create(scene(ctx, "outside/new")); }

FILE_ATTACK(creation_in_unlisted_directory_is_refused, {.at = "create"}) { create(scene(ctx, "elsewhere/new")); }

FILE_ATTACK(creation_in_protected_directory_on_tmpfs_is_refused, {.at = "create", .ground = Ground::memory}) {
  create(workspace(ctx, "tests/new"));
}

FILE_ATTACK(removal_of_read_only_file_is_refused, {.at = "unlink"}) {
  must(unlink(workspace(ctx, "ro/file").c_str()), "unlink");
}

FILE_ATTACK(removal_of_protected_file_is_refused, {.at = "unlink", .form = Form::carved}) {
  must(unlink(workspace(ctx, "instruction.md").c_str()), "unlink");
}

FILE_ATTACK(removal_of_denied_file_is_refused, {.at = "unlink"}) {
  must(unlink(workspace(ctx, "secret.key").c_str()), "unlink");
}

FILE_ATTACK(removal_of_protected_file_on_tmpfs_is_refused, {.at = "unlink", .ground = Ground::memory}) {
  must(unlink(workspace(ctx, "tests/test.py").c_str()), "unlink");
}

FILE_ATTACK(directory_in_read_only_directory_is_refused, {.at = "mkdir"}) {
  must(mkdir(workspace(ctx, "ro/new").c_str(), 0755), "mkdir");
}

FILE_ATTACK(removal_of_read_only_directory_is_refused,
            {.at = "rmdir", .prepare = [](const FileScene& s) { admin_mkdir(s("workspace/ro/bare")); }}) {
  must(rmdir(workspace(ctx, "ro/bare").c_str()), "rmdir");
}

FILE_ATTACK(fifo_in_protected_directory_is_refused, {.at = "mkfifo"}) {
  must(mkfifo(workspace(ctx, "tests/fifo").c_str(), 0644), "mkfifo");
}

FILE_ATTACK(symlink_in_read_only_directory_is_refused, {.at = "symlink"}) {
  must(symlink("file", workspace(ctx, "ro/link").c_str()), "symlink");
}
