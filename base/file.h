// SPDX-License-Identifier: Apache-2.0
// read_file(): the whole of a small file, without a stream, which costs more than the reading.
#pragma once

#include <fcntl.h>

#include <array>
#include <string>

#include "base/fd.h"

namespace sbpf {

// What the file holds, as far as it can be read; "" where it cannot be opened.
inline std::string read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer;
  ssize_t n = 0;
  while ((n = ::read(file.get(), buffer.data(), buffer.size())) > 0) text.append(buffer.data(), static_cast<std::size_t>(n));
  return text;
}

}  // namespace sbpf
