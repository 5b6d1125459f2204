// SPDX-License-Identifier: Apache-2.0
// Small files, without a stream, which costs more than the reading.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace sbpf {

// Opens a file of ours, and waits for nobody: what root in a sandbox that judges no files puts there instead, a link or
// a FIFO say, is not opened. None, with errno, where that fails.
inline Fd open_regular(const std::string& path, int flags, mode_t mode = 0600) {
  Fd file(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode));
  struct stat info {};
  if (file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode)) return file;
  if (file) errno = EINVAL;
  return {};
}

// What the file holds, and no more than `most` bytes of it: a device or a pipe need have no end. Nothing, with errno,
// where it cannot be read.
inline std::optional<std::string> read_up_to(const Fd& file, std::size_t most) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < most) {
    const ssize_t n = ::read(file.get(), buffer.data(), std::min(buffer.size(), most - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::nullopt;
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return text;
}

inline std::optional<std::string> read_up_to(const std::string& path, std::size_t most) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file ? read_up_to(file, most) : std::nullopt;
}

// Writes all of it. False, with errno, where that fails.
inline bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// What the file holds, as far as it can be read; "" where it cannot be opened.
inline std::string read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t n = 0;
  while ((n = ::read(file.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

}  // namespace sbpf
