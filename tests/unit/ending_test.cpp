// SPDX-License-Identifier: Apache-2.0
// How a run ended, and why.
#include "agent/launch/ending.h"

#include <gtest/gtest.h>

#include <csignal>

#include "agent/host/usage.h"
#include "tests/unit/fake_host.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

// The usage of a cgroup with these files.
Usage usage_with(std::initializer_list<std::pair<const char*, const char*>> files) {
  FakeHost host;
  const std::uint64_t id = host.add_cgroup("/sbpf/web");
  for (const auto& [file, text] : files) FakeHost::set_file("/sbpf/web", file, text);
  const auto cgroup = Cgroup::open_by_id(id);
  EXPECT_TRUE(cgroup);
  return read_usage(*cgroup);
}

std::string codes(const RunResult& result) {
  std::string all;
  for (const EndReason& reason : reasons_of(result)) all += (all.empty() ? "" : " ") + reason.code;
  return all;
}

std::string message(const RunResult& result) {
  const auto reasons = reasons_of(result);
  return reasons.size() == 1 ? reasons.front().message : "there are " + std::to_string(reasons.size());
}

RunResult killed() {
  RunResult result;
  result.exit_code = 137;
  result.signal = SIGKILL;
  return result;
}

TEST(Usage, is_what_the_kernel_counts) {
  Usage wanted;
  wanted.memory_peak_bytes = 5 * kMiB;
  wanted.memory_limit_bytes = 64 * kMiB;
  wanted.out_of_memory = 2;
  wanted.oom_kills = 3;
  wanted.process_limit = 8;
  wanted.forks_refused = 12;
  wanted.cpu_us = 700;
  wanted.cpu_periods = 40;
  wanted.cpu_throttled_periods = 30;
  wanted.cpu_throttled_us = 5000;
  EXPECT_EQ(usage_with({{"memory.peak", "5242880\n"},
                        {"memory.max", "67108864\n"},
                        {"memory.events", "low 0\nhigh 7\nmax 9\noom 2\noom_kill 3\noom_group_kill 1\n"},
                        {"pids.max", "8\n"},
                        {"pids.events", "max 12\n"},
                        {"cpu.stat",
                         "usage_usec 700\nuser_usec 1\nsystem_usec 2\ncore_sched.force_idle_usec 0\nnr_periods 40\n"
                         "nr_throttled 30\nthrottled_usec 5000\nnr_bursts 0\nburst_usec 0\n"}}),
            wanted);
}

TEST(Usage, is_nothing_where_the_kernel_does_not_count) { EXPECT_EQ(usage_with({}), Usage()); }

TEST(Usage, no_limit_is_no_number) { EXPECT_EQ(usage_with({{"memory.max", "max\n"}, {"pids.max", "max\n"}}), Usage()); }

TEST(Ending, of_itself_needs_no_word) {
  RunResult result;
  EXPECT_EQ(codes(result), "");
  result.exit_code = 137;  // its own child was killed, say
  EXPECT_EQ(codes(result), "");
  result.exit_code = 128 + SIGSEGV;
  result.signal = SIGSEGV;
  EXPECT_EQ(codes(result), "");
}

TEST(Ending, out_of_memory_names_the_limit) {
  RunResult result = killed();
  result.usage.memory_limit_bytes = 64 * kMiB;
  result.usage.out_of_memory = 1;
  result.usage.oom_kills = 3;
  EXPECT_EQ(codes(result), "out_of_memory");
  EXPECT_EQ(message(result),
            "out of memory: the sandbox reached its limit of 64MiB (process.limits.memory); the kernel killed 3 of its "
            "processes");
}

TEST(Ending, out_of_memory_of_the_host_names_no_limit) {
  RunResult result = killed();
  result.usage.memory_limit_bytes = 64 * kMiB;
  result.usage.oom_kills = 1;
  EXPECT_EQ(message(result),
            "out of memory: the host ran out, or a cgroup above the sandbox; the kernel killed 1 of its processes");
}

TEST(Ending, out_of_memory_is_told_though_the_program_survived) {
  RunResult result;
  result.usage.oom_kills = 1;
  EXPECT_EQ(codes(result), "out_of_memory");
}

TEST(Ending, each_killer_has_its_name) {
  RunResult result = killed();
  EXPECT_EQ(codes(result), "killed");
  result.taken_down = true;
  EXPECT_EQ(codes(result), "taken_down");
  result.usage.oom_kills = 1;
  EXPECT_EQ(codes(result), "out_of_memory");
  result.killed_for_loss = true;
  EXPECT_EQ(codes(result), "isolation_lost");
  result.timed_out = true;
  EXPECT_EQ(codes(result), "timeout");
}

TEST(Ending, taken_down_needs_a_kill) {
  RunResult result;
  result.taken_down = true;
  EXPECT_EQ(codes(result), "");
}

TEST(Ending, a_call_that_seccomp_kills_for) {
  RunResult result;
  result.signal = SIGSYS;
  EXPECT_EQ(codes(result), "seccomp");
}

TEST(Ending, limits_that_held_it_back) {
  RunResult result;
  result.usage.process_limit = 8;
  result.usage.forks_refused = 1;
  EXPECT_EQ(message(result),
            "the limit of 8 processes and threads (process.limits.processes) refused it a new one once");
  result.usage.process_limit.reset();
  result.usage.forks_refused = 12;
  EXPECT_EQ(message(result), "a limit of processes above the sandbox refused it a new one 12 times");
  result.usage.forks_refused = 0;
  result.usage.cpu_periods = 40;
  result.usage.cpu_throttled_periods = 30;
  result.usage.cpu_throttled_us = 999'999;
  EXPECT_EQ(codes(result), "");
  result.usage.cpu_throttled_us = 1'000'000;
  EXPECT_EQ(message(result), "the limit of CPU (process.limits.cpu) held it back in 75 % of the time that it ran");
  result.usage.forks_refused = 1;
  result.timed_out = true;
  EXPECT_EQ(codes(result), "timeout process_limit cpu_limit");
}

TEST(Ending, signals_have_names) {
  EXPECT_EQ(signal_name(SIGKILL), "SIGKILL");
  EXPECT_EQ(signal_name(SIGRTMIN + 1), "signal " + std::to_string(SIGRTMIN + 1));
}

}  // namespace
}  // namespace sbpf::agent
