// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"

#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/format.h"

namespace sbpf::cli {
int exit_code_of(const Error& error, const Session& session) {
  const int exit_code = error.code.exit_code();
  const bool less = session.less_if == "*" || session.less_if == error.code.text();
  return less && exit_code != kExitUsage ? kExitLess : exit_code;
}

std::string error_json(const Error& error) {
  const nlohmann::ordered_json body = {{"code", error.code.text()},
                                       {"message", error.message},
                                       {"hint", error.hint},
                                       {"domain", error.domain.empty() ? "general" : error.domain},
                                       {"retryable", error.retryable}};
  return dump({{"error", body}});
}

void report(const Error& error, const Session& session) {
  // The diagnostics of a policy are lines. What else would end one is of the caller's, or of somebody he asks for: a
  // name.
  const bool has_lines = error.code == "invalid_policy";
  tell(fmt::format("error: {}", printable(error.message, has_lines)));
  if (!error.hint.empty()) (void)write_line(STDERR_FILENO, fmt::format("  hint: {}", printable(error.hint)));
  if (session.status_fd > STDERR_FILENO) (void)write_line(session.status_fd, error_json(error));
  if (session.json) (void)print(error_json(error) + "\n");
}

Result<void> write_line(int fd, std::string_view text) {
  // One write, so that lines of several writers do not mix.
  const std::string line = std::string(text) + "\n";
  if (write_all(fd, line)) return {};
  return fail("write_failed", SystemError{errno}, "cannot write to descriptor {}", fd);
}

Result<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail("write_failed", SystemError{errno}, "cannot write to stdout");
  return {};
}

bool agrees(std::string_view question) {
  if (!print(question)) return false;
  std::array<char, 16> line{};
  if (std::fgets(line.data(), line.size(), stdin) == nullptr) return false;
  const std::string_view answer(line.data());
  return answer == "y\n" || answer == "Y\n" || answer == "yes\n";
}

int unless_unwritten(int exit_code) {
  // What CLI11 wrote (--help, --version) is there as well: std::cout writes through stdout.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  if (exit_code != kExitOk) return exit_code;  // it was told, or is a program's own
  tell(fmt::format("error: cannot write to stdout: {}", std::strerror(errno)));
  return kExitOwn;
}

void ignore_broken_pipes() { (void)std::signal(SIGPIPE, SIG_IGN); }

std::int64_t boot_epoch_ns() {
  timespec day{}, boot{};
  ::clock_gettime(CLOCK_REALTIME, &day);
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  return (std::int64_t{day.tv_sec} - boot.tv_sec) * 1'000'000'000 + day.tv_nsec - boot.tv_nsec;
}

void tell(std::string_view text) { (void)write_line(STDERR_FILENO, fmt::format("sbpf: {}", text)); }

}  // namespace sbpf::cli
