// SPDX-License-Identifier: Apache-2.0
// How a sandbox stands, by what the kernel answers: each part is in order, lost, or it cannot be told; and a repair
// puts back what is lost.
#include "agent/verify/verify.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "agent/verify/quick_check.h"
#include "tests/unit/fake_sandbox.h"

namespace sbpf::agent {
namespace {

using policy::image_of;

class Verify : public testing::Test {
 protected:
  std::uint64_t id() const { return sandbox_.id; }
  std::vector<Lost> found() { return look_at(fake_.kernel(), Snapshot(), record_, sound_); }
  // What is lost; with a `?` what cannot be told.
  std::vector<std::string> lost() {
    std::vector<std::string> all;
    for (const Lost& one : found()) all.push_back(one.what + (one.unclear ? "?" : ""));
    return all;
  }
  std::string reason() {
    const auto all = found();
    return all.size() == 1 ? all.front().reason : std::to_string(all.size()) + " are lost";
  }
  // Each call for this map fails.
  void fail_map(int fd, int error) {
    fake_.fail_if([this, map = &fake_.map(fd), error](int command, const bpf_attr& attr) {
      const bool single = command == BPF_MAP_LOOKUP_ELEM, batch = command == BPF_MAP_LOOKUP_BATCH;
      if (!single && !batch) return 0;
      return fake_.find(static_cast<int>(single ? attr.map_fd : attr.batch.map_fd)) == map ? error : 0;
    });
  }
  void put(const policy::Image& image) { sandbox_.put(image); }
  void erase(int map) { sandbox_.erase_from(map); }
  // The policy that is lost is neither put back nor made up: everything is denied.
  void expect_no_repair() {
    const auto lost_now = found();
    ASSERT_EQ(lost_now.size(), 1u);
    const auto repaired = repair_sandbox(fake_.kernel(), cgroup_, sound_, lost_now);
    ASSERT_FALSE(repaired);
    EXPECT_EQ(repaired.error().code.text(), "repair");
    EXPECT_EQ(fake_.policy_of(id()), nullptr);
  }
  std::vector<Hook> own_hooks() const { return sandbox_.own_hooks(); }

  FakeSandbox sandbox_;
  FakeKernel& fake_ = sandbox_.kernel;
  const sbpf_sandbox& record_ = sandbox_.record;
  const Cgroup cgroup_ = Cgroup::open_by_id(sandbox_.id).value();
  Sound sound_;
};

using Texts = std::vector<std::string>;

TEST_F(Verify, a_sound_one_lacks_nothing) {
  EXPECT_EQ(lost(), Texts{});
  EXPECT_EQ(sound_.generation, 5u);
  for (const Hook& hook : own_hooks()) EXPECT_EQ(sound_.links[hook.id], fake_.link(record_, hook)->id) << hook.name;
}

TEST_F(Verify, each_link_is_looked_at) {
  ASSERT_GE(own_hooks().size(), 7u);
  for (const Hook& hook : own_hooks()) {
    FakeObject& link = *fake_.link(record_, hook);
    const bpf_link_info whole = link.link;
    const auto with = [&](const char* why, auto change) {
      change(link.link);
      EXPECT_EQ(lost(), Texts{hook.name}) << why;
      EXPECT_NE(reason().find(why), std::string::npos) << hook.name << ": " << reason();
      link.link = whole;
      EXPECT_EQ(lost(), Texts{}) << hook.name;
    };
    with("was detached", [](bpf_link_info& info) { info.cgroup.cgroup_id = 0; });
    with("another cgroup", [](bpf_link_info& info) { info.cgroup.cgroup_id++; });
    with("another hook", [](bpf_link_info& info) { info.cgroup.attach_type++; });
    with("another program", [](bpf_link_info& info) { info.prog_id++; });
    with("not a cgroup link", [](bpf_link_info& info) { info.type = BPF_LINK_TYPE_TRACING; });
  }
}

TEST_F(Verify, a_missing_pin_is_a_loss_and_one_that_cannot_be_opened_is_none) {
  const Hook hook = own_hooks().front();
  const std::string path = link_pin(record_.name, hook);
  for (const int error : {EMFILE, ENOMEM, EPERM}) {
    bool listed = true;
    fake_.fail_if([&](int command, const bpf_attr& attr) {
      if (command == BPF_ITER_CREATE && !listed) return error;
      return command == BPF_OBJ_GET && path == reinterpret_cast<const char*>(attr.pathname) ? error : 0;
    });
    EXPECT_EQ(lost(), Texts{}) << "the kernel lists what runs: " << error;
    listed = false;
    EXPECT_EQ(lost(), Texts{hook.name + std::string("?")}) << error;
  }
  fake_.fail_if(nullptr);
  fake_.unpin(record_, hook);
  EXPECT_EQ(lost(), Texts{hook.name});
}

TEST_F(Verify, a_link_that_cannot_be_read_back_is_no_loss) {
  fake_.fail_if([](int command, const bpf_attr&) { return command == BPF_OBJ_GET_INFO_BY_FD ? ENOMEM : 0; });
  for (const Lost& one : found()) EXPECT_TRUE(one.unclear) << one.what << ": " << one.reason;
}

TEST_F(Verify, storage) {
  for (const int error : {EMFILE, ENOMEM, EPERM}) {
    fail_map(fake_.kernel().cgroup_refs(), error);
    EXPECT_EQ(lost(), Texts{"storage?"}) << error;
  }
  fake_.fail_if(nullptr);
  const std::uint64_t key = id();
  sbpf_cgroup_ref other{};
  other.cgroup_id = key + 1;
  ASSERT_EQ(bpf_map_update_elem(fake_.kernel().cgroup_refs(), &key, &other, BPF_ANY), 0);
  EXPECT_EQ(lost(), Texts{"storage"}) << "that of another sandbox is none";
  erase(fake_.kernel().cgroup_refs());
  EXPECT_EQ(lost(), Texts{"storage"});
}

TEST_F(Verify, gate_of_attached_ones) {
  fake_.kernel().globals().gate.other_levels = 0;
  EXPECT_EQ(lost(), Texts{"gate"});
}

TEST_F(Verify, policy_that_is_gone_or_hidden) {
  for (const int error : {EMFILE, ENOMEM, EPERM}) {
    fail_map(fake_.kernel().policies(), error);
    EXPECT_EQ(lost(), Texts{"policy?"}) << error;
  }
  fake_.fail_if(nullptr);
  erase(fake_.kernel().policies());
  EXPECT_EQ(lost(), Texts{"policy"});
}

TEST_F(Verify, policy_that_is_older_than_the_last) {
  const policy::Image before = image_of("network: {dangerously_allow_all: true}", 4);
  put(before);
  EXPECT_NE(reason().find("an older policy"), std::string::npos) << reason();
}

// Frozen, under its own hash, with a newer number: and yet by none of sbpf's commands.
TEST_F(Verify, policy_that_was_published_by_nobody) {
  for (const std::uint32_t generation : {5u, 6u, 100u}) {
    put(image_of("network: {dangerously_allow_all: true}", generation));
    EXPECT_NE(reason().find("by none of sbpf's commands"), std::string::npos) << generation << ": " << reason();
  }
}

TEST_F(Verify, policy_whose_entries_are_not_those_of_its_hash) {
  FakeObject& map = *fake_.policy_of(id());
  Bytes& value = std::prev(map.entries.end())->second;
  value.front() = static_cast<char>(value.front() ^ 1);
  EXPECT_NE(reason().find("its own hash"), std::string::npos) << reason();
}

// ---- repairs --------------------------------------------------------------------------------------------------------

TEST_F(Verify, what_was_seen_sound_is_put_back) {
  ASSERT_EQ(lost(), Texts{});
  const std::vector<std::function<void()>> losses = {
      [this] { erase(fake_.kernel().cgroup_refs()); },
      [this] { erase(fake_.kernel().policies()); },
      [this] { put(image_of("network: {dangerously_allow_all: true}", 4)); },
      [this] { put(image_of("network: {dangerously_allow_all: true}", 100)); },
      [this] { fake_.unpin(record_, own_hooks().front()); },
      [this] { fake_.link(record_, own_hooks().front())->link.cgroup.cgroup_id = 0; },
  };
  for (std::size_t i = 0; i < losses.size(); i++) {
    losses[i]();
    const auto lost_now = found();
    ASSERT_EQ(lost_now.size(), 1u) << i;
    const auto repaired = repair_sandbox(fake_.kernel(), cgroup_, sound_, lost_now);
    ASSERT_TRUE(repaired) << i << ": " << repaired.error().message;
    EXPECT_EQ(lost(), Texts{}) << i;
    const auto policy = read_policy(fake_.kernel(), id());
    ASSERT_TRUE(policy) << i;
    EXPECT_EQ(policy->header().flags, image_of("network: none", 1).header().flags)
        << "loss " << i << " loosened the policy";
  }
}

TEST_F(Verify, what_cannot_be_told_is_not_repaired) {
  ASSERT_EQ(lost(), Texts{});
  std::vector<Lost> all = {{"storage", "", true}, {"policy", "", true}};
  for (const Hook& hook : own_hooks()) all.push_back({hook.name, "", true});
  const int before = fake_.calls();
  EXPECT_TRUE(repair_sandbox(fake_.kernel(), cgroup_, sound_, all));
  EXPECT_EQ(fake_.calls(), before);
}

// Without a copy that was seen sound, everything stays denied.
TEST_F(Verify, a_policy_that_was_never_seen_is_not_made_up) {
  put(image_of("network: {dangerously_allow_all: true}", 100));
  expect_no_repair();
}

// It would loosen, or tighten, what somebody decided since.
TEST_F(Verify, a_policy_older_than_the_last_is_not_put_back) {
  ASSERT_EQ(lost(), Texts{});
  ASSERT_TRUE(publish(fake_.kernel(), id(), image_of("network: none", 6)));
  erase(fake_.kernel().policies());
  expect_no_repair();
}

// ---- status and host -----------------------------------------------------------------------------------------------

TEST_F(Verify, status_has_each_hook) {
  const Status status = read_status(fake_.kernel(), record_, false, HostProbe());
  ASSERT_EQ(status.hooks.size(), hooks_of(record_.flags).size());
  for (const HookStatus& hook : status.hooks) EXPECT_TRUE(hook.attached) << hook.hook->name << ": " << hook.reason;
  EXPECT_EQ(status.policy_name, "web");
  EXPECT_EQ(status.generation, 5u);
}

TEST_F(Verify, status_of_a_hook_that_the_host_has_once) {
  for (const Hook& hook : hooks_of(record_.flags)) {
    if (hook.kind != HookKind::lsm) continue;
    FakeObject& link = fake_.link(hook);
    const bpf_link_info whole = link.link;
    for (const auto& change : {std::function([](bpf_link_info& info) { info.prog_id++; }),
                               std::function([](bpf_link_info& info) { info.tracing.target_btf_id++; }),
                               std::function([](bpf_link_info& info) { info.tracing.attach_type = BPF_TRACE_FENTRY; }),
                               std::function([](bpf_link_info& info) { info.type = BPF_LINK_TYPE_CGROUP; })}) {
      change(link.link);
      const HookStatus status = fake_.kernel().host_status(hook);
      EXPECT_FALSE(status.attached) << hook.name;
      EXPECT_FALSE(status.unclear) << hook.name;
      EXPECT_NE(status.reason, "") << hook.name;
      link.link = whole;
    }
    fake_.fail_call(0, ENOMEM);
    EXPECT_TRUE(fake_.kernel().host_status(hook).unclear) << hook.name;
    EXPECT_TRUE(fake_.kernel().host_status(hook).attached) << hook.name;
  }
}

TEST_F(Verify, a_status_is_no_better_than_its_parts) {
  const auto isolation = [this](const HostProbe& host) {
    return read_status(fake_.kernel(), record_, false, host).isolation;
  };
  HostProbe host;
  host.lost.push_back({"liveness", "stopped"});
  EXPECT_EQ(isolation(host), Isolation::inactive);
  EXPECT_NE(isolation({{}, {{"liveness", "not told", true}}}), Isolation::active);
  erase(fake_.kernel().policies());
  EXPECT_EQ(isolation({}), Isolation::inactive);
}

TEST_F(Verify, break_glass_is_told) {
  fake_.kernel().globals().guard.let_through = 2;
  const Status status = read_status(fake_.kernel(), record_, false, HostProbe());
  EXPECT_TRUE(std::ranges::any_of(status.degraded, [](const Degradation& d) { return d.what == "break-glass"; }));
}

// Proven to stop is a loss; not proven to run is none.
TEST_F(Verify, host_by_what_a_sentinel_found) {
  const auto whats = [](const std::vector<Lost>& all) {
    Texts texts;
    for (const Lost& one : all)
      if (one.what != "overruled") texts.push_back(one.what);  // the fake has no list of programs
    return texts;
  };
  EXPECT_EQ(whats(probe_host(fake_.kernel(), {Proof::runs, "", {}, {}}).lost), Texts{});
  EXPECT_EQ(whats(probe_host(fake_.kernel(), {Proof::runs, "", {}, {}}).unknown), Texts{});
  EXPECT_EQ(whats(probe_host(fake_.kernel(), {Proof::unknown, "no process", {}, {}}).lost), Texts{});
  EXPECT_EQ(whats(probe_host(fake_.kernel(), {Proof::unknown, "no process", {}, {}}).unknown), Texts{"liveness"});
  const HostProbe stopped = probe_host(fake_.kernel(), {Proof::stopped, "not counted", {}, {}});
  EXPECT_EQ(whats(stopped.lost).size() + whats(stopped.unknown).size(), 1u);
}

}  // namespace
}  // namespace sbpf::agent
