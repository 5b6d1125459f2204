// SPDX-License-Identifier: Apache-2.0
// Passes of the watch over a sandbox, by what the kernel answers: what is a loss and what is none, how it is answered,
// and that it is repaired.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include "agent/sandbox/assigned.h"
#include "agent/sandbox/journal.h"
#include "tests/unit/watched.h"

namespace sbpf::agent {
namespace {

TEST(Watch, a_sound_sandbox_is_told_once) {
  Watched web;
  EXPECT_EQ(web.pass().active, 1u);
  EXPECT_EQ(web.told(), Isolation::active)
      << (web.statuses.empty() || web.statuses[0].degraded.empty() ? "" : web.statuses[0].degraded[0].reason);
  EXPECT_EQ(web.statuses.front().hooks.size(), hooks_of(web.record.flags).size());
  EXPECT_EQ(web.pass().active, 1u);
  EXPECT_EQ(web.told(), std::nullopt);
  EXPECT_EQ(web.lost(), Texts{});
  EXPECT_EQ(web.errors, Texts{});
}

struct Break {
  std::string what;
  std::function<void(Watched&)> how;
};

std::vector<Break> breaks() {
  const Hook first = Watched().own_hooks().front();
  const Hook lsm = *std::ranges::find(all_hooks(), HookKind::lsm, &Hook::kind);
  const auto maps = [](auto map) { return [map](Watched& w) { w.erase_from((w.kernel.kernel().*map)()); }; };
  return {
      {first.name, [first](Watched& w) { w.kernel.link(w.record, first)->link.cgroup.cgroup_id = 0; }},
      {first.name, [first](Watched& w) { w.kernel.unpin(w.record, first); }},
      {first.name, [first](Watched& w) { w.kernel.link(w.record, first)->link.prog_id++; }},
      {"storage", maps(&Kernel::cgroup_refs)},
      {"policy", maps(&Kernel::policies)},
      {"policy", [](Watched& w) { w.put(policy::image_of("network: {dangerously_allow_all: true}", 100)); }},
      {"gate", [](Watched& w) { w.kernel.kernel().globals().gate.other_levels = 0; }},
      {"record", maps(&Kernel::sandboxes)},
      {lsm.name, [lsm](Watched& w) { w.kernel.unpin("/sys/fs/bpf/sbpf/links/" + std::string(lsm.name)); }},
      {"pin maps/policies", [](Watched& w) { w.kernel.unpin("/sys/fs/bpf/sbpf/maps/policies"); }},
  };
}

TEST(Watch, a_loss_is_answered_in_the_same_pass_and_repaired) {
  for (const Break& one : breaks()) {
    Watched web;
    web.pass();
    one.how(web);
    web.pass();
    EXPECT_EQ(web.lost(), Texts{one.what});
    EXPECT_TRUE(web.frozen()) << one.what;
    EXPECT_EQ(web.losses.empty() ? "" : web.losses.front().answered, "frozen") << one.what;
    EXPECT_EQ(web.told(), Isolation::inactive) << one.what;
    ASSERT_EQ(web.kernel.announced().size(), 1u) << one.what;
    EXPECT_EQ(web.kernel.announced().back().reason, static_cast<std::uint32_t>(SBPF_REASON_ISOLATION_LOST));
    web.pass();
    EXPECT_EQ(web.lost(), Texts{}) << one.what << " was told twice";
    ASSERT_EQ(web.back.size(), 1u) << one.what;
    EXPECT_EQ(web.back.front().hooks, Texts{one.what});
    EXPECT_EQ(web.told(), Isolation::active) << one.what;
    EXPECT_EQ(web.kernel.announced().back().reason, static_cast<std::uint32_t>(SBPF_REASON_ISOLATION_RESTORED));
  }
}

TEST(Watch, what_cannot_be_told_is_no_loss) {
  for (const int error : {EMFILE, ENOMEM, EPERM}) {
    Watched web;
    web.pass();
    web.hide(link_pin("web", web.own_hooks().front()), error);
    web.pass();
    EXPECT_EQ(web.lost(), Texts{}) << error;
    EXPECT_FALSE(web.frozen()) << error;
    EXPECT_TRUE(std::ranges::count(web.errors, "cannot_tell")) << error;
    web.host.advance(11);
    web.pass();
    EXPECT_EQ(web.told(), Isolation::degraded) << "what cannot be told for so long is not active: " << error;
    EXPECT_EQ(web.lost(), Texts{}) << error;
    web.show_all();
    web.pass();
    EXPECT_EQ(web.told(), Isolation::active) << error;
  }
}

// What a link's pin would say is in the kernel's list.
TEST(Watch, a_pin_that_cannot_be_opened_is_no_doubt_where_the_link_is_listed) {
  Watched web;
  web.pass();
  const std::string pin = link_pin("web", web.own_hooks().front());
  web.kernel.fail_if([pin](int command, const bpf_attr& attr) {
    return command == BPF_OBJ_GET && pin == reinterpret_cast<const char*>(attr.pathname) ? EMFILE : 0;
  });
  web.host.advance(11);
  EXPECT_EQ(web.pass().active, 1u);
  EXPECT_EQ(web.lost(), Texts{});
}

TEST(Watch, records_that_cannot_be_read_end_no_sandbox) {
  Watched web;
  web.pass();
  web.kernel.fail_if([](int command, const bpf_attr&) { return command == BPF_MAP_LOOKUP_BATCH ? EPERM : 0; });
  web.pass();
  EXPECT_EQ(web.gone, Texts{});
  EXPECT_EQ(web.lost(), Texts{});
  EXPECT_TRUE(std::ranges::count(web.errors, "cannot_tell"));
  web.show_all();
  EXPECT_EQ(web.pass().active, 1u);
}

TEST(Watch, the_answer_is_the_policys) {
  const auto answer = [](const std::string& policy, std::uint32_t flags) {
    Watched web(kAttachedPath, flags, policy);
    web.pass();
    web.erase_from(web.kernel.kernel().cgroup_refs());
    web.pass();
    EXPECT_EQ(web.lost(), Texts{"storage"}) << policy;
    return (web.losses.empty() ? "" : web.losses.front().answered) + (web.frozen() ? " frozen" : "") +
           (web.populated() ? " populated" : "");
  };
  const std::uint32_t attached = SBPF_SANDBOX_ATTACHED;
  EXPECT_EQ(answer("network: none\n", attached), "frozen frozen populated");
  EXPECT_EQ(answer("on_loss: freeze\n", attached), "frozen frozen populated");
  EXPECT_EQ(answer("on_loss: alert\n", attached), "alerted populated");
  EXPECT_EQ(answer("on_loss: kill\n", attached), "killed");
  // Its manager starts others there, and cgroup.kill would kill those.
  EXPECT_EQ(answer("on_loss: kill\n", attached | SBPF_SANDBOX_KEPT), "killed populated");
  EXPECT_EQ(answer("mode: audit\non_loss: kill\n", attached), "alerted populated");
}

TEST(Watch, what_sbpf_takes_down_is_no_loss) {
  Watched web;
  web.pass();
  take_down(web.kernel.kernel(), web.id, "web");
  EXPECT_EQ(web.pass().sandboxes, 0u);
  EXPECT_EQ(web.lost(), Texts{});
  EXPECT_EQ(web.gone, Texts{"web"});
  EXPECT_FALSE(web.frozen());
}

TEST(Watch, a_cgroup_that_is_removed_is_no_loss) {
  Watched web;
  web.pass();
  web.host.remove_cgroup(web.path);
  EXPECT_EQ(web.pass().sandboxes, 0u);
  EXPECT_EQ(web.lost(), Texts{});
  EXPECT_EQ(web.gone, Texts{"web"});
}

// Somebody else removed only what is in the kernel, and nothing runs there: the pins tell that it was not sbpf.
TEST(Watch, a_record_of_an_empty_sandbox_is_missed_by_its_pins) {
  for (const bool pinned : {false, true}) {
    Watched web;
    FakeHost::set_event(web.path, "populated", false);
    web.pass();
    if (pinned) {
      ASSERT_EQ(::mkdir(pin_directory("web").c_str(), 0700), 0);
    }
    web.erase_from(web.kernel.kernel().sandboxes());
    web.pass();
    EXPECT_EQ(web.lost(), pinned ? Texts{"record"} : Texts{});
    EXPECT_EQ(web.gone, pinned ? Texts{} : Texts{"web"});
  }
}

// ... until it takes too long: then who changes it may be stopped, and that is told.
TEST(Watch, what_is_missing_while_sbpf_changes_it_is_no_loss) {
  Watched web;
  web.pass();
  const auto lock = lock_host();
  ASSERT_TRUE(lock);
  {
    const JournalEntry change(web.kernel.kernel(), JournalEntry::swap, web.id, "web");
    web.erase_from(web.kernel.kernel().policies());
    web.pass();
    EXPECT_EQ(web.lost(), Texts{});
    EXPECT_FALSE(web.frozen());
    web.host.advance(11);
    web.pass();
    EXPECT_EQ(web.told(), Isolation::inactive) << "it has no policy";
    EXPECT_EQ(web.lost(), Texts{});
  }
  web.pass();
  EXPECT_EQ(web.lost(), Texts{"policy"});
}

TEST(Watch, nothing_is_repaired_while_the_glass_is_broken) {
  Watched web;
  web.pass();
  web.kernel.kernel().globals().guard.open_until = boottime_ns() + 60 * static_cast<std::uint64_t>(kSecond);
  web.erase_from(web.kernel.kernel().cgroup_refs());
  web.pass();
  EXPECT_EQ(web.lost(), Texts{"storage"}) << "it is answered all the same";
  web.pass();
  EXPECT_TRUE(web.back.empty());
  web.host.advance(61);
  web.pass();
  web.pass();
  ASSERT_EQ(web.back.size(), 1u);
  EXPECT_EQ(web.back.front().hooks, Texts{"storage"});
}

TEST(Watch, nothing_is_repaired_while_another_has_the_host_lock) {
  Watched web;
  web.pass();
  auto lock = lock_host();
  ASSERT_TRUE(lock);
  web.erase_from(web.kernel.kernel().cgroup_refs());
  web.pass();
  EXPECT_EQ(web.lost(), Texts{"storage"});
  web.pass();
  EXPECT_TRUE(web.back.empty());
  lock->reset();
  web.pass();
  web.pass();
  EXPECT_EQ(web.back.size(), 1u);
}

TEST(Watch, a_program_of_others_that_comes_after_ours_is_a_loss) {
  for (const bool before : {false, true}) {
    Watched web;
    if (before) web.kernel.run_after(web.own_hooks().front());
    web.pass();
    EXPECT_EQ(web.lost(), Texts{}) << "what was there before is told in the status";
    EXPECT_EQ(web.is_degraded_by("later"), before);
    web.kernel.run_after(web.own_hooks().front());
    web.pass();
    web.host.advance(5);
    for (std::uint64_t turn = 0; turn < kOwnLaterPasses && web.losses.empty(); turn++) web.pass();
    EXPECT_EQ(web.lost(), Texts{"later"}) << before;
    EXPECT_TRUE(web.frozen());
  }
}

TEST(Watch, programs_that_do_not_run_are_a_loss_and_a_missing_proof_is_none) {
  Watched web;
  web.alive = {Proof::unknown, "no process could be started", {}, {}};
  web.pass();
  EXPECT_EQ(web.told(), Isolation::degraded);
  EXPECT_EQ(web.lost(), Texts{});
  web.alive = {Proof::stopped, "attached, and not run by the kernel", {SBPF_HOOK_file_open}, {}};
  web.pass();
  EXPECT_EQ(web.lost(), Texts{"liveness"});
  EXPECT_EQ(web.told(), Isolation::inactive);
  EXPECT_TRUE(web.frozen());
  web.alive = {Proof::runs, "", {}, {}};
  web.pass();
  EXPECT_EQ(web.back.size(), 1u);
  EXPECT_EQ(web.told(), Isolation::active);
}

TEST(Watch, a_process_that_was_moved_out_is_a_loss) {
  Watched web;
  web.pass();
  sbpf_sandbox changed = web.record;
  changed.moved_out = 1;
  web.put_record(changed);
  web.pass();
  EXPECT_EQ(web.lost(), Texts{"processes"});
  EXPECT_TRUE(web.frozen());
  web.pass();
  EXPECT_EQ(web.lost(), Texts{});
}

TEST(Watch, counters_are_told_each_five_seconds) {
  Watched web;
  web.pass();
  sbpf_sandbox changed = web.record;
  changed.denied[0] = 3;
  web.put_record(changed);
  web.pass();
  EXPECT_EQ(web.told(), std::nullopt);
  web.host.advance(5);
  web.pass();
  ASSERT_EQ(web.statuses.size(), 1u);
  EXPECT_EQ(web.statuses.front().denied[0], 3u);
}

TEST(Watch, without_a_canary_for_long_it_is_not_active) {
  Watched web;
  web.pass();
  web.host.advance(kCanaryStale / kSecond - 5);
  EXPECT_EQ(web.pass().active, 1u);
  web.host.advance(6);
  EXPECT_EQ(web.pass().degraded, 1u);
  EXPECT_TRUE(web.is_degraded_by("canary"));
}

TEST(Watch, a_late_pass_is_told_once_a_minute) {
  Watched web;
  web.pass();
  web.pass();
  web.pass(3 * kSecond);
  EXPECT_EQ(web.errors, Texts{"late"});
  web.pass(3 * kSecond);
  EXPECT_EQ(web.errors, Texts{});
  web.host.advance(61);
  web.pass(3 * kSecond);
  EXPECT_EQ(web.errors, Texts{"late"});
}

TEST(Watch, what_runs_at_an_assigned_path_unconfined_is_a_loss) {
  Watched web;
  const std::uint64_t other = web.host.add_cgroup("/app.slice/db");
  ASSERT_TRUE(assign("db", "/sys/fs/cgroup/app.slice/db", policy::policy_of("network: none\n", "db")));
  web.pass();
  EXPECT_EQ(web.lost(), Texts{"cgroup"});
  EXPECT_NE(FakeHost::read("/app.slice/db", "cgroup.events").find("frozen 1"), std::string::npos);
  EXPECT_FALSE(web.frozen()) << "another sandbox";
  web.pass();
  EXPECT_EQ(web.lost(), Texts{}) << "once for each such cgroup";
  web.kernel.add_sandbox(other, "db", SBPF_SANDBOX_ATTACHED | SBPF_SANDBOX_KEPT);
  ASSERT_TRUE(publish(web.kernel.kernel(), other, policy::image_of("network: none")));
  for (int time = 0; time < 3 && web.back.empty(); time++) web.pass();
  ASSERT_EQ(web.back.size(), 1u);
  EXPECT_EQ(web.back.front().sandbox, "db");
  EXPECT_EQ(web.back.front().hooks, Texts{"cgroup"});
}

TEST(Watch, another_agent_took_over) {
  Watched web;
  web.pass();
  web.hide("/sys/fs/bpf/sbpf/maps/sandboxes", EPERM);
  const auto passed = web.watch.pass(0);
  ASSERT_FALSE(passed);
  EXPECT_EQ(passed.error().code.text(), "not_the_agent");
  EXPECT_EQ(web.lost(), Texts{});
}

// Then it is no loss, and the sandbox is not over.
TEST(Watch, another_agent_takes_over_as_a_loss_is_seen) {
  Watched web;
  web.pass();
  web.erase_from(web.kernel.kernel().cgroup_refs());
  int opened = 0;
  web.kernel.fail_if([&opened](int command, const bpf_attr& attr) {
    const bool pin = command == BPF_OBJ_GET &&
                     std::string("/sys/fs/bpf/sbpf/maps/sandboxes") == reinterpret_cast<const char*>(attr.pathname);
    return pin && opened++ > 0 ? EPERM : 0;
  });
  web.pass();
  EXPECT_GT(opened, 1);
  EXPECT_EQ(web.lost(), Texts{});
  EXPECT_EQ(web.gone, Texts{});
  EXPECT_FALSE(web.frozen());
}

TEST(WatchCanary, one_that_began_before_a_repair_says_nothing_of_now) {
  CanaryAnswer answer;
  answer.started_ns = 1'000;
  EXPECT_TRUE(answer.is_of_before(1'001));
  EXPECT_FALSE(answer.is_of_before(1'000));
  EXPECT_FALSE(answer.is_of_before(0));  // nothing was ever repaired
}

}  // namespace
}  // namespace sbpf::agent
