// SPDX-License-Identifier: Apache-2.0
// sbpf's programs and maps in the kernel: loaded and pinned once per host, opened from the pins by everyone else.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/kernel/hooks.h"
#include "agent/kernel/losses.h"
#include "base/fd.h"
#include "base/result.h"
#include "base/seen.h"

struct sbpf_bpf;  // the skeleton that bpftool makes of the BPF object

struct bpf_link_info;

namespace sbpf::agent {

// Shared with the programs through the mapped .bss.
struct KernelGlobals {
  sbpf_gate gate;
  sbpf_alive alive;
  sbpf_canary canary;
  sbpf_guard guard;
  sbpf_journal journal;
};

// An exclusive lock over every change of the pins. Held by an open descriptor; a dead holder frees it. Errors: "lock".
Result<Fd> lock_host();
// The same for callers that must not wait longer than this. Errors: also "locked", while another process has it.
Result<Fd> lock_host(std::chrono::milliseconds patience);
// Lets others have the host lock `lock` meanwhile, and takes it again. Errors: "lock".
Result<void> unlock_host(const Fd& lock);
Result<void> relock_host(const Fd& lock);
// A claim on a sandbox that is being set up: nobody collects the sandbox, even while others have the host lock. Until
// the end of the claim, or of the last descriptor of `lock`. Errors: "lock".
Result<void> claim_sandbox(const Fd& lock, std::uint64_t cgroup_id);
void end_claim(const Fd& lock, std::uint64_t cgroup_id);
// Is another process setting it up? True also if that cannot be told.
bool is_claimed(std::uint64_t cgroup_id);

// Programs that are attached to nothing: the agent runs them, by the names sbpf_inodes and so on.
enum class Query { inodes, open_files, mapped_files, announce, escaped_tasks, proxied, cgroup_links, modifiers };
inline constexpr std::array kQueries{"inodes",        "open_files", "mapped_files", "announce",
                                     "escaped_tasks", "proxied",    "cgroup_links", "modifiers"};

// What opening the pin at `path` says with this errno, which is kept: nothing where another mount lies over the pins'
// (/sys/fs, /sys), or where the pin is there and may not be opened.
Seen pin_seen(int error, const std::string& path);

// sbpf's maps, programs and links in the kernel, open.
struct KernelObjects {
  Fd sandboxes, policies, compared, rings, told, host_names, origins, cgroup_refs, globals;
  Fd meta;  // a map with the record of the programs
  std::array<Fd, kQueries.size()> queries;
  std::array<Fd, SBPF_HOOK_COUNT> programs;  // of the hooks that each sandbox attaches; of all hooks, once loaded
  std::array<Fd, SBPF_HOOK_COUNT> links;     // of the hooks that the host has once
  std::array<sbpf_meta, SBPF_HOOK_COUNT> recorded{};
  std::uint32_t loaded = 0;  // number of these programs: of the directory that they are pinned in
};

// The one list of the maps that are pinned, by their names in maps/: sbpf_NAME in the object, but for the globals.
inline constexpr std::array<std::pair<const char*, Fd KernelObjects::*>, 9> kMaps{{
    {"sandboxes", &KernelObjects::sandboxes},
    {"policies", &KernelObjects::policies},
    {"compared", &KernelObjects::compared},
    {"rings", &KernelObjects::rings},
    {"told", &KernelObjects::told},
    {"host_names", &KernelObjects::host_names},
    {"origins", &KernelObjects::origins},
    {"cgroup_refs", &KernelObjects::cgroup_refs},
    {"globals", &KernelObjects::globals},
}};

class Kernel {
 public:
  // Opens the pins, after checking that they are this version's and complete. If nothing is pinned, loads, attaches and
  // pins the programs. On failure, everything that was made is removed. The caller holds the lock. Errors:
  // "stale_programs" (pins of another version with live sandboxes), and those of load().
  static Result<Kernel> ensure();
  // Opens the pins. Errors: "not_loaded", "pins_broken", "not_the_agent" (another executable loaded the programs),
  // "cannot_tell" (the pins cannot be looked at).
  static Result<Kernel> open();
  // The same for objects that are already open. Errors: "cannot_tell" (their globals cannot be mapped).
  static Result<Kernel> of(KernelObjects objects);
  // Loads and attaches without pinning: everything is gone with the object.
  // Errors: "program_load", "program_attach" (naming the hook), "no_btf".
  // With `old` on the maps of that one, and beside its programs.
  static Result<Kernel> load(const Kernel* old = nullptr);
  // Are these the programs that this executable carries?
  bool is_of_this_executable() const;
  // Makes the links of every sandbox run the programs of this object.
  using RunBySandboxes = std::function<Result<void>(const Kernel&)>;
  // Puts these programs, which load(&old) loaded beside those of `old` and on their maps, in their place: pins them,
  // makes each sandbox's links run them, verifies that, and releases the old ones. At no moment is a hook without a
  // program. A failure leaves the old programs in force. The caller holds the lock, and has noted the change in the
  // journal. Errors: "upgrade", "pin", those of `run_by_sandboxes`.
  Result<void> replace(const Kernel& old, const RunBySandboxes& run_by_sandboxes);
  // Finishes or undoes a killed replace(). The caller holds the lock. Errors: those of open() and of
  // `run_by_sandboxes`.
  static Result<void> mend_upgrade(const RunBySandboxes& run_by_sandboxes);
  // Were the programs that this object knows replaced by others?
  bool outdated() const;
  // After an upgrade: opens the new programs, and closes the old ones, which the kernel frees once nobody has them
  // open. Whoever keeps a Kernel for long calls this regularly. Without an upgrade, or where the new ones cannot be
  // opened, it does nothing.
  void renew();

  // Removes all pins and sbpf's root cgroup. The caller has made sure that no sandbox is left.
  static void remove_all();
  static bool is_pinned();
  // The same for callers that must not mistake hidden pins for none: is anything pinned on the host's BPF filesystem?
  static Seen pinned();

  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  int sandboxes() const { return objects_.sandboxes.get(); }
  int policies() const { return objects_.policies.get(); }
  int compared() const { return objects_.compared.get(); }
  int rings() const { return objects_.rings.get(); }
  int told() const { return objects_.told.get(); }
  int host_names() const { return objects_.host_names.get(); }
  int cgroup_refs() const { return objects_.cgroup_refs.get(); }
  int origins() const { return objects_.origins.get(); }
  int query(Query what) const { return objects_.queries[static_cast<std::size_t>(what)].get(); }
  // The link of one that is an iterator, kept from one look to the next: read_records().
  Fd& iterator(Query what) const { return iterators_[static_cast<std::size_t>(what)]; }
  // Of a hook that each sandbox attaches.
  int program(sbpf_hook hook) const { return objects_.programs[hook].get(); }
  // Read and written in place; visible to the programs at once.
  KernelGlobals& globals() const { return *globals_; }
  const sbpf_meta& meta(sbpf_hook hook) const { return objects_.recorded[hook]; }

  // The kernel's answer for a hook that is attached once per host, now: its link, read back. `link` is -1 if the pin is
  // gone. Without `program` only the link is read, not what it runs.
  HookStatus host_status(const Hook& hook, bool program = true) const;
  // Is the program behind `prog_id` the one recorded at load, using this object's maps? Empty if so, otherwise the
  // difference. `unclear` is set if the kernel does not say.
  std::string program_mismatch(const Hook& hook, std::uint32_t prog_id, bool& unclear) const;

  // Pins of kernel-wide objects that are gone or are pins of something else, with the reason. Costs a few hundred
  // calls. Pins that cannot be examined are not included; `unclear`, if given, receives the reason for the first of
  // them.
  std::vector<Degradation> broken_pins(bool of_links_alone, std::string* unclear = nullptr) const;
  // Pins what broken_pins() names again; a link that is gone is attached anew from its pinned program.
  // Errors: "pin", "program_attach" for the first that cannot be repaired.
  Result<void> repair_pins();

 private:
  std::string why_idle(const Hook* hook) const;
  struct Pin {
    std::string name;  // below kPinRoot
    int fd = -1;
    const Hook* hook = nullptr;  // of a link: which
  };
  std::vector<Pin> pins() const;
  struct Object;  // a libbpf object, when loaded by this process
  Kernel();
  Result<void> map_globals();
  Result<void> open_programs();
  Result<void> pin() const;
  Result<void> pin_programs(const std::string& root) const;
  // Makes an object that is not loaded yet use the maps of this one. Errors: "upgrade".
  Result<void> share_maps(sbpf_bpf& skeleton) const;
  Result<void> record_meta();

  std::unique_ptr<Object> object_;
  KernelObjects objects_;
  mutable std::array<Fd, kQueries.size()> iterators_;  // made when they are asked for
  mutable std::set<std::uint32_t> map_ids_;            // of the maps, read once
  KernelGlobals* globals_ = nullptr;
};

// Attach type of a hook of cgroups, that of the root cgroup too, as BPF_LINK_CREATE takes it; -1 for any other hook.
int cgroup_attach_type(const Hook& hook);
// A link of a program to what the whole host has of its hook. Errors: an empty descriptor, and errno.
Fd attach_to_host(const Hook& hook, int program);
// What such a link is attached to, as struct sbpf_meta keeps it; 0 if it is detached, or has no target but its
// program's.
std::uint32_t target_of(const bpf_link_info& link);

// What to do where an upgrade failed.
inline constexpr std::string_view kNotUpgraded =
    "the programs that were in force stay; end the sandboxes and run `sbpf unload` to load others";

// SHA-256 of the programs that this executable carries, and of how they lay out maps and memory, in lower-case
// hexadecimal.
std::string programs_digest();
std::string layout_digest();

}  // namespace sbpf::agent
