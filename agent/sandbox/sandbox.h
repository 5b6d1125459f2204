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
  std::uint32_t flags = 0;                     // enum sbpf_sandbox_flags
  std::array<std::uint64_t, 3> stdio_inode{};  // as struct sbpf_sandbox's
  const SandboxResolver* resolver = nullptr;   // null: without
  std::uint64_t own_netns = 0, relayed = 0;    // as struct sbpf_sandbox's
};

// Attaches the cgroup hooks, publishes the policy, makes the record, opens the gate, and pins the links, in an order in
// which every state in between denies. On failure all of it is undone. With `pinned` false nothing is pinned
// (preflight): `links` then receives the links, and the sandbox ends with take_down(). Errors: "program_attach" (naming
// the hook), "publish_failed", "sandbox_setup", "pin".
Result<void> set_up(const Kernel& kernel, const Cgroup& cgroup, const SandboxSpec& spec, const policy::Image& image,
                    bool pinned, std::vector<Fd>& links);

// Undoes set_up: links, pins, record, policy and ring go; no program judges the cgroup any more when this returns.
// Parts that are already gone are no error. Pins of another sandbox that has taken the name stay. The cgroup itself is
// left.
void take_down(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name);

// A policy map with the image's contents, read back and frozen. Errors: "publish_failed" with errno.
Result<Fd> make_policy_map(const policy::Image& image);

// Makes a policy map of the image and flips the sandbox's entry to it (I2). The old policy stands unless this returns
// success; on return every program sees the new one.
// Errors: "publish_failed" with errno.
Result<void> publish(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image);

// Makes the hooks forget what they decided about files: a policy has changed.
void forget_verdicts(const Kernel& kernel);

// The flags that a cgroup's storage has (enum sbpf_ref_flags): of the policy, and of a sandbox for which a network
// namespace was made.
std::uint32_t ref_flags(const policy::Image& image, bool own_netns);

// The cgroup's storage, by which the cgroup programs know the sandbox. Nothing if it is not set or is another sandbox's
// (errno is then ENOENT), or if it cannot be read (errno says why). If the policy in force is older than the generation
// noted there, others published it. Read the storage before the policy: the noted policy is then already in force.
std::optional<sbpf_cgroup_ref> read_ref(const Kernel& kernel, std::uint64_t cgroup_id);

// The beginning of the hash of a policy's contents, by which the sandbox's storage names it.
std::uint64_t digest_of(const sbpf_policy_header& header);

// Did sbpf publish the policy with this header for the sandbox? `before`: its storage, read before the policy. True
// also if the storage has changed since: then another policy is being published, and the next look shows the result.
bool is_published(const Kernel& kernel, std::uint64_t cgroup_id, const sbpf_cgroup_ref& before,
                  const sbpf_policy_header& header);

// The number of the map of the policy in force; 0: none, or it cannot be told.
std::uint32_t policy_map_id(const Kernel& kernel, std::uint64_t cgroup_id);

// Begins or ends the recording of flows, as the policy says: after it was published. Errors: "publish_failed".
Result<void> set_recording(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image);

// Reads the published policy back from the kernel. Needs no lock. Errors: "no_policy".
Result<policy::Image> read_policy(const Kernel& kernel, std::uint64_t cgroup_id);

// The same from the policy's own map. Errors: "bpf_info", "no_policy".
Result<policy::Image> read_policy_map(int map);

// The image, with the endpoints that the resolver opened under its names added as rules. It is for judging established
// connections, so it includes endpoints that are closed to new connections; it must not be published. Needs no lock.
policy::Image with_opened(const Kernel& kernel, std::uint64_t cgroup_id, policy::Image image);

// Has the gate look at the levels of all attached sandboxes.
void refresh_levels(const Kernel& kernel);

// Records, as the kernel has them now. Need no lock. All of them take a call of the kernel for each 64, and grow with
// the host's sandboxes: where the cgroup is known, find_record() by its id is one lookup.
// `whole`: whether these are all; false where the kernel gave an error, and nothing follows from what is missing.
std::vector<sbpf_sandbox> read_registry(const Kernel& kernel, bool* whole = nullptr);
std::optional<sbpf_sandbox> find_record(const Kernel& kernel, std::uint64_t cgroup_id);
// Errors: "no_such_sandbox"; "cannot_tell" where the kernel gave no answer.
Result<sbpf_sandbox> find_record(const Kernel& kernel, const std::string& name);
// Is there a record of this cgroup?
Seen record_seen(const Kernel& kernel, std::uint64_t cgroup_id);
// For callers that only read: the sandboxes that have not ended. A sandbox of which this cannot be told is included,
// and `unclear` says why. Changes nothing, and needs no lock.
struct Standing {
  std::vector<sbpf_sandbox> sandboxes;
  std::string unclear;
};
Standing standing(const Kernel& kernel);

// The sandbox's ring of events; -1 inside if there is none.
Fd open_ring(const Kernel& kernel, std::uint64_t cgroup_id);

// For a sandbox whose policy has host names: the rules of its resolver, and the endpoints that it opened. -1 inside if
// it has none.
Fd open_resolver_rules(const std::string& name);
Fd open_host_names(const Kernel& kernel, std::uint64_t cgroup_id);

// The pins of a sandbox, and that of a cgroup hook's link among them.
std::string pin_directory(const std::string& name);
std::string link_pin(const std::string& name, const Hook& hook);

// Removes pins of sandboxes whose set-up was not finished. The caller holds the host lock, so no set-up is under way.
void drop_unfinished();

// Removes a cgroup that is no longer a sandbox, or never became one, from every map.
void forget_cgroup(const Kernel& kernel, std::uint64_t cgroup_id);

// Mends the half-done change of a killed sbpf (agent/sandbox/journal.h), and removes sandboxes without an owner: those
// whose cgroup is proven to be gone, and those made by run whose cgroup is proven to be empty. For commands that change
// something. The caller holds the host lock.
void collect_garbage(Kernel& kernel);

// The same before a sandbox named `name` is made, without a look at the cgroup of every sandbox of the host: at those
// of this name, and of many others at a few by turns, so that abandoned sandboxes are removed while new ones are made.
// Gives the remaining records.
std::vector<sbpf_sandbox> collect_some_garbage(Kernel& kernel, const std::string& name);

// Removes empty cgroups right below this one, which is a run's, that have no record: of an `exec --policy` that was
// killed early. `all` are the records. The caller holds the host lock.
void collect_orphans_in(const Kernel& kernel, const std::vector<sbpf_sandbox>& all, const Cgroup& above);

// The owner of the sandbox of this name, if it is a user's run (uUID-NAME).
std::optional<uid_t> user_of_run(std::string_view name);

// A name for a sandbox that is given none: KIND-PID-NUMBER.
std::string make_up_name(std::string_view kind);

// May a sandbox that root makes beside these have this name? Names of users' runs (uUID-NAME) are reserved: the service
// ends sandboxes with such a name. Errors: "sandbox_exists", "bad_name".
Result<void> check_new_name(const std::vector<sbpf_sandbox>& others, const std::string& name);

// Makes every link of every sandbox run the programs of `kernel`: those in force, or those with which an upgrade
// replaces them. Errors: "upgrade" for the first link that does not.
Result<void> have_sandboxes_run(const Kernel& kernel);

}  // namespace sbpf::agent
