// SPDX-License-Identifier: Apache-2.0
// The same by io_uring: at once, by a worker, by the ring's own thread.
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"
#include "tests/attack/lib/uring.h"

using namespace attack;

namespace {

void steal_by(Ring& ring, const Context& ctx, const std::string& path, unsigned flags = 0) {
  io_uring_sqe* request = ring.request();
  io_uring_prep_openat(request, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  io_uring_sqe_set_flags(request, flags);
  take(ctx, Fd(ring.complete("openat")));
}

}  // namespace

FILE_ATTACK(uring_open_of_denied_file_is_refused, {.at = "openat"}) {
  Ring ring;
  steal_by(ring, ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(uring_worker_open_is_refused, {.at = "openat", .form = Form::carved}) {
  Ring ring;
  steal_by(ring, ctx, workspace(ctx, "secret/token"), IOSQE_ASYNC);
}

FILE_ATTACK(uring_sqpoll_open_is_refused, {.at = "openat"}) {
  Ring ring(IORING_SETUP_SQPOLL);
  steal_by(ring, ctx, scene(ctx, "outside/token"));
}

// Credentials of a request's own look like those that the kernel lends to overlayfs, which opens what lies below a
// file.
FILE_ATTACK(uring_open_by_personality_is_refused, {.at = "openat", .expected = EPERM, .grant = Grant::none}) {
  Ring ring;
  const int personality = io_uring_register_personality(ring.get());
  if (personality < 0) throw Failure{-personality, "register"};
  const std::string path = workspace(ctx, "secret/token");
  io_uring_sqe* request = ring.request();
  io_uring_prep_openat(request, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  request->personality = static_cast<__u16>(personality);
  take(ctx, Fd(ring.complete("openat")));
}

FILE_ATTACK(premade_sqpoll_ring_open_is_refused, {.at = "openat", .launch = Launch::attach}) {
  Ring ring(IORING_SETUP_SQPOLL);
  ctx.join();
  steal_by(ring, ctx, workspace(ctx, "secret/token"));
}

FILE_ATTACK(uring_open_for_writing_is_refused, {.at = "openat"}) {
  Ring ring;
  const std::string path = workspace(ctx, "tests/test.py");
  io_uring_prep_openat(ring.request(), AT_FDCWD, path.c_str(), O_WRONLY | O_TRUNC, 0);
  const Fd fd(ring.complete("openat"));
}

// Into the ring's own table: no descriptor of the process is ever made.
FILE_ATTACK(uring_direct_open_is_refused, {.at = "openat"}) {
  Ring ring;
  ring.register_file(-1);
  const std::string path = workspace(ctx, "secret/token");
  io_uring_prep_openat_direct(ring.request(), AT_FDCWD, path.c_str(), O_RDONLY, 0, 0);
  ring.complete("openat");
  char buffer[64] = {};
  io_uring_sqe* request = ring.request();
  io_uring_prep_read(request, 0, buffer, sizeof(buffer), 0);
  io_uring_sqe_set_flags(request, IOSQE_FIXED_FILE);
  const int got = ring.complete("read");
  ctx.loot({buffer, static_cast<std::size_t>(got)});
}

FILE_ATTACK(uring_openat2_is_refused, {.at = "openat2"}) {
  Ring ring;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC;
  const std::string path = scene(ctx, "elsewhere/token");
  io_uring_prep_openat2(ring.request(), AT_FDCWD, path.c_str(), &how);
  take(ctx, Fd(ring.complete("openat2")));
}

FILE_ATTACK(uring_unlink_is_refused, {.at = "unlinkat"}) {
  Ring ring;
  const std::string path = workspace(ctx, "instruction.md");
  io_uring_prep_unlinkat(ring.request(), AT_FDCWD, path.c_str(), 0);
  ring.complete("unlinkat");
}

FILE_ATTACK(uring_worker_unlink_is_refused, {.at = "unlinkat", .form = Form::open}) {
  Ring ring;
  io_uring_sqe* request = ring.request();
  const std::string path = workspace(ctx, "ro/file");
  io_uring_prep_unlinkat(request, AT_FDCWD, path.c_str(), 0);
  io_uring_sqe_set_flags(request, IOSQE_ASYNC);
  ring.complete("unlinkat");
}

FILE_ATTACK(uring_rename_is_refused, {.at = "renameat"}) {
  Ring ring;
  const std::string from = workspace(ctx, "free"), to = workspace(ctx, "tests/test.py");
  io_uring_prep_renameat(ring.request(), AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0);
  ring.complete("renameat");
}

FILE_ATTACK(uring_link_is_refused, {.at = "linkat"}) {
  Ring ring;
  const std::string from = workspace(ctx, "secret/token"), to = workspace(ctx, "loot");
  io_uring_prep_linkat(ring.request(), AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0);
  ring.complete("linkat");
  steal(ctx, to);
}

FILE_ATTACK(uring_symlink_is_refused, {.at = "symlinkat"}) {
  Ring ring;
  const std::string path = workspace(ctx, ".hooks");
  io_uring_prep_symlinkat(ring.request(), "dir", AT_FDCWD, path.c_str());
  ring.complete("symlinkat");
}

FILE_ATTACK(uring_mkdir_is_refused, {.at = "mkdirat"}) {
  Ring ring;
  const std::string path = workspace(ctx, "tests/new");
  io_uring_prep_mkdirat(ring.request(), AT_FDCWD, path.c_str(), 0755);
  ring.complete("mkdirat");
}

FILE_ATTACK(uring_setxattr_is_refused, {.at = "setxattr"}) {
  Ring ring;
  const std::string path = workspace(ctx, "ro/file");
  io_uring_prep_setxattr(ring.request(), "user.mark", "x", path.c_str(), 0, 1);
  ring.complete("setxattr");
}

// The worker is there from before the change: it takes the credentials of the request for the time of it, as the kernel
// does where it acts on its own.
FILE_ATTACK(uring_worker_setxattr_after_change_of_credentials_is_refused, {.at = "setxattr"}) {
  Ring ring;
  io_uring_sqe* request = ring.request();
  io_uring_prep_nop(request);
  io_uring_sqe_set_flags(request, IOSQE_ASYNC);
  ring.complete("nop");
  must(prctl(PR_SET_KEEPCAPS, 1), "prctl");
  request = ring.request();
  const std::string path = workspace(ctx, "ro/file");
  io_uring_prep_setxattr(request, "user.mark", "x", path.c_str(), 0, 1);
  io_uring_sqe_set_flags(request, IOSQE_ASYNC);
  ring.complete("setxattr");
}

FILE_ATTACK(uring_fsetxattr_is_refused, {.at = "fsetxattr"}) {
  Ring ring;
  const Fd fd = open_file(workspace(ctx, "ro/file"), O_RDONLY);
  io_uring_prep_fsetxattr(ring.request(), fd.get(), "user.mark", "x", 0, 1);
  ring.complete("fsetxattr");
}
