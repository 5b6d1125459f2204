// SPDX-License-Identifier: Apache-2.0
// An error that a child tells its parent through a pipe, in which one zero byte says that there was none.
#pragma once

#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sbpf::agent {

// In the child. That nobody reads any more is no failure of its own.
inline void tell_error(int to, const Error& error) {
  const std::string text = fmt::format("{}\n{}\n{}", error.code.text(), error.message, error.hint);
  (void)!::write(to, text.data(), text.size());
}

// In the parent: waits until the child has said one or the other, or has closed the pipe. Errors: the child's; "spawn".
inline Result<void> wait_for_word(int from) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t n = ::read(from, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n == 1 && text.empty() && part[0] == '\0') return {};
    if (n <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(n));
  }
  const std::size_t code = text.find('\n'), message = text.find('\n', code + 1);
  if (code == std::string::npos || message == std::string::npos)
    return fail("spawn", "the program's process did not start");
  return tl::unexpected<Error>(Error{ErrorCode::relayed(std::string_view(text).substr(0, code)),
                                     text.substr(code + 1, message - code - 1), text.substr(message + 1), 0, "",
                                     false});
}

}  // namespace sbpf::agent
