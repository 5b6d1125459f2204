// SPDX-License-Identifier: Apache-2.0
// What a sandbox's ring told is kept in files: each event once and in order, the first of a kind for good, and what
// falls out is counted.
#include "agent/sandbox/event_log.h"

#include <fcntl.h>
#include <sys/file.h>

#include <bpf/bpf.h>
#include <fstream>

#include "agent/sandbox/sandbox.h"
#include "tests/unit/fake_kernel.h"
#include "tests/unit/temp_dir.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kCgroup = 70;
constexpr std::size_t kInRing = 100;                                       // events that have room in a ring
constexpr std::size_t kSize = sizeof(std::uint32_t) + sizeof(sbpf_event);  // of one in a file
constexpr std::size_t kInFile = kLogBytes / kSize;

class Log : public InTempDir {
 protected:
  void SetUp() override {
    InTempDir::SetUp();
    fake_.add_sandbox(kCgroup, "web");
    ASSERT_TRUE(EventLog::begin(fake_.kernel(), kCgroup));
  }

  EventLog log() { return {fake_.kernel(), kCgroup, top_}; }
  // Events with these times, in the ring.
  void tell(std::uint64_t from, std::uint64_t until, std::uint32_t first = 0) {
    for (std::uint64_t ts = from; ts < until; ts++) {
      sbpf_event event{};
      event.ts_ns = ts;
      event.key = ts;
      event.times = 1;
      event.first = first;
      event.verdict = SBPF_DENY;
      fake_.tell(kCgroup, &event, sizeof event);
    }
  }
  static std::vector<std::uint64_t> times_in(EventLog& log, bool last = false) {
    std::vector<std::uint64_t> times;
    log.read_new([&](const sbpf_fs_event& event) { times.push_back(event.event.ts_ns); }, last);
    return times;
  }
  // Collects so many events, from this time on, as they come.
  void collect(EventLog& log, std::uint64_t from, std::size_t count) {
    for (std::uint64_t at = from; at < from + count; at += kInRing) {
      tell(at, std::min<std::uint64_t>(at + kInRing, from + count));
      const auto done = log.collect();
      ASSERT_TRUE(done) << done.error().message;
      ASSERT_TRUE(*done);
    }
  }
  std::filesystem::path file(const char* name) const { return top_ / std::to_string(kCgroup) / name; }

  FakeKernel fake_;
};

std::vector<std::uint64_t> range(std::uint64_t from, std::uint64_t until) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = from; i < until; i++) all.push_back(i);
  return all;
}

TEST_F(Log, each_event_is_told_once_and_in_order) {
  EventLog log = this->log(), other = this->log();
  tell(1, 4);
  EXPECT_TRUE(log.collect().value());
  EXPECT_EQ(times_in(log), range(1, 4));
  EXPECT_EQ(times_in(log), range(0, 0));
  tell(4, 6);
  EXPECT_TRUE(other.collect().value()) << "whoever collects";
  EXPECT_EQ(times_in(log), range(4, 6));
  EXPECT_EQ(times_in(other), range(1, 6)) << "reading takes nothing away";
}

TEST_F(Log, firsts_and_others_are_one_list) {
  EventLog log = this->log();
  tell(1, 2, 1);
  tell(2, 3);
  tell(3, 4, 1);
  EXPECT_TRUE(log.collect().value());
  EXPECT_EQ(times_in(log), range(1, 4));
}

// The ring's position is shared by all who read it.
TEST_F(Log, one_collects_at_a_time) {
  EventLog log = this->log();
  tell(1, 2);
  std::filesystem::create_directory(file("").parent_path());
  {
    const Fd turn(::open(file("").parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::flock(turn.get(), LOCK_EX), 0);
    EXPECT_FALSE(log.collect().value());
    EXPECT_EQ(times_in(log), range(0, 0));
  }
  EXPECT_TRUE(log.collect().value());
  EXPECT_EQ(times_in(log), range(1, 2));
}

TEST_F(Log, what_falls_out_is_counted_and_the_first_of_a_kind_stays) {
  EventLog log = this->log();
  tell(1, 2, 1);
  constexpr std::size_t kMany = 4 * kInFile;
  collect(log, 2, kMany);
  const auto kept = times_in(log);
  EXPECT_EQ(kept.front(), 1u) << "the first of its kind";
  EXPECT_EQ(kept.back(), 1 + kMany) << "the latest";
  EXPECT_EQ(log.dropped(), 1 + kMany - kept.size());
  EXPECT_GT(log.dropped(), kInFile);
  EXPECT_LE(std::filesystem::file_size(file("latest")), kLogBytes);
  EXPECT_LE(std::filesystem::file_size(file("older")), kLogBytes);
}

TEST_F(Log, what_falls_out_counts_with_its_equals) {
  EventLog log = this->log();
  sbpf_event event{};
  event.ts_ns = 1;
  event.times = 1000;
  event.verdict = SBPF_DENY;
  fake_.tell(kCgroup, &event, sizeof event);
  EXPECT_TRUE(log.collect().value());
  constexpr std::size_t kMany = 2 * kInFile + kInRing;
  collect(log, 2, kMany);
  const auto kept = times_in(log);
  EXPECT_GT(kept.front(), 1u);
  EXPECT_EQ(log.dropped(), 1000 + kMany - kept.size());
}

TEST_F(Log, who_reads_as_it_grows_misses_nothing) {
  EventLog log = this->log(), reader = this->log();
  std::vector<std::uint64_t> all;
  for (std::uint64_t from = 1; from < 4 * kInFile; from += kInFile / 2) {
    collect(log, from, kInFile / 2);
    const auto some = times_in(reader);
    all.insert(all.end(), some.begin(), some.end());
  }
  EXPECT_EQ(all, range(1, all.size() + 1));
  EXPECT_GE(all.size(), 4 * kInFile - 1);
}

TEST_F(Log, equals_that_were_not_told_yet_count_at_the_end) {
  EventLog log = this->log();
  tell(1, 3);
  EXPECT_TRUE(log.collect().value());
  const std::uint64_t id = kCgroup;
  sbpf_told told{};
  told.one[0][0] = {1, 0, 4};
  told.one[3][1] = {2, 0, 7};
  ASSERT_EQ(bpf_map_update_elem(fake_.kernel().told(), &id, &told, BPF_ANY), 0);
  std::map<std::uint64_t, std::uint32_t> times;
  const auto count = [&](const sbpf_fs_event& event) { times[event.event.ts_ns] += event.event.times; };
  log.read_new(count);
  EXPECT_EQ(times, (std::map<std::uint64_t, std::uint32_t>{{1, 1}, {2, 1}}));
  log.read_new(count, true);
  EXPECT_EQ(times, (std::map<std::uint64_t, std::uint32_t>{{1, 5}, {2, 8}})) << "went to the sink before";
  EventLog late = this->log();
  times.clear();
  late.read_new(count, true);
  EXPECT_EQ(times, (std::map<std::uint64_t, std::uint32_t>{{1, 5}, {2, 8}})) << "read for the first time";
}

// Whoever takes the sandbox down removed the files before: nobody would remove what came after.
TEST_F(Log, of_a_sandbox_that_is_gone_nothing_is_kept) {
  EventLog log = this->log();
  tell(1, 2);
  const std::uint64_t id = kCgroup;
  ASSERT_EQ(bpf_map_delete_elem(fake_.kernel().sandboxes(), &id), 0);
  EXPECT_TRUE(log.collect().value());
  EXPECT_FALSE(std::filesystem::exists(file("").parent_path()));
}

TEST_F(Log, of_a_sandbox_that_goes_meanwhile_nothing_is_kept) {
  EventLog log = this->log();
  tell(1, 2);
  const FakeObject* const records = &fake_.map(fake_.kernel().sandboxes());
  int looks = 0;
  fake_.fail_if([&](int command, const bpf_attr& attr) {
    const bool record = command == BPF_MAP_LOOKUP_ELEM && fake_.find(static_cast<int>(attr.map_fd)) == records;
    return record && looks++ > 0 ? ENOENT : 0;
  });
  EXPECT_TRUE(log.collect().value());
  EXPECT_EQ(looks, 2);
  EXPECT_FALSE(std::filesystem::exists(file("").parent_path()));
}

TEST_F(Log, what_cannot_be_written_is_an_error) {
  EventLog log = this->log();
  std::ofstream(top_ / std::to_string(kCgroup)) << "no directory";
  tell(1, 2);
  const auto done = log.collect();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code.text(), "event_log");
}

TEST_F(Log, a_file_that_somebody_broke_ends_the_reading) {
  for (const std::uint32_t length : {0u, 1u, static_cast<std::uint32_t>(sizeof(sbpf_event)) - 1,
                                     static_cast<std::uint32_t>(sizeof(sbpf_fs_event)) + 1, ~0u}) {
    EventLog log = this->log();
    tell(1, 2);
    EXPECT_TRUE(log.collect().value());
    std::ofstream(file("latest"), std::ios::app).write(reinterpret_cast<const char*>(&length), sizeof length);
    tell(2, 3);
    EXPECT_TRUE(log.collect().value());
    EXPECT_EQ(times_in(log), range(1, 2)) << length;
    std::filesystem::remove_all(file("").parent_path());
  }
}

}  // namespace
}  // namespace sbpf::agent
