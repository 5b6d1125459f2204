// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/waiting_child.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <utility>

#include "agent/host/descriptors.h"
#include "agent/host/told_error.h"
#include "base/child.h"
#include "base/memory_file.h"

namespace sbpf::agent {
namespace {

// What this process runs, under whatever name that is by now; and the descriptor by which sbpf-enter executes it.
constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr int kOwnNumber = 6;

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> words_for(const std::string& enter, const OwnPlaces& places) {
  std::vector<std::string> words = {enter, fmt::format("--report={}", kBeginReport)};
  if (places.joined) words.push_back(fmt::format("--in={}:{}", places.joined->pid, places.joined->mounts));
  for (const std::string& directory : places.directories) words.push_back("--private=" + directory);
  if (places.network) words.emplace_back("--network");
  if (places.workspace) words.push_back("--workspace=" + *places.workspace);
  words.insert(words.end(), {"--", fmt::format("/proc/self/fd/{}", kOwnNumber), "begin"});
  return words;
}

// The descriptors get these numbers, and stay open over an exec; all others above 2 are closed by it. 0 or an errno.
int hand_over_descriptors(const std::vector<std::pair<int, int>>& numbers) {
  constexpr int kOutOfTheWay = 8;
  std::vector<int> moved;
  for (const auto& number : numbers) {
    moved.push_back(::fcntl(number.first, F_DUPFD_CLOEXEC, kOutOfTheWay));
    if (moved.back() < 0) return errno;
  }
  if (::syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) != 0) return errno;
  for (std::size_t i = 0; i < numbers.size(); i++)
    if (::dup2(moved[i], numbers[i].second) < 0) return errno;
  return 0;
}

}  // namespace

std::string to_text(const BeginText& begin) {
  std::vector<std::string> parts = {
      fmt::format("{}", begin.parent),     begin.policy, begin.seccomp, begin.own, begin.own_seccomp,
      fmt::format("{}", begin.argv.size())};
  parts.insert(parts.end(), begin.argv.begin(), begin.argv.end());
  parts.insert(parts.end(), begin.env.begin(), begin.env.end());
  std::string text;
  for (const std::string& part : parts) (text += part) += '\0';
  return text;
}

std::optional<BeginText> begin_text_of(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t end = 0; (end = text.find('\0')) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.emplace_back(text.substr(0, end));
  constexpr std::size_t kBeforeArgv = 6;
  if (!text.empty() || parts.size() < kBeforeArgv) return std::nullopt;
  BeginText begin{parts[1], parts[2], {}, {}, -1, parts[3], parts[4]};
  std::size_t words = 0;
  (void)std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), begin.parent);
  (void)std::from_chars(parts[5].data(), parts[5].data() + parts[5].size(), words);
  if (begin.parent <= 0 || words == 0 || words > parts.size() - kBeforeArgv) return std::nullopt;
  const auto first = parts.begin() + kBeforeArgv, end = first + static_cast<std::ptrdiff_t>(words);
  begin.argv.assign(first, end);
  begin.env.assign(end, parts.end());
  return begin;
}

std::string find_sbpf_enter() {
  std::error_code ec;
  const auto own = std::filesystem::read_symlink(kOwnProgram, ec);
  const std::string beside = own.parent_path() / "sbpf-enter";
  return !ec && ::access(beside.c_str(), X_OK) == 0 ? beside : "";
}

Result<WaitingChild> WaitingChild::fork_to(const std::function<void(int go, int report)>& become) {
  int going[2], reporting[2];
  if (::pipe2(going, O_CLOEXEC) != 0) return fail("spawn", "cannot make a pipe", "", errno);
  WaitingChild waiting;
  const Fd go(going[0]);
  waiting.go_ = Fd(going[1]);
  if (::pipe2(reporting, O_CLOEXEC) != 0) return fail("spawn", "cannot make a pipe", "", errno);
  Spawned& child = waiting.child_;
  child.report = Fd(reporting[0]);
  Fd report(reporting[1]);
  child.pid = ::fork();
  if (child.pid == 0) {
    become(go.get(), report.get());
    ::_exit(127);
  }
  if (child.pid < 0) return cannot_start();
  report.reset();
  child.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0)));
  if (!child.pidfd) return fail("spawn", "the program's process cannot be watched", "", errno);
  if (auto there = wait_for_word(child.report.get()); !there) return tl::unexpected<Error>(there.error());
  return waiting;
}

Result<WaitingChild> WaitingChild::start(const Launch& launch, const RunOptions& options) {
  const pid_t self = ::getpid();
  return fork_to([&](int go, int report) { become_when_told(launch, options, self, go, report); });
}

Result<WaitingChild> WaitingChild::start_in(const OwnPlaces& places, BeginText begin, int listener_to) {
  begin.parent = ::getpid();
  const std::string enter = find_sbpf_enter();
  if (enter.empty())
    return fail("private_places", "sbpf-enter is not beside sbpf, so the program cannot have places of its own",
                "install it: it is in the package");
  const Fd text = memory_file("sbpf-begin", to_text(begin));
  if (!text) return fail("spawn", SystemError{errno}, "cannot tell the program's process what it is to become");
  const Fd own(::open(kOwnProgram, O_PATH | O_CLOEXEC));
  if (!own) return fail("spawn", SystemError{errno}, "cannot open {}", kOwnProgram);
  std::vector<std::string> words = words_for(enter, places);
  const std::vector<char*> arguments = pointers_to(words);
  return fork_to([&](int go, int report) {
    char* const nothing[] = {nullptr};
    int error = restore_limits();  // `sbpf begin` raises them itself, and must find the caller's
    std::vector<std::pair<int, int>> numbers = {
        {go, kBeginGo}, {report, kBeginReport}, {text.get(), kBeginText}, {own.get(), kOwnNumber}};
    if (listener_to >= 0) numbers.emplace_back(listener_to, kBeginListenerTo);
    if (error == 0) error = hand_over_descriptors(numbers);
    if (error == 0) {
      ::execve(enter.c_str(), arguments.data(), nothing);
      error = errno;
    }
    tell_error(report, Error{"private_places", fmt::format("cannot execute {}: {}", enter, std::strerror(error)), "",
                             error, "", false});
  });
}

WaitingChild::WaitingChild(WaitingChild&& other) noexcept
    : child_(std::exchange(other.child_, {})), waits_(other.waits_), go_(std::move(other.go_)) {}

WaitingChild::~WaitingChild() {
  if (waits_) end_child(child_.pid);
}

Result<void> WaitingChild::go_on() {
  const char word = 1;
  if (::write(go_.get(), &word, 1) != 1) return fail("spawn", "the program's process has ended", "", errno);
  waits_ = false;
  return {};
}

}  // namespace sbpf::agent
