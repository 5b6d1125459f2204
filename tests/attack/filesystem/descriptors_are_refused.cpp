// SPDX-License-Identifier: Apache-2.0
// Files that someone else opened: left open across exec, sent over a socket, or open before the sandbox was there.
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include <cstring>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

Fd open_secret(const FileScene& s) { return admin_open(s("workspace/secret/token"), O_RDONLY); }
Fd open_writable(const FileScene& s) { return admin_open(s("workspace/ro/file"), O_RDWR); }
Fd open_outside(const FileScene& s) { return admin_open(s("outside"), O_RDONLY | O_DIRECTORY); }

// "send on stdin"; "recvmsg", where a descriptor that was withheld counts as EPERM.
Fd ask_for_file() {
  must(send(STDIN_FILENO, "send me a file", 14, 0), "send on stdin");
  return receive_fd(STDIN_FILENO);
}

Fd open_disk(const FileScene& s) { return admin_open(disk_node(admin_disk_of(s)), O_RDONLY | O_DIRECT); }

Fd inherited(const Context& ctx, const char* step) {
  return Fd(must(dup(static_cast<int>(ctx.number("inherited_fd"))), step));
}

}  // namespace

FILE_ATTACK(inherited_secret_is_refused,
            {.at = "dup", .expected = EBADF, .grant = Grant::never, .handed = open_secret, .inherited = true}) {
  take(ctx, inherited(ctx, "dup"));
}

FILE_ATTACK(inherited_writable_file_is_refused,
            {.at = "dup", .expected = EBADF, .grant = Grant::never, .handed = open_writable, .inherited = true}) {
  write_text(inherited(ctx, "dup"), "changed");
}

FILE_ATTACK(inherited_directory_is_refused,
            {.at = "dup", .expected = EBADF, .grant = Grant::never, .handed = open_outside, .inherited = true}) {
  take(ctx, open_at(inherited(ctx, "dup").get(), "token", O_RDONLY));
}

FILE_ATTACK(received_secret_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_secret}) {
  take(ctx, ask_for_file());
}

FILE_ATTACK(received_writable_file_is_refused,
            {.at = "recvmsg", .expected = EPERM, .form = Form::carved, .handed = open_writable}) {
  write_text(ask_for_file(), "changed");
}

FILE_ATTACK(received_file_on_tmpfs_is_refused,
            {.at = "recvmsg", .expected = EPERM, .ground = Ground::memory, .handed = open_writable}) {
  write_text(ask_for_file(), "changed");
}

// Whatever rules say of the directory of its node.
FILE_ATTACK(received_disk_is_refused, {.at = "recvmsg",
                                       .expected = EPERM,
                                       .form = Form::carved,
                                       .grant = Grant::none,
                                       .handed = open_disk,
                                       .lacking = {{ENODEV}}}) {
  take_from_disk(ctx, ask_for_file());
}

// Of files, the policy says nothing.
FILE_ATTACK(received_disk_without_rules_is_refused, {.at = "recvmsg",
                                                     .expected = EPERM,
                                                     .programs = Programs::named,
                                                     .grant = Grant::none,
                                                     .handed = open_disk,
                                                     .lacking = {{ENODEV}}}) {
  take_from_disk(ctx, ask_for_file());
}

FILE_ATTACK(fallocate_of_received_file_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_writable}) {
  must(fallocate(ask_for_file().get(), 0, 0, 4096), "fallocate");
}

FILE_ATTACK(truncation_of_received_file_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_writable}) {
  must(ftruncate(ask_for_file().get(), 0), "ftruncate");
}

FILE_ATTACK(sendfile_into_received_file_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_writable}) {
  const Fd to = ask_for_file();
  create(workspace(ctx, "new"));
  const Fd from = open_file(workspace(ctx, "new"), O_RDONLY);
  must(sendfile(to.get(), from.get(), nullptr, 7), "sendfile");
}

FILE_ATTACK(splice_into_received_file_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_writable}) {
  const Fd to = ask_for_file();
  int ends[2];
  must(pipe2(ends, O_CLOEXEC), "pipe");
  must(write(ends[1], "changed", 7), "write");
  must(splice(ends[0], nullptr, to.get(), nullptr, 7, 0), "splice");
}

FILE_ATTACK(mapping_of_received_file_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_writable}) {
  const Fd fd = ask_for_file();
  void* memory = mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  std::memcpy(memory, "mapping!", 8);
}

FILE_ATTACK(received_directory_is_refused, {.at = "recvmsg", .expected = EPERM, .handed = open_outside}) {
  list(ctx, ask_for_file());
}

// A bare path gives no right: what is opened from it is judged.
FILE_ATTACK(open_from_received_path_descriptor_is_refused,
            {.at = "openat", .handed = [](const FileScene& s) { return admin_open(s("outside"), O_PATH); }}) {
  take(ctx, open_at(ask_for_file().get(), "token", O_RDONLY));
}

// What may be read may be received, and does not become writable by it.
FILE_ATTACK(reopening_of_received_file_is_refused,
            {.at = "open", .handed = [](const FileScene& s) { return admin_open(s("workspace/ro/file"), O_RDONLY); }}) {
  const Fd fd = ask_for_file();
  take(ctx, fd);
  overwrite(fd_link(fd));
}

// Attaching to a process that holds what it must not.
FILE_ATTACK(attach_with_open_secret_is_refused, {.launch = Launch::attach_refused}) {
  const Fd fd = open_file(workspace(ctx, "secret/token"), O_RDONLY);
  ctx.join();
  take(ctx, fd);
}

FILE_ATTACK(attach_with_writable_file_is_refused, {.form = Form::carved, .launch = Launch::attach_refused}) {
  const Fd fd = open_file(workspace(ctx, "tests/test.py"), O_RDWR);
  ctx.join();
  write_text(fd, "changed");
}

FILE_ATTACK(attach_with_open_disk_is_refused, {.form = Form::carved,
                                               .grant = Grant::none,
                                               .launch = Launch::attach_refused,
                                               .root = true,
                                               .lacking = {{ENODEV}}}) {
  const Fd disk = open_file(disk_node(disk_of(ctx)), O_RDONLY | O_DIRECT);
  ctx.join();
  take_from_disk(ctx, disk);
}

FILE_ATTACK(attach_with_writable_mapping_is_refused, {.launch = Launch::attach_refused}) {
  Fd fd = open_file(workspace(ctx, "ro/file"), O_RDWR);
  void* memory = mmap(nullptr, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) throw Failure{errno, "mmap"};
  fd.reset();
  ctx.join();
  std::memcpy(memory, "mapping!", 8);
}

FILE_ATTACK(attach_inside_with_open_secret_is_refused, {.launch = Launch::attach_inside_refused}) {
  const Fd fd = open_file(workspace(ctx, "secret/token"), O_RDONLY);
  ctx.join();
  take(ctx, fd);
}
