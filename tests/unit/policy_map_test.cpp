// SPDX-License-Identifier: Apache-2.0
// A policy is put in force as a whole or not at all (I2), whatever call of the kernel fails on the way.
#include <gtest/gtest.h>

#include <cerrno>

#include "agent/sandbox/sandbox.h"
#include "tests/unit/fake_kernel.h"
#include "tests/unit/images.h"

namespace sbpf::agent {
namespace {

using policy::image_of;

constexpr std::uint64_t kCgroup = 70;

const char* const kClosed = "network: none";
const char* const kOpen = "network: {connect: [{address: 10.0.0.1, ports: [1-4, 443]}], dangerously_allow_all: false}";

bool same(const policy::Image& a, const policy::Image& b) {
  return a.header().generation == b.header().generation &&
         policy::image_sha256(a.entries) == policy::image_sha256(b.entries);
}

TEST(Publish, what_was_published_is_read_back) {
  FakeKernel fake;
  fake.add_sandbox(kCgroup, "web");
  const policy::Image image = image_of(kOpen, 3);
  ASSERT_TRUE(publish(fake.kernel(), kCgroup, image));
  EXPECT_TRUE(same(read_policy(fake.kernel(), kCgroup).value(), image));
  const auto ref = read_ref(fake.kernel(), kCgroup);
  ASSERT_TRUE(ref);
  EXPECT_EQ(ref->generation, 3u);
  EXPECT_EQ(ref->digest, digest_of(image.header()));
  EXPECT_TRUE(is_published(fake.kernel(), kCgroup, *ref, image.header()));
}

TEST(Publish, nobody_edits_what_is_in_force) {
  FakeKernel fake;
  ASSERT_TRUE(publish(fake.kernel(), kCgroup, image_of(kClosed, 1)));
  ASSERT_NE(fake.policy_of(kCgroup), nullptr);
  EXPECT_TRUE(fake.policy_of(kCgroup)->frozen);
}

TEST(Publish, verdicts_of_before_are_forgotten) {
  FakeKernel fake;
  const std::uint32_t before = fake.kernel().globals().gate.epoch;
  ASSERT_TRUE(publish(fake.kernel(), kCgroup, image_of(kClosed, 1)));
  EXPECT_GT(fake.kernel().globals().gate.epoch, before);
}

// One run for each call of the kernel: it fails, and either the old policy stands and the caller hears of it, or the
// new one is in force.
TEST(Publish, the_old_one_stands_until_the_new_one_is_complete) {
  const policy::Image old = image_of(kOpen, 1), next = image_of(kClosed, 2);
  int refused = 0;
  for (int call = 0;; call++) {
    FakeKernel fake;
    fake.add_sandbox(kCgroup, "web");
    ASSERT_TRUE(publish(fake.kernel(), kCgroup, old));
    const int begun = fake.calls();
    fake.fail_call(call, ENOMEM);
    const auto done = publish(fake.kernel(), kCgroup, next);
    if (fake.calls() - begun <= call) break;  // that was all of them
    const auto in_force = read_policy(fake.kernel(), kCgroup);
    ASSERT_TRUE(in_force) << "call " << call;
    EXPECT_TRUE(same(*in_force, done ? next : old)) << "call " << call;
    const auto ref = read_ref(fake.kernel(), kCgroup);
    ASSERT_TRUE(ref) << "call " << call;
    // No older policy is taken for the newest, nor one in force for that of another.
    EXPECT_TRUE(is_published(fake.kernel(), kCgroup, *ref, in_force->header())) << "call " << call;
    if (done) continue;
    refused++;
    EXPECT_EQ(done.error().code.text(), "publish_failed") << "call " << call;
    EXPECT_EQ(done.error().sys_errno, ENOMEM) << "call " << call;
  }
  EXPECT_GE(refused, 5) << "map, entries, freeze, look back, flip";
}

TEST(Publish, a_map_that_reads_back_otherwise_is_refused) {
  FakeKernel fake;
  ASSERT_TRUE(publish(fake.kernel(), kCgroup, image_of(kOpen, 1)));
  fake.distort_writes(true);
  const auto done = publish(fake.kernel(), kCgroup, image_of(kClosed, 2));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code.text(), "publish_failed");
  EXPECT_EQ(read_policy(fake.kernel(), kCgroup)->header().generation, 1u);
}

// The hooks look for paths only where the record says so: the mark comes before the rules.
TEST(Publish, a_sandbox_with_paths_is_marked_first) {
  FakeKernel fake;
  fake.add_sandbox(kCgroup, "web");
  const policy::Image paths = image_of(kClosed, 2).flagged(static_cast<sbpf_policy_flags>(SBPF_POLICY_PATHS));
  fake.fail_if([&](int command, const bpf_attr& attr) {
    const FakeObject* map = command == BPF_MAP_UPDATE_ELEM ? fake.find(static_cast<int>(attr.map_fd)) : nullptr;
    return map == &fake.map(fake.kernel().sandboxes()) ? EPERM : 0;
  });
  ASSERT_FALSE(publish(fake.kernel(), kCgroup, paths));
  EXPECT_EQ(fake.policy_of(kCgroup), nullptr);
  fake.fail_if(nullptr);
  ASSERT_TRUE(publish(fake.kernel(), kCgroup, paths));
  EXPECT_TRUE(find_record(fake.kernel(), kCgroup)->flags & SBPF_SANDBOX_FS);
}

}  // namespace
}  // namespace sbpf::agent
