// SPDX-License-Identifier: Apache-2.0
// The records of all sandboxes: there, not there, or it cannot be told.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "agent/sandbox/sandbox.h"
#include "tests/unit/fake_kernel.h"

namespace sbpf::agent {
namespace {

TEST(Records, all_are_read_in_batches) {
  FakeKernel fake;
  for (std::uint64_t id = 1; id <= 200; id++) fake.add_sandbox(id, "s" + std::to_string(id));
  bool whole = false;
  std::set<std::uint64_t> ids;
  for (const sbpf_sandbox& record : read_registry(fake.kernel(), &whole)) ids.insert(record.cgroup_id);
  EXPECT_TRUE(whole);
  EXPECT_EQ(ids.size(), 200u);
  EXPECT_EQ(*ids.rbegin(), 200u);
}

TEST(Records, a_batch_that_fails_is_not_the_end_of_all) {
  for (const int error : {EPERM, EBADF, EMFILE}) {
    FakeKernel fake;
    for (std::uint64_t id = 1; id <= 200; id++) fake.add_sandbox(id, "s" + std::to_string(id));
    fake.fail_call(1, error);
    bool whole = true;
    EXPECT_LT(read_registry(fake.kernel(), &whole).size(), 200u);
    EXPECT_FALSE(whole) << error;
  }
}

TEST(Records, a_batch_that_was_interrupted_is_read_again) {
  for (const int error : {EINTR, EAGAIN, ENOMEM})
    for (const int call : {0, 1, 2, 3}) {
      FakeKernel fake;
      for (std::uint64_t id = 1; id <= 200; id++) fake.add_sandbox(id, "s" + std::to_string(id));
      fake.fail_call(call, error);
      bool whole = false;
      std::set<std::uint64_t> ids;
      for (const sbpf_sandbox& record : read_registry(fake.kernel(), &whole)) ids.insert(record.cgroup_id);
      EXPECT_TRUE(whole) << error << " at " << call;
      EXPECT_EQ(ids.size(), 200u) << error << " at " << call;
    }
}

// The kernel says where, and not what was read until then was whole. kernel/bpf/hashtab.c
TEST(Records, where_an_interrupted_batch_stopped_is_not_believed) {
  FakeKernel fake;
  for (std::uint64_t id = 1; id <= 200; id++) fake.add_sandbox(id, "s" + std::to_string(id));
  bool interrupted = false;
  fake.fail_if([&](int command, const bpf_attr& attr) {
    if (command != BPF_MAP_LOOKUP_BATCH || interrupted) return 0;
    interrupted = true;
    const std::uint32_t further = 64;
    std::memcpy(reinterpret_cast<void*>(attr.batch.out_batch), &further, sizeof further);
    return ENOMEM;
  });
  bool whole = false;
  EXPECT_EQ(read_registry(fake.kernel(), &whole).size(), 200u);
  EXPECT_TRUE(whole);
  EXPECT_TRUE(interrupted);
}

TEST(Records, one_by_its_name) {
  FakeKernel fake;
  fake.add_sandbox(7, "web");
  const sbpf_sandbox hidden = fake.add_sandbox(8, "db");
  EXPECT_EQ(find_record(fake.kernel(), std::string("web"))->cgroup_id, 7u);
  for (const Hook& hook : all_hooks())
    if (hook.per_sandbox()) fake.unpin(hidden, hook);
  EXPECT_EQ(find_record(fake.kernel(), std::string("db"))->cgroup_id, 8u) << "also without its pins";
  EXPECT_EQ(find_record(fake.kernel(), std::string("mail")).error().code.text(), "no_such_sandbox");
  fake.fail_if([](int command, const bpf_attr&) { return command == BPF_MAP_LOOKUP_BATCH ? EPERM : 0; });
  EXPECT_EQ(find_record(fake.kernel(), std::string("mail")).error().code.text(), "cannot_tell");
}

// Pins that another sandbox has by now do not stand for the name.
TEST(Records, pins_of_another_name_are_not_believed) {
  FakeKernel fake;
  const sbpf_sandbox web = fake.add_sandbox(7, "web");
  fake.add_sandbox(8, "db");
  for (const Hook& hook : all_hooks())
    if (FakeObject* link = hook.per_sandbox() ? fake.link(web, hook) : nullptr) link->link.cgroup.cgroup_id = 8;
  EXPECT_EQ(find_record(fake.kernel(), std::string("web"))->cgroup_id, 7u);
}

TEST(Records, is_one_there) {
  FakeKernel fake;
  fake.add_sandbox(7, "web");
  EXPECT_EQ(record_seen(fake.kernel(), 7), Seen::there);
  EXPECT_EQ(record_seen(fake.kernel(), 8), Seen::absent);
  for (const int error : {EPERM, EMFILE, ENOMEM}) {
    fake.fail_call(0, error);
    EXPECT_EQ(record_seen(fake.kernel(), 7), Seen::unknown) << error;
  }
}

TEST(Records, names_that_a_new_sandbox_may_have) {
  FakeKernel fake;
  const std::vector<sbpf_sandbox> others = {fake.add_sandbox(7, "web")};
  EXPECT_TRUE(check_new_name(others, "db"));
  EXPECT_TRUE(check_new_name(others, "u-boot"));
  EXPECT_EQ(check_new_name(others, "web").error().code.text(), "sandbox_exists");
  EXPECT_EQ(check_new_name(others, "-q").error().code.text(), "bad_name");
  EXPECT_EQ(check_new_name(others, "u1000-web").error().code.text(), "bad_name");
  for (const char* name : {"", ".", "..", "web.service", "a/b", "../a", "/a", "a/"})
    EXPECT_EQ(check_new_name(others, name).error().code.text(), "bad_name") << name;
  EXPECT_TRUE(check_new_name(others, std::string(SBPF_NAME_LEN - 1, 'a')));
  EXPECT_EQ(check_new_name(others, std::string(SBPF_NAME_LEN, 'a')).error().code.text(), "bad_name");
}

TEST(Records, whose_run_a_name_is) {
  EXPECT_EQ(user_of_run("u1000-web"), 1000u);
  EXPECT_EQ(user_of_run("u0-"), 0u);
  for (const char* name : {"", "u", "u1000", "u-1", "1000-web", "u1000x-web", "u99999999999-web", "web"})
    EXPECT_EQ(user_of_run(name), std::nullopt) << name;
}

}  // namespace
}  // namespace sbpf::agent
