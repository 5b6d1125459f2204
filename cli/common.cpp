// SPDX-License-Identifier: Apache-2.0
#include "cli/common.h"

#include <unistd.h>

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
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); i++) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); j++) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

int exit_code_of(const Error& error, const Session& session) {
  // What must be asked for differently: to try the same again is of no use.
  constexpr std::array<std::string_view, 23> kUsage = {
      "usage",           "invalid_policy",    "no_such_policy", "too_many_rules",     "too_many_prefixes",
      "too_many_ranges", "path_escape",       "not_regular",    "too_large",          "no_such_root",
      "no_such_source",  "no_such_directory", "mount_point",    "destination_exists", "destination_in_source",
      "fs_too_deep",     "fs_conflict",       "fs_same_inode",  "fs_name_collision",  "secrets_not_handed",
      "needs_root",      "bad_name",          "planted_link"};
  if (std::ranges::find(kUsage, error.code) != kUsage.end()) return kExitUsage;
  if (session.less_if == "*" || (!session.less_if.empty() && session.less_if == error.code)) return kExitLess;
  if (error.code == "command_not_executable") return kExitNotExecutable;
  if (error.code == "command_not_found") return kExitNotFound;
  return kExitOwn;
}

std::string error_json(const Error& error) {
  const nlohmann::ordered_json body = {{"code", error.code},
                                       {"message", error.message},
                                       {"hint", error.hint},
                                       {"domain", error.domain.empty() ? "general" : error.domain},
                                       {"retryable", error.retryable}};
  return dump({{"error", body}});
}

void report(const Error& error, const Session& session) {
  // The diagnostics of a policy are lines. What else would end one is of the caller's, or of somebody he asks for: a name.
  const bool has_lines = error.code == "invalid_policy";
  tell("error: " + printable(error.message, has_lines));
  if (!error.hint.empty()) (void)write_line(STDERR_FILENO, "  hint: " + printable(error.hint));
  if (session.status_fd > STDERR_FILENO) (void)write_line(session.status_fd, error_json(error));
  if (session.json) (void)print(error_json(error) + "\n");
}

Result<void> write_line(int fd, std::string_view text) {
  // One write, so that lines of several writers do not mix.
  const std::string line = std::string(text) + "\n";
  if (write_all(fd, line)) return {};
  return fail("write_failed", "cannot write to descriptor " + std::to_string(fd) + ": " + std::strerror(errno), "", errno);
}

Result<void> print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    return fail("write_failed", std::string("cannot write to stdout: ") + std::strerror(errno), "", errno);
  return {};
}

int unless_unwritten(int exit_code) {
  // What CLI11 wrote (--help, --version) is there as well: std::cout writes through stdout.
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  if (exit_code != kExitOk) return exit_code;  // it was told, or is a program's own
  tell(std::string("error: cannot write to stdout: ") + std::strerror(errno));
  return kExitOwn;
}

void ignore_broken_pipes() { (void)std::signal(SIGPIPE, SIG_IGN); }

std::int64_t boot_epoch_ns() {
  timespec day{}, boot{};
  ::clock_gettime(CLOCK_REALTIME, &day);
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  return (std::int64_t{day.tv_sec} - boot.tv_sec) * 1'000'000'000 + day.tv_nsec - boot.tv_nsec;
}

void tell(std::string_view text) { (void)write_line(STDERR_FILENO, "sbpf: " + std::string(text)); }

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
  if (word.empty() || word == "--") return "";
  for (const std::string& candidate : candidates)
    if (candidate.starts_with(word)) return candidate;
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d >= best_distance) continue;
    best = candidate;
    best_distance = d;
  }
  return best;
}

}  // namespace sbpf::cli
