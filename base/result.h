// SPDX-License-Identifier: Apache-2.0
// Result<T>: the one way in which sbpf's functions fail.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

#include "base/error_code.h"

namespace sbpf {

// What went wrong, for a program (`code`) and for the person at 3 a.m. (`message`, `hint`).
struct Error {
  ErrorCode code;
  std::string message;  // one sentence, names the object
  std::string hint;     // how to mend it; empty only when there is nothing to do
  int sys_errno = 0;    // errno of the failed call; 0 if none
  std::string domain;   // "network", "host"… as in the policy; empty if general
  bool retryable = false;
};

template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
 public:
  using tl::expected<T, Error>::expected;
};

// Makes the failure value of any Result<T>.
inline tl::unexpected<Error> fail(ErrorCode code, std::string message, std::string hint = "", int sys_errno = 0) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint), sys_errno, "", false});
}

// Of a system call that failed: its errno, and how to mend it; no hint where there is nothing to do.
struct SystemError {
  int number;
  std::string hint = {};
};

// Makes the failure value of any Result<T> for a system call: the message says last what its errno means.
template <typename... Args>
tl::unexpected<Error> fail(ErrorCode code, SystemError error, fmt::format_string<Args...> doing, Args&&... args) {
  const std::string message = fmt::format(doing, std::forward<Args>(args)...);
  return fail(code, fmt::format("{}: {}", message, std::strerror(error.number)), std::move(error.hint), error.number);
}

// Passes a failure on, with what the caller was doing put before its message.
inline tl::unexpected<Error> fail(Error error, std::string_view context) {
  error.message = fmt::format("{}: {}", context, error.message);
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace sbpf
