// SPDX-License-Identifier: Apache-2.0
#include "agent/host/openat2.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace sbpf::agent {
namespace {

// ".." while somebody renames: the kernel cannot tell whether it led out, and asks to try again.
constexpr int kTries = 1000;

constexpr std::uint64_t kBeneath = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;

tl::unexpected<Error> no_openat2(int error) {
  return fail(
      "no_openat2",
      SystemError{error, "it takes Linux 5.6 or newer; in a container its seccomp profile must let openat2 through"},
      "openat2(2) is not available");
}

tl::unexpected<Error> open_failed(int error, std::uint64_t resolve, const std::string& shown) {
  constexpr std::string_view kOnlyBeneath = "only what lies beneath the root is copied, also through symbolic links";
  switch (error) {
    case EXDEV:
      if (resolve & RESOLVE_NO_XDEV)
        return fail("mount_point", fmt::format("{} is on another file system", shown),
                    "leave --one-file-system out to copy it, too", error);
      return fail("path_escape", fmt::format("{} leads out of the root", shown), std::string(kOnlyBeneath), error);
    case ELOOP:
      return fail("path_escape",
                  fmt::format("{} goes through a magic link of /proc, or through too many symbolic links", shown),
                  std::string(kOnlyBeneath), error);
    case ENOSYS:
      return no_openat2(error);
    case ENOENT:
    case ENOTDIR:
      return fail("no_such_source", fmt::format("there is no {}", shown), "SRC is relative to the root", error);
    default:
      break;
  }
  auto failure = fail(error == EAGAIN ? ErrorCode("source_busy") : ErrorCode("source_unreadable"), SystemError{error},
                      "cannot open {}", shown);
  failure.value().retryable = error == EAGAIN;
  return failure;
}

}  // namespace

Fd open_resolved(int dir, const std::string& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = resolve;
  return Fd(static_cast<int>(::syscall(SYS_openat2, dir, path.c_str(), &how, sizeof how)));
}

Fd open_directory_without_links(const std::string& path) {
  return open_resolved(AT_FDCWD, path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

Result<Fd> open_beneath(int dir, const std::string& path, int flags, std::uint64_t resolve, const std::string& shown) {
  for (int attempt = 0;; attempt++) {
    Fd fd = open_resolved(dir, path, flags, resolve | kBeneath);
    if (fd) return fd;
    const int error = errno;
    if ((error != EAGAIN && error != EINTR) || attempt >= kTries) return open_failed(error, resolve, shown);
    ::sched_yield();
  }
}

Result<void> check_openat2() {
  const Fd fd = open_resolved(AT_FDCWD, ".", O_PATH | O_DIRECTORY, kBeneath);
  // EPERM is what older container runtimes answer for calls that they do not know.
  if (!fd && (errno == ENOSYS || errno == EPERM)) return no_openat2(errno);
  return {};
}

Result<Fd> reopen_for_reading(int path_fd, const std::string& shown) {
  const std::string self = "/proc/self/fd/" + std::to_string(path_fd);
  Fd fd(::open(self.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (fd) return fd;
  const int error = errno;
  const bool busy = error == EAGAIN;  // a lease
  auto failure = fail(busy ? ErrorCode("source_busy") : ErrorCode("source_unreadable"),
                      SystemError{error, error == ENOENT ? "is /proc mounted?" : ""}, "cannot read {}", shown);
  failure.value().retryable = busy;
  return failure;
}

int remove_tree(int parent, const std::string& name) {
  if (::unlinkat(parent, name.c_str(), 0) == 0) return 0;
  if (errno == ENOENT) return 0;
  int error = errno;
  const Fd path(::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!path) return error;
  struct stat info {};
  // A directory that its owner made read-only is still the owner's to remove.
  if (::fstat(path.get(), &info) == 0 && (info.st_mode & 0700) != 0700)
    (void)::chmod(("/proc/self/fd/" + std::to_string(path.get())).c_str(), 0700);
  const int readable = ::openat(path.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(readable < 0 ? nullptr : ::fdopendir(readable), ::closedir);
  if (!entries) {
    error = errno;
    if (readable >= 0) ::close(readable);
    return error;
  }
  error = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view child = entry->d_name;
    if (child == "." || child == "..") continue;
    const int failed = remove_tree(::dirfd(entries.get()), entry->d_name);
    if (error == 0) error = failed;
  }
  if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0 && error == 0) error = errno;
  return error;
}

}  // namespace sbpf::agent
