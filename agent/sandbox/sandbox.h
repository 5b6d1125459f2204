// SPDX-License-Identifier: Apache-2.0
// One sandbox in the kernel: its record, policy, ring, and the cgroup links pinned under its name.
// Callers hold the host lock (lock_host) unless said otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dns/sandbox_resolver.h"
#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "policy/image.h"

namespace sbpf::agent {

struct SandboxSpec {
  std::string name;
  std::uint32_t flags = 0;                      // enum sbpf_sandbox_flags
  std::array<std::uint64_t, 3> stdio_inode{};   // AF_UNIX stdio handed over; 0 if none
  const SandboxResolver* names = nullptr;          // null: without
};

// Attaches the cgroup hooks, publishes the policy, makes the record, opens the gate, and pins the links, in an order in
// which every state in between denies. On failure all of it is undone. With `pinned` false nothing is pinned (preflight):
// `links` then receives the links, and the sandbox ends with take_down().
// Errors: "program_attach" (naming the hook), "publish_failed", "sandbox_setup", "pin".
Result<void> set_up(const Kernel& kernel, const Cgroup& cgroup, const SandboxSpec& spec, const policy::Image& image,
                    bool pinned, std::vector<Fd>& links);

// Undoes set_up: links, pins, record, policy and ring go; no program judges the cgroup any more when this returns. What is
// gone already is fine, and pins of another sandbox that has the name by now stay. The cgroup itself is left.
void take_down(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name);

// A policy map with what the image has, read back and frozen. Errors: "publish_failed" with errno.
Result<Fd> make_policy_map(const policy::Image& image);

// Makes a policy map of the image and flips the sandbox's entry to it (I2). The old policy stands unless this returns
// success; on return every program sees the new one.
// Errors: "publish_failed" with errno.
Result<void> publish(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image);

// The cgroup's storage, by which the cgroup programs know the sandbox; nothing if it is not set, or another's (errno is then
// ENOENT), or cannot be read (errno says why). A policy in force
// that is older than the generation noted there was put there by others. Read it before the policy: what is noted is in
// force by then.
std::optional<sbpf_cgroup_ref> read_ref(const Kernel& kernel, std::uint64_t cgroup_id);

// The beginning of the hash of a policy's contents, by which the sandbox's storage names it.
std::uint64_t digest_of(const sbpf_policy_header& header);

// Is a policy with this header one that sbpf published for the sandbox? `before`: its storage, read before the policy was. Also
// where the storage has changed since: then another one is being published, and the next look tells.
bool is_published(const Kernel& kernel, std::uint64_t cgroup_id, const sbpf_cgroup_ref& before, const sbpf_policy_header& header);

// The number of the map of the policy in force; 0: none, or it cannot be told.
std::uint32_t policy_map_id(const Kernel& kernel, std::uint64_t cgroup_id);

// Begins or ends the recording of flows, as the policy says: after it was published. Errors: "publish_failed".
Result<void> set_recording(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image);

// Reads the published policy back from the kernel. Needs no lock. Errors: "no_policy".
Result<policy::Image> read_policy(const Kernel& kernel, std::uint64_t cgroup_id);

// The same from the policy's own map. Errors: "bpf_info", "no_policy".
Result<policy::Image> read_policy_map(int map);

// The image, with what the resolver opened under its names as if it were rules: to judge a connection under way by, so also
// with what would open no new one any more; not to be published. Needs no lock.
policy::Image with_opened(const Kernel& kernel, std::uint64_t cgroup_id, policy::Image image);

// Has the gate look at the levels of all attached sandboxes.
void refresh_levels(const Kernel& kernel);

// Records, as the kernel has them now. Need no lock. All of them take a call of the kernel for each 64, and grow with
// the host's sandboxes: where the cgroup is known, find_record() by its id is one lookup.
// `whole`: whether these are all; false where the kernel gave an error, and nothing follows from what is missing.
std::vector<sbpf_sandbox> records(const Kernel& kernel, bool* whole = nullptr);
std::optional<sbpf_sandbox> find_record(const Kernel& kernel, std::uint64_t cgroup_id);
// Errors: "no_such_sandbox"; "cannot_tell" where the kernel gave no answer.
Result<sbpf_sandbox> find_record(const Kernel& kernel, const std::string& name);
// Is there a record of this cgroup?
Seen record_seen(const Kernel& kernel, std::uint64_t cgroup_id);
// For who only reads: the sandboxes that have not ended. One of which that cannot be told is among them, and `unclear` says
// why. Changes nothing, and needs no lock.
struct Standing {
  std::vector<sbpf_sandbox> sandboxes;
  std::string unclear;
};
Standing standing(const Kernel& kernel);

// The sandbox's ring of events; -1 inside if there is none.
Fd open_ring(const Kernel& kernel, std::uint64_t cgroup_id);

// Of a sandbox whose policy has host names: what its resolver answers by, and what that opened. -1 inside if it has none.
Fd open_name_rules(const std::string& name);
Fd open_names(const Kernel& kernel, std::uint64_t cgroup_id);

// The pins of a sandbox, and that of a cgroup hook's link among them.
std::string pin_directory(const std::string& name);
std::string link_pin(const std::string& name, const Hook& hook);

// Removes pins of sandboxes whose set-up was not finished. Whoever holds the host lock knows that nobody is at it.
void drop_unfinished();

// Takes a cgroup that is no sandbox any more, or never became one, out of every map.
void forget_cgroup(const Kernel& kernel, std::uint64_t cgroup_id);

// Mends what a killed sbpf left (agent/sandbox/journal.h), and removes what no one owns any more: sandboxes whose cgroup is proven to be
// gone, and those made by run whose cgroup is proven to be empty. For commands that change something. The caller holds the host lock.
void collect_garbage(Kernel& kernel);

// The same before a sandbox named `name` is made, without a look at the cgroup of every sandbox of the host: at those of
// this name, and of many others at a few by turns, so that what is left behind goes while new ones come. The records that
// are left then.
std::vector<sbpf_sandbox> collect_some_garbage(Kernel& kernel, const std::string& name);

// Whose the sandbox of this name is, if it is one of a user's runs (uUID-NAME).
std::optional<uid_t> user_of_run(std::string_view name);

// May a sandbox that root makes beside these have this name? Those of users' runs (uUID-NAME) are theirs alone: the service
// ends what has such a name. Errors: "sandbox_exists", "bad_name".
Result<void> check_new_name(const std::vector<sbpf_sandbox>& others, const std::string& name);

}  // namespace sbpf::agent
