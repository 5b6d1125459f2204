// SPDX-License-Identifier: Apache-2.0
#include "agent/files/program_digests.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/sha256.h"
#include "policy/image.h"

namespace sbpf::agent {
Result<void> check_digest(const Fd& file, const std::string& sha256) {
  struct statx info {};
  struct statfs filesystem {};
  if (::statx(file.get(), "", AT_EMPTY_PATH, STATX_TYPE, &info) != 0 || ::fstatfs(file.get(), &filesystem) != 0)
    return fail("digest", SystemError{errno}, "cannot look at the file");
  if (!S_ISREG(info.stx_mode))
    return fail("unenforceable", "not a regular file", "pin the programs in a directory one by one");
  // Their files are known by name only (docs/DESIGN.md); and what is in one of FUSE its server says anew at each read.
  if (filesystem.f_type == OVERLAYFS_SUPER_MAGIC || filesystem.f_type == FUSE_SUPER_MAGIC)
    return fail("unenforceable", "on overlayfs and FUSE a file cannot be told from one that replaces it",
                "keep the program on ext4, btrfs or f2fs, mounted into the sandbox's root");
  if ((info.stx_attributes & STATX_ATTR_VERITY) == 0)
    return fail("unenforceable", "without fs-verity its contents may change at any time",
                "run `fsverity enable FILE` (package fsverity), on ext4 made with -O verity, on btrfs or f2fs");
  const Fd readable(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable) return fail("digest", SystemError{errno}, "cannot read the file");
  Sha256 digest;
  std::array<char, 65536> buffer{};
  ssize_t got = 0;
  while ((got = ::read(readable.get(), buffer.data(), buffer.size())) > 0)
    digest.add(buffer.data(), static_cast<std::size_t>(got));
  if (got < 0) return fail("digest", SystemError{errno}, "cannot read the file");
  if (const std::string found = policy::hex(digest.finish()); found != sha256)
    return fail("other_content", fmt::format("the file has the SHA-256 {}", found),
                "if that is the program you mean, write this digest into the policy");
  return {};
}

}  // namespace sbpf::agent
