// SPDX-License-Identifier: Apache-2.0
// memory_file(): a text for another process, as a file that has no name.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "base/fd.h"

namespace sbpf {

// A file in memory with this text, at its beginning; an exec closes it. `name` is for who looks into /proc. Errors:
// errno.
inline Fd memory_file(const char* name, const std::string& text) {
  Fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return Fd();
  return file;
}

}  // namespace sbpf
