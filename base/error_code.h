// SPDX-License-Identifier: Apache-2.0
// ErrorCode: one of the codes of base/errors.def, by which a failure is known to programs, and what follows from it.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace sbpf {

class ErrorCode {
 public:
  // "unknown".
  constexpr ErrorCode() : ErrorCode(find("unknown")) {}

  // A code that base/errors.def lacks does not compile.
  consteval ErrorCode(const char* text) : ErrorCode(find(text)) {  // NOLINT(google-explicit-constructor)
    if (!is_listed(number_)) throw "not in base/errors.def";
  }

  // What another process said: "unknown" unless it is in the list.
  static constexpr ErrorCode relayed(std::string_view text) {
    const std::size_t number = find(text);
    return is_listed(number) ? ErrorCode(number) : ErrorCode();
  }

  // Stable, snake_case: "no_btf", "cgroup_not_found".
  constexpr std::string_view text() const;
  std::string str() const { return std::string(text()); }

  // Of a command that fails by it: 2, 125, 126 or 127.
  constexpr int exit_code() const;

  // Of the API's answer.
  constexpr unsigned http_status() const;

  friend constexpr bool operator==(ErrorCode, ErrorCode) = default;

 private:
  explicit constexpr ErrorCode(std::size_t number) : number_(number) {}
  static constexpr std::size_t find(std::string_view text);
  static constexpr bool is_listed(std::size_t number);

  std::size_t number_;  // in the list
};

namespace error_list {

struct Row {
  std::string_view text;
  int exit_code;
  unsigned http_status;
};

inline constexpr std::array kRows = {
#define SBPF_ERROR(code, exit_code, http_status) Row{#code, exit_code, http_status},
#include "base/errors.def"
#undef SBPF_ERROR
};

}  // namespace error_list

constexpr std::size_t ErrorCode::find(std::string_view text) {
  std::size_t number = 0;
  while (is_listed(number) && error_list::kRows[number].text != text) number++;
  return number;
}

constexpr bool ErrorCode::is_listed(std::size_t number) { return number < error_list::kRows.size(); }
constexpr std::string_view ErrorCode::text() const { return error_list::kRows[number_].text; }
constexpr int ErrorCode::exit_code() const { return error_list::kRows[number_].exit_code; }
constexpr unsigned ErrorCode::http_status() const { return error_list::kRows[number_].http_status; }

}  // namespace sbpf
