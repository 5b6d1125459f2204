// SPDX-License-Identifier: Apache-2.0
// The cheap look of `sbpf watch` at one sandbox, and the repair of missing parts.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/host/cgroup.h"
#include "agent/kernel/gate.h"
#include "agent/kernel/inner_maps.h"
#include "agent/kernel/kernel.h"
#include "agent/kernel/losses.h"
#include "agent/sandbox/sandbox.h"
#include "base/seen.h"

namespace sbpf::agent {

// A sandbox as it was last seen sound: what a look compares with, and what a repair puts back.
struct Sound {
  sbpf_sandbox record{};
  sbpf_cgroup_ref ref{};
  Fd policy;                    // its map; an open descriptor keeps it, whatever becomes of the sandbox's entry
  std::uint32_t policy_id = 0;  // of the map; 0: none seen yet
  std::uint32_t generation = 0;
  bool policy_gone = false;                            // the next valid policy is taken, whatever its generation
  std::array<std::uint32_t, SBPF_HOOK_COUNT> links{};  // numbers
  // All pins were opened, and were the links above, when the directory that they are in was this one, and last changed
  // then.
  struct Pins {
    ino_t directory = 0;
    std::int64_t changed_ns = 0;  // time of day
    // CLOCK_BOOTTIME; 0: never, or too shortly after the change to tell a later one from it.
    std::int64_t opened_ns = 0;
  } pins;
};

// What a pass over all sandboxes compares with, read in one go at one moment: the links of all cgroups of the host, and
// which map is whose policy.
class Snapshot {
 public:
  Snapshot() = default;  // nothing is known
  // Where the kernel cannot be asked, nothing is known.
  explicit Snapshot(const Kernel& kernel);
  // Is this link attached to this cgroup, and runs this program?
  bool has(const sbpf_cgroup_link& link) const;
  // Does any link run this program for the cgroup of this id?
  Seen runs(std::uint64_t cgroup_id, std::uint32_t prog_id) const;
  // The number of the map that is the policy of the cgroup of this id; 0: not known.
  std::uint32_t policy_of(std::uint64_t cgroup_id) const;

 private:
  bool knows_links_ = false;
  std::vector<sbpf_cgroup_link> links_;  // by id
  InnerMaps policies_;                   // by cgroup id
};

// The kernel's own list of links, for links whose pins do not tell: read on demand, and once.
class ListedLinks {
 public:
  // `before`: a list from before, in which what came since is missing; null: none.
  explicit ListedLinks(const Kernel& kernel, const Snapshot* before = nullptr) : kernel_(kernel), before_(before) {}
  // Does any link run this program for the cgroup of this id?
  Seen runs(std::uint64_t cgroup_id, std::uint32_t prog_id);

 private:
  const Kernel& kernel_;
  const Snapshot* before_;
  std::optional<Snapshot> now_;
};

// Is this among what is lost?
bool is_lost(const std::vector<Lost>& lost, const std::string& what);

// Was this one of those? Programs that run after ours are told apart.
bool is_answered(const std::vector<Lost>& lost, const Lost& one);

// Does the loss of a part of the host concern this sandbox? Of the host's gate those of `attach` use another part,
// which look_at() looks at; that no sentinel is known is for the others the same as the loss of the gate.
inline bool concerns(const Lost& one, const sbpf_sandbox& record) {
  const bool attached = (record.flags & SBPF_SANDBOX_ATTACHED) != 0;
  return one.what == "gate" ? !attached : one.what == "sentinel" ? attached : true;
}

// Takes those that cannot be told out of a list, and gives them.
std::vector<Lost> take_unclear(std::vector<Lost>& lost);

// What status, supervisor and watch ask of one part each, and say of it; nothing: it is in order. None needs a lock.
std::optional<Lost> lsm_lost();
// Do the programs recognise the tasks of this sandbox?
std::optional<Lost> gate_lost(const Kernel& kernel, const sbpf_sandbox& record);
// `error`: errno where there is no `ref`.
std::optional<Lost> storage_lost(const std::optional<sbpf_cgroup_ref>& ref, int error);
// Where there is a policy: what was published last, complete and frozen under its own hash? `ref`: the storage, read
// before it was.
std::optional<Lost> policy_lost(const Kernel& kernel, std::uint64_t cgroup_id,
                                const std::optional<sbpf_cgroup_ref>& ref, const policy::Image& image);
// Where there is none, by the errno of looking it up.
Lost no_policy(int error);

// How deep the host is looked at: what is in force; or the pins of programs and maps, too, by which it is put back.
enum class Depth : unsigned char { links, pins };

// Missing parts that concern every sandbox of the host: LSM list, links and pins. Needs no lock.
std::vector<Lost> look_at_host(const Kernel& kernel, Depth depth);

// What this one lacks of its own. Remembers in `sound` what is in order: links, storage, a newer policy. Pins whose
// directory did not change are not opened again for a minute: their links are looked up in `all`. What is not in order
// there is read by itself. Needs no lock; sees what is being changed as it is (is_changing()).
std::vector<Lost> look_at(const Kernel& kernel, const Snapshot& all, const sbpf_sandbox& record, Sound& sound);

// Restores the parts that look_at() names. The caller holds the host lock. Errors: "repair" for the first part that
// cannot be restored.
Result<void> repair_sandbox(const Kernel& kernel, const Cgroup& cgroup, const Sound& sound,
                            const std::vector<Lost>& lost);

}  // namespace sbpf::agent
