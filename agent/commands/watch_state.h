// SPDX-License-Identifier: Apache-2.0
// Inside `sbpf watch`: its state, and a pass over it. watch.cpp looks, watch_canary.cpp proves, watch_answer.cpp
// answers and repairs, watch_assigned.cpp sees that assignments hold, watch_mounts.cpp that policies reach what is
// mounted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/commands/watch.h"
#include "agent/commands/watch_assigned.h"
#include "agent/commands/watch_canary.h"
#include "agent/commands/watch_mounts.h"
#include "agent/verify/loss_answer.h"
#include "agent/verify/overruling_programs.h"
#include "agent/verify/probe.h"
#include "agent/verify/quick_check.h"
#include "base/clock.h"

namespace sbpf::agent {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kPeriod = kSecond / 2;  // a loss is answered within a second
inline constexpr std::int64_t kInTime = kSecond;      // of a pass, from when it was due to its end
inline constexpr std::int64_t kTellLate = 60 * kSecond;
inline constexpr std::int64_t kTellCounters = 5 * kSecond;
inline constexpr std::int64_t kCanaryPeriod = 60 * kSecond;
inline constexpr std::int64_t kUnclear = 10 * kSecond;       // if a part cannot be told for so long: degraded
inline constexpr std::int64_t kCanaryStale = 300 * kSecond;  // without a canary for this time a sandbox is degraded

// The kernel is asked for programs that run after ours: for a sandbox's own cgroup once in this many passes, and for
// the cgroup above it in each pass.
inline constexpr std::uint64_t kOwnLaterPasses = 20;

inline constexpr char kChanging[] = "changing";  // what cannot be told while sbpf itself changes a sandbox

// The time of day, and the clock for the watch's own actions and waits, which stands still while the host sleeps.
std::int64_t day_ns();
inline std::int64_t now_ns() { return static_cast<std::int64_t>(monotonic_ns()); }

// One sandbox.
struct Entry {
  std::optional<Cgroup> cgroup;
  Sound sound;
  Status status;                // of its hooks those that are not attached
  std::string state;            // what the last full reading was of: another one, and it is read again
  std::vector<Lost> lost;       // that was answered
  std::vector<Lost> unclear;    // what cannot be told
  std::int64_t unclear_at = 0;  // CLOCK_MONOTONIC: since when; 0: all can be told
  bool unclear_told = false;
  LaterSeen later;
  bool has_own_later = true;      // programs of others at its own cgroup, not above; or it cannot be told
  std::vector<Lost> canary_lost;  // of the last canary, but for what follows from other losses
  std::int64_t sound_at = 0;      // time of day
  std::int64_t told_at = 0, read_at = 0, canary_due = 0, restored_at = 0;
  std::int64_t canary_at = 0;   // time of day
  std::int64_t proven_at = 0;   // CLOCK_MONOTONIC: of the last canary that was denied; before that of the first look
  std::string no_canary;        // why the last one could not be run
  std::uint64_t collected = 0;  // events of it that were moved to its log
  std::uint64_t moved_out = 0;
  std::size_t mounts = 0;  // a hash of what its processes had mounted when its paths were last looked up
  bool first = true;
};

class Watch {
 public:
  // The check whether the programs run; by default a sentinel.
  using Alive = std::function<Liveness(const Kernel&)>;
  explicit Watch(const WatchSink& sink, Alive alive = nullptr) : sink_(sink), alive_(std::move(alive)) {}

  // Looks at every sandbox once, answers, repairs, tells. It began so long after it was due. Errors: "stale_programs",
  // "not_the_agent".
  Result<void> pass(std::int64_t late);
  // Takes the answer of a canary that has one.
  void read_canary();
  // Starts the canary that is due the longest, if none runs.
  void start_canary();
  // To poll for it; -1: none runs.
  int canary_fd() const { return canary_.fd(); }
  // Ends the processes that it started, and mends their half-done changes, because no other process may do so for a
  // while.
  void finish();

 private:
  Result<bool> have_kernel();
  static bool may_open_pins();
  void forget_all();
  void let_go();
  void look_at_all(bool none);
  void collect_events(const sbpf_sandbox& record);
  void forget(std::uint64_t cgroup_id);
  bool check(const sbpf_sandbox& record, Entry& entry);
  struct Found {
    std::vector<Lost> lost;
    bool changing = false;  // by sbpf itself: `lost` is what was lost before
  };
  // The lost parts of the sandbox; `unclear` receives the parts that cannot be told. Nothing: it is taken down, or
  // another process took over.
  std::optional<Found> find_lost(const sbpf_sandbox& record, Entry& entry, std::vector<Lost>& unclear);
  // What a reading of it whole would be of.
  std::string state_text(const sbpf_sandbox& record, const Entry& entry, bool frozen,
                         const std::vector<Lost>& lost) const;
  void tell_counters(const sbpf_sandbox& record, Entry& entry);
  std::vector<Lost> missing_now(Entry& entry);
  // Empty if the sandbox is sound, is gone, or is being changed by sbpf itself.
  std::optional<std::vector<Lost>> confirmed(const sbpf_sandbox& record, Entry& entry);
  bool is_record_lost(std::uint64_t id, const Entry& entry) const;
  void look_at_later(Entry& entry, std::vector<Lost>& lost, std::vector<Lost>& unclear);
  // Programs of others that run after ours, for it and for all below the same cgroup.
  Result<std::vector<Later>> later_of(Entry& entry);
  const Result<std::vector<Later>>& above(const Entry& entry);
  void lost_records(const std::set<std::uint64_t>& present);
  void answer(Entry& entry, const std::vector<Lost>& lost, bool moved);
  // Answers the loss (agent/verify/loss_answer.h), and notes in it how and when. `record`: null where none was there.
  void stop(WatchLoss& loss, const Cgroup* cgroup, const sbpf_sandbox* record, policy::Mode mode);
  void restored(Entry& entry);
  void tell_limits(Entry& entry, const CanaryAnswer& answer);
  void read(Entry& entry, const std::vector<Lost>& lost);
  void tell(const Entry& entry) const;
  void repair();
  // Each assignment has its sandbox, or gets it. watch_assigned.cpp
  void hold_assigned();
  void confine(const std::string& name, bool looked_at);
  bool is_confined(const std::string& name) const;
  void answer_unconfined(const Assignment& assignment, Unconfined& unconfined);
  // Extends the policies of sandboxes without a supervisor to later mounts. watch_mounts.cpp
  void follow_mounts();
  void note_refreshed(const std::string& told);
  void complain(const Error& error);
  void tell_late(std::int64_t answered_after);
  // Notes the parts of the sandbox that cannot be told, and reports them.
  void note_unclear(Entry& entry, const std::string& name, std::vector<Lost> unclear);
  static bool is_unclear(const Entry& entry) { return entry.unclear_at != 0 && now_ns() - entry.unclear_at > kUnclear; }
  // Is the sandbox's cgroup there still, by the descriptor that is held of it?
  static Seen is_there(const Entry& entry) { return entry.cgroup ? entry.cgroup->seen() : Seen::unknown; }
  static bool is_unproven(const Entry& entry) { return now_ns() - entry.proven_at > kCanaryStale; }

  const WatchSink& sink_;
  const Alive alive_;
  std::optional<Kernel> kernel_;
  std::vector<Lost> host_, host_unclear_;
  Sentinel sentinel_{true};
  HostProbe probe_;  // of this pass; what it found lost is in host_, too
  Snapshot snapshot_;
  std::map<std::string, Result<std::vector<Later>>> above_;  // of this pass, by the cgroup's path
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t passes_ = 0;
  CanaryChild canary_;
  WatchChild attaching_{attach_lines};
  WatchChild refreshing_{refresh_lines};
  std::int64_t refreshing_since_ = 0;             // CLOCK_MONOTONIC
  std::map<std::string, Unconfined> unconfined_;  // assignments, by name
  std::string launchers_;                         // that the programs know
  std::string complaint_;                         // told already
  std::optional<std::int64_t> first_pass_;        // how long it took; 0 once the second has waited for it
  std::int64_t late_told_at_ = 0;
};

}  // namespace sbpf::agent
