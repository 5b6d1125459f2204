// SPDX-License-Identifier: Apache-2.0
// What a killed sbpf left is found, and mended to what was or to what should become.
#include "agent/sandbox/journal.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "agent/dns/resolver_rules.h"
#include "agent/sandbox/sandbox.h"
#include "tests/unit/fake_kernel.h"
#include "tests/unit/fake_sandbox.h"
#include "tests/unit/images.h"

namespace sbpf::agent {
namespace {

// A name that no sandbox of the host has, should there be any.
const std::string kName = "journal-test-of-sbpf";

// As the one that held the lock was killed.
void leave(Kernel& kernel, JournalEntry::What what, std::uint64_t cgroup_id) {
  sbpf_journal& slot = kernel.globals().journal;
  slot.what = what;
  slot.cgroup_id = cgroup_id;
  std::memcpy(slot.name, kName.data(), kName.size() + 1);
}

policy::Image image(bool recorded) {
  return policy::image_of(std::string("network: {record_flows: ") + (recorded ? "true" : "false") + "}");
}

TEST(Journal, says_what_is_changed_while_it_is) {
  FakeKernel fake;
  EXPECT_FALSE(is_changing(fake.kernel()));
  {
    const JournalEntry change(fake.kernel(), JournalEntry::swap, 7, kName);
    EXPECT_TRUE(is_changing(fake.kernel()));
    EXPECT_TRUE(is_changing(fake.kernel(), 7));
    EXPECT_FALSE(is_changing(fake.kernel(), 8)) << "another sandbox";
    EXPECT_FALSE(is_upgrading(fake.kernel()));
    EXPECT_EQ(fake.kernel().globals().journal.name, kName);
  }
  EXPECT_FALSE(is_changing(fake.kernel()));
}

TEST(Journal, a_name_has_nothing_of_the_one_before) {
  FakeKernel fake;
  { const JournalEntry change(fake.kernel(), JournalEntry::swap, 7, kName); }
  const JournalEntry change(fake.kernel(), JournalEntry::swap, 8, "web");
  EXPECT_STREQ(fake.kernel().globals().journal.name, "web");
}

TEST(Journal, changes_of_one_sandbox_nest) {
  FakeKernel fake;
  auto outer = std::make_unique<JournalEntry>(fake.kernel(), JournalEntry::frozen, 7, kName);
  {
    const JournalEntry inner(fake.kernel(), JournalEntry::swap, 7, kName);
    EXPECT_EQ(fake.kernel().globals().journal.what, JournalEntry::frozen | JournalEntry::swap);
  }
  EXPECT_EQ(fake.kernel().globals().journal.what, static_cast<std::uint32_t>(JournalEntry::frozen));
  outer.reset();
  EXPECT_EQ(fake.kernel().globals().journal.what, 0u);
}

TEST(Journal, an_upgrade_changes_all) {
  FakeKernel fake;
  const JournalEntry change(fake.kernel(), JournalEntry::upgrade, 0, "");
  EXPECT_TRUE(is_changing(fake.kernel(), 7));
  EXPECT_TRUE(is_upgrading(fake.kernel()));
}

// Nobody was told of it, and nobody supervises it.
TEST(Journal, what_was_set_up_by_a_killed_one_is_taken_down) {
  for (const auto what : {JournalEntry::set_up, JournalEntry::take_down}) {
    FakeKernel fake;
    fake.add_sandbox(7, kName);
    fake.add_sandbox(8, kName + "-other");
    ASSERT_TRUE(publish(fake.kernel(), 7, image(false)));
    ASSERT_TRUE(publish(fake.kernel(), 8, image(false)));
    leave(fake.kernel(), what, 7);
    mend(fake.kernel());
    EXPECT_EQ(record_seen(fake.kernel(), 7), Seen::absent);
    EXPECT_EQ(fake.policy_of(7), nullptr);
    EXPECT_EQ(record_seen(fake.kernel(), 8), Seen::there);
    EXPECT_NE(fake.policy_of(8), nullptr);
    EXPECT_FALSE(is_changing(fake.kernel()));
  }
}

// The policy is in force, and what goes with it is not: recording is switched by the cgroup's storage.
TEST(Journal, a_swap_of_a_killed_one_is_finished) {
  for (const bool recorded : {true, false}) {
    FakeKernel fake;
    fake.add_sandbox(7, kName);
    ASSERT_TRUE(publish(fake.kernel(), 7, image(!recorded)));
    ASSERT_TRUE(set_recording(fake.kernel(), 7, image(!recorded)));
    ASSERT_TRUE(publish(fake.kernel(), 7, image(recorded)));
    leave(fake.kernel(), JournalEntry::swap, 7);
    mend(fake.kernel());
    EXPECT_EQ(read_ref(fake.kernel(), 7)->flags, recorded ? std::uint32_t{SBPF_REF_RECORD} : 0u);
    EXPECT_EQ(record_seen(fake.kernel(), 7), Seen::there);
    EXPECT_FALSE(is_changing(fake.kernel()));
  }
}

policy::Policy with_host(const std::string& host) {
  return policy::policy_of("network: {connect: [{host: " + host + ", ports: [443]}]}\n", kName);
}

// The policy is in force, and its resolver still answers by the one before.
TEST(Journal, a_swap_of_a_killed_one_is_finished_for_the_resolver_too) {
  FakeKernel fake;
  fake.add_sandbox(7, kName);
  const policy::Image before = compile(with_host("a.example.org"), 1).value();
  const policy::Image after = compile(with_host("b.example.org"), 2).value();
  const std::uint32_t old_number = before.header().host_names_id, number = after.header().host_names_id;
  ASSERT_NE(old_number, number);
  Fd rules = make_resolver_rules();
  ASSERT_EQ(bpf_obj_pin(rules.get(), (pin_directory(kName) + "/resolver_policy").c_str()), 0);
  ASSERT_TRUE(put_resolver_rules(rules.get(), with_host("a.example.org"), old_number));
  ASSERT_TRUE(use_resolver_rules(rules.get(), old_number));
  ASSERT_TRUE(put_resolver_rules(rules.get(), with_host("b.example.org"), number));
  ASSERT_TRUE(publish(fake.kernel(), 7, after));
  leave(fake.kernel(), JournalEntry::swap, 7);
  mend(fake.kernel());
  EXPECT_EQ(resolver_rules_in_use(rules.get()), number);
  EXPECT_FALSE(is_changing(fake.kernel()));
}

TEST(Journal, a_cgroup_that_a_killed_one_froze_is_thawed) {
  FakeSandbox s;
  FakeHost::set_event(s.path, "frozen", true);
  ASSERT_TRUE(s.frozen());
  leave(s.kernel.kernel(), JournalEntry::frozen, s.id);
  mend(s.kernel.kernel());
  EXPECT_FALSE(s.frozen());
  EXPECT_EQ(record_seen(s.kernel.kernel(), s.id), Seen::there) << "it was whole";
}

// What the name "now" says stands: the links of sandboxes follow it, and so does who asks which programs are in force.
TEST(Journal, an_upgrade_of_a_killed_one_is_taken_back) {
  FakeSandbox s;
  Kernel& kernel = s.kernel.kernel();
  const Hook own = s.own_hooks().front(), other = s.own_hooks().back();
  ASSERT_NE(own.id, other.id);
  s.kernel.link(s.record, own)->link.prog_id = kernel.meta(other.id).prog_id;  // as if it were the new one
  const std::uint32_t in_force = kernel.globals().journal.loaded;
  kernel.globals().journal.loaded = in_force + 1;
  leave(kernel, JournalEntry::upgrade, 0);
  mend(kernel);
  EXPECT_EQ(s.kernel.link(s.record, own)->link.prog_id, kernel.meta(own.id).prog_id);
  EXPECT_EQ(kernel.globals().journal.loaded, in_force);
  EXPECT_FALSE(is_upgrading(kernel));
}

TEST(Journal, the_next_change_of_another_sandbox_mends_first) {
  FakeKernel fake;
  fake.add_sandbox(7, kName);
  leave(fake.kernel(), JournalEntry::set_up, 7);
  const JournalEntry change(fake.kernel(), JournalEntry::swap, 8, kName + "-other");
  EXPECT_EQ(record_seen(fake.kernel(), 7), Seen::absent);
  EXPECT_TRUE(is_changing(fake.kernel(), 8));
  EXPECT_FALSE(is_changing(fake.kernel(), 7));
}

}  // namespace
}  // namespace sbpf::agent
