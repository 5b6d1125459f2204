// SPDX-License-Identifier: Apache-2.0
// Instructions per operation, in a guest of `scripts/vm --icount`. Driven by tests/bench/guest; see
// docs/PERFORMANCE.md.
//
//   bench serve IN OUT            measure what the FIFO `IN` asks for: lines "LABEL OPERATION..."; answer in `OUT`
//   bench landlock IN OUT DIR...  the same, restricted by Landlock: the last DIR may be written, the others read
//   bench time LABEL RUNS CMD...  run a command: instructions of its processes, and until when it took
#include <fcntl.h>
#include <linux/landlock.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>

#include "tests/bench/ops.h"

namespace sbpf::bench {
namespace {

constexpr int kRounds = 24;  // the first one warms caches and is discarded

// Refuses to measure where a tick is not an instruction.
void check_clock() {
  constexpr std::uint64_t kTurns = 100000;  // of three instructions
  std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
  for (int round = 0; round < 8; round++) {
    std::uint64_t left = kTurns;
    const std::uint64_t start = now();
    __asm__ volatile("1:\n\tnop\n\tdec %0\n\tjnz 1b" : "+r"(left));
    best = std::min(best, now() - start);
  }
  if (best < 3 * kTurns || best > 3 * kTurns + kTurns / 20)
    die(std::to_string(3 * kTurns) + " instructions took " + std::to_string(best) +
        " ticks; this needs a guest of `scripts/vm KERNEL --icount`");
}

// Addresses differ from start to start, and with them page tables and what a fork costs.
void fix_addresses(char** argv) {
  const int old = ::personality(0xffffffff);
  if (old < 0 || (old & ADDR_NO_RANDOMIZE) != 0) return;
  if (::personality(static_cast<unsigned long>(old) | ADDR_NO_RANDOMIZE) < 0) die("personality");
  char* const none[] = {nullptr};
  ::execve("/proc/self/exe", argv, none);
  die("execve");
}

// The minimum of the rounds: interrupts and wake-ups of others only ever add.
std::uint64_t measure(const Op& op) {
  std::uint64_t best = std::numeric_limits<std::uint64_t>::max();
  if (op.prepare != nullptr) op.prepare();
  for (int round = 0; round < kRounds; round++) {
    const std::uint64_t start = now();
    for (int i = 0; i < op.iterations; i++) op.once();
    const std::uint64_t ticks = now() - start;
    if (round > 0) best = std::min(best, ticks);
  }
  return (best + static_cast<std::uint64_t>(op.iterations) / 2) / static_cast<std::uint64_t>(op.iterations);
}

const Op& find_op(const std::string& name) {
  for (const Op& op : ops())
    if (name == op.name) return op;
  die("no operation is named " + name);
}

// "all" stands for everything but what needs more than a sandbox like any other.
std::vector<std::string> expand(const std::vector<std::string>& names) {
  std::vector<std::string> expanded;
  for (const std::string& name : names) {
    if (name != "all") {
      expanded.push_back(name);
      continue;
    }
    for (const Op& op : ops())
      if (!op.special) expanded.emplace_back(op.name);
  }
  return expanded;
}

int serve(const char* in, const char* out) {
  // What the starter left open would be copied with each fork.
  ::close_range(3, ~0u, 0);
  std::FILE* requests = std::fopen(in, "re");
  std::FILE* answers = std::fopen(out, "we");
  if (requests == nullptr || answers == nullptr) die(std::string("cannot open the FIFOs: ") + std::strerror(errno));
  char line[1024];
  while (std::fgets(line, sizeof line, requests) != nullptr) {
    std::istringstream words(line);
    std::string label, name, answer;
    std::vector<std::string> names;
    words >> label;
    while (words >> name) names.push_back(name);
    for (const std::string& op : expand(names))
      answer.append(label)
          .append("\t")
          .append(op)
          .append("\t")
          .append(std::to_string(measure(find_op(op))))
          .append("\n");
    release();
    // At once, and last: the reader wakes up when nothing is measured any more.
    std::fprintf(answers, "%sdone\n", answer.c_str());
    std::fflush(answers);
  }
  return 0;
}

// ---- time ----

struct Times {
  std::uint64_t first = 0;         // until the program's first instruction; 0 if it is not `nothing`
  std::uint64_t last = 0;          // until all is done and reaped
  std::uint64_t instructions = 0;  // of all processes, as the scheduler has counted them
};

std::uint64_t children_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u + static_cast<std::uint64_t>(t.tv_usec) * 1000u;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

[[noreturn]] void run_command(char** command, int out) {
  ::dup2(out, STDOUT_FILENO);
  const int silent = ::open("/dev/null", O_WRONLY);
  if (std::getenv("BENCH_VERBOSE") == nullptr) ::dup2(silent, STDERR_FILENO);
  ::execvp(command[0], command);
  ::_exit(127);
}

Times time_once(char** command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) die("pipe");
  const std::uint64_t before = children_ns(), start = now();
  const pid_t pid = ::fork();
  if (pid < 0) die("fork");
  if (pid == 0) run_command(command, ends[1]);
  ::close(ends[1]);
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0)
    die(std::string(command[0]) + " ended with status " + std::to_string(status));
  Times times;
  times.last = now() - start;
  times.instructions = children_ns() - before;
  std::uint64_t stamp = 0;
  // More or less than a stamp is the output of some other program.
  char rest = 0;
  if (::read(ends[0], &stamp, sizeof stamp) == sizeof stamp && ::read(ends[0], &rest, 1) == 0)
    times.first = stamp - start;
  ::close(ends[0]);
  return times;
}

int time_command(const char* label, int runs, char** command) {
  Times best;
  for (int run = 0; run < runs; run++) {
    ::sleep(1);  // what the last run left to the kernel's threads
    const Times times = time_once(command);
    if (run > 0 && best.instructions <= times.instructions) continue;
    best = times;
  }
  std::printf("%s\tfirst\t%" PRIu64 "\n%s\tlast\t%" PRIu64 "\n%s\tinstructions\t%" PRIu64 "\n", label, best.first,
              label, best.last, label, best.instructions);
  return 0;
}

// ---- landlock ----

// What the files' policy of tests/bench/guest says, in Landlock's terms of its first version.
void restrict_files(char** dirs, int n) {
  constexpr std::uint64_t kRead =
      LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
  constexpr std::uint64_t kAll = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = kAll;
  const auto ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0));
  if (ruleset < 0) die("landlock_create_ruleset");
  for (int i = 0; i < n; i++) {
    landlock_path_beneath_attr rule{};
    rule.allowed_access = i == n - 1 ? kAll : kRead;
    rule.parent_fd = ::open(dirs[i], O_PATH | O_CLOEXEC);
    if (rule.parent_fd < 0 || ::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
      die(std::string("landlock_add_rule: ") + dirs[i]);
    ::close(rule.parent_fd);
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
    die("landlock_restrict_self");
  ::close(ruleset);
  if (::open("/root/.profile", O_RDONLY | O_CLOEXEC) >= 0 || errno != EACCES) die("Landlock does not restrict");
}

int run(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "time" && argc > 4) {
    check_clock();
    return time_command(argv[2], std::max(1, std::atoi(argv[3])), argv + 4);
  }
  if ((mode == "serve" && argc == 4) || (mode == "landlock" && argc > 4)) {
    fix_addresses(argv);
    check_clock();
    if (mode == "landlock") restrict_files(argv + 4, argc - 4);
    return serve(argv[2], argv[3]);
  }
  std::fprintf(
      stderr,
      "usage: bench serve IN OUT | bench landlock IN OUT DIR... | bench time LABEL RUNS COMMAND [ARGUMENT...]\n");
  return 2;
}

}  // namespace
}  // namespace sbpf::bench

int main(int argc, char** argv) { return sbpf::bench::run(argc, argv); }
