// SPDX-License-Identifier: Apache-2.0
// open_by_handle_at knows no path; deleted files have none any more.
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

struct Handle {
  union {
    file_handle header;
    char space[sizeof(file_handle) + MAX_HANDLE_SZ];
  };
  int mount = 0;
};

Handle handle_of(const std::string& path) {
  Handle handle;
  std::memset(handle.space, 0, sizeof(handle.space));
  handle.header.handle_bytes = MAX_HANDLE_SZ;
  must(name_to_handle_at(AT_FDCWD, path.c_str(), &handle.header, &handle.mount, 0), "name_to_handle_at");
  return handle;
}

Fd open_handle(const Context& ctx, Handle& handle, int flags) {
  const Fd mount = open_file(workspace(ctx, "dir"), O_RDONLY | O_DIRECTORY);
  return Fd(must(open_by_handle_at(mount.get(), &handle.header, flags | O_CLOEXEC), "open_by_handle_at"));
}

// Names that nobody uses leave memory: a file opened by its handle then has no parent that the kernel knows.
void drop_names() {
  sync();
  const Fd fd(must(open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC), "admin open"));
  must(write(fd.get(), "2", 1), "admin write");
}

}  // namespace

FILE_ATTACK(handle_of_denied_file_is_refused, {.at = "open_by_handle_at", .root = true}) {
  Handle handle = handle_of(workspace(ctx, "secret/token"));
  take(ctx, open_handle(ctx, handle, O_RDONLY));
}

FILE_ATTACK(handle_of_denied_file_by_default_write_is_refused,
            {.at = "open_by_handle_at", .form = Form::open, .root = true}) {
  Handle handle = handle_of(scene(ctx, "outside/token"));
  take(ctx, open_handle(ctx, handle, O_RDONLY));
}

FILE_ATTACK(handle_of_read_only_file_is_refused, {.at = "open_by_handle_at", .root = true}) {
  Handle handle = handle_of(workspace(ctx, "ro/file"));
  write_text(open_handle(ctx, handle, O_WRONLY), "changed");
}

FILE_ATTACK(handle_on_tmpfs_is_refused, {.at = "open_by_handle_at", .ground = Ground::memory, .root = true}) {
  Handle handle = handle_of(workspace(ctx, "secret/token"));
  take(ctx, open_handle(ctx, handle, O_RDONLY));
}

FILE_ATTACK(handle_of_denied_directory_is_refused, {.at = "open_by_handle_at", .root = true}) {
  Handle handle = handle_of(scene(ctx, "outside"));
  list(ctx, open_handle(ctx, handle, O_RDONLY | O_DIRECTORY));
}

FILE_ATTACK(path_descriptor_by_handle_is_refused, {.at = "openat", .root = true}) {
  Handle handle = handle_of(workspace(ctx, "secret"));
  const Fd directory = open_handle(ctx, handle, O_PATH | O_DIRECTORY);
  take(ctx, open_at(directory.get(), "token", O_RDONLY));
}

// Whoever cannot be told where a file lies gives no verdict in its favour: refused also where all is allowed.
FILE_ATTACK(handle_after_cache_drop_is_refused, {.at = "open_by_handle_at",
                                                 .grant = Grant::none,
                                                 .meanwhile = [](const FileScene&) { drop_names(); },
                                                 .root = true}) {
  Handle handle = handle_of(workspace(ctx, "secret/token"));
  ctx.join();
  take(ctx, open_handle(ctx, handle, O_RDONLY));
}

FILE_ATTACK(directory_handle_after_cache_drop_is_refused,
            {.at = "openat", .form = Form::open, .meanwhile = [](const FileScene&) { drop_names(); }, .root = true}) {
  Handle handle = handle_of(workspace(ctx, "secret/dir"));
  ctx.join();
  const Fd directory = open_handle(ctx, handle, O_PATH | O_DIRECTORY);
  take(ctx, open_at(directory.get(), "token", O_RDONLY));
}

FILE_ATTACK(reopening_of_deleted_file_is_refused,
            {.at = "open", .meanwhile = [](const FileScene& s) { admin_remove(s("workspace/secret/token")); }}) {
  const Fd fd = open_path(workspace(ctx, "secret/token"));
  ctx.join();
  steal(ctx, fd_link(fd));
}

FILE_ATTACK(reopening_in_deleted_directory_is_refused,
            {.at = "open", .form = Form::carved, .meanwhile = [](const FileScene& s) {
               admin_remove(s("workspace/secret/dir"));
             }}) {
  const Fd fd = open_path(workspace(ctx, "secret/dir/token"));
  ctx.join();
  steal(ctx, fd_link(fd));
}

// The rule's own directory is gone, and its inode with it.
FILE_ATTACK(reopening_in_deleted_denied_directory_is_refused,
            {.at = "open", .meanwhile = [](const FileScene& s) { admin_remove(s("outside")); }}) {
  const Fd fd = open_path(scene(ctx, "outside/token"));
  ctx.join();
  steal(ctx, fd_link(fd));
}

FILE_ATTACK(reopening_of_deleted_single_file_is_refused,
            {.at = "open", .meanwhile = [](const FileScene& s) { admin_remove(s("workspace/secret.key")); }}) {
  const Fd fd = open_path(workspace(ctx, "secret.key"));
  ctx.join();
  steal(ctx, fd_link(fd));
}
