// SPDX-License-Identifier: Apache-2.0
// Result<T>: the one way in which sbpf's functions fail.
#pragma once

#include <cerrno>
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

// Passes a failure on, with what the caller was doing put before its message.
inline tl::unexpected<Error> fail(Error error, std::string_view context) {
  error.message = std::string(context) + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace sbpf
