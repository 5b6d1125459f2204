// SPDX-License-Identifier: Apache-2.0
// sbpf's programs and maps in the kernel: loaded and pinned once per host, opened from the pins by everyone else.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
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
  sbpf_change change;
};

// An exclusive lock over everything that changes what is pinned. Held by an open descriptor; a dead holder frees it.
// Errors: "lock".
Result<Fd> lock_host();
// The same for who must not wait: at most so long. Errors: also "locked", while another one has it.
Result<Fd> lock_host(std::chrono::milliseconds patience);
// Lets others have the host lock `lock` meanwhile, and takes it again. Errors: "lock".
Result<void> unlock_host(const Fd& lock);
Result<void> relock_host(const Fd& lock);
// A sandbox that comes up is its maker's also while others have the host lock: nobody collects it. Until the end of the claim, or of
// the last descriptor of `lock`. Errors: "lock".
Result<void> claim_sandbox(const Fd& lock, std::uint64_t cgroup_id);
void end_claim(const Fd& lock, std::uint64_t cgroup_id);
// Does another process bring it up? True also where that cannot be told.
bool is_claimed(std::uint64_t cgroup_id);

// Programs that are attached to nothing: the agent runs them, by the names sbpf_inodes and so on.
enum class Query { inodes, open_files, mapped_files, announce, escaped_tasks, proxied, cgroup_links, modifiers };
inline constexpr std::array kQueries{"inodes", "open_files", "mapped_files", "announce", "escaped_tasks", "proxied", "cgroup_links", "modifiers"};

// What opening the pin at `path` says with this errno, which is kept: nothing where another mount lies over the pins' (/sys/fs, /sys),
// or where the pin is there and may not be opened.
Seen pin_seen(int error, const std::string& path);

class Kernel {
 public:
  // Opens what is pinned, after checking that it is this version's and complete; loads, attaches and pins it if nothing
  // is pinned. On failure nothing that was made stays. The caller holds the lock.
  // Errors: "stale_programs" (pins of another version with live sandboxes), and those of load().
  static Result<Kernel> ensure();
  // Opens what is pinned. Errors: "not_loaded", "pins_broken", "not_the_agent" (another executable loaded it), "cannot_tell"
  // (what is pinned cannot be looked at).
  static Result<Kernel> open();
  // Loads and attaches without pinning: everything is gone with the object.
  // Errors: "program_load", "program_attach" (naming the hook), "no_btf", "no_permission".
  // With `old` on the maps of that one, and beside its programs.
  static Result<Kernel> load(const Kernel* old = nullptr);
  // Puts the programs of this executable in the place of those that are pinned, which have the same layout of maps: loads
  // and attaches them beside the old ones on the same maps, has each sandbox's links run them, verifies that, and lets go
  // of the old ones. At no moment is a hook without a program; what fails leaves the old ones in force. False: they are
  // its own already. The caller holds the lock. Errors: "upgrade", those of open() and load(), "pin".
  static Result<bool> upgrade();
  // Finishes what a killed upgrade() left, or takes it back. The caller holds the lock. Errors: those of open().
  static Result<void> mend_upgrade();
  // Were other programs put in the place of those that this object knows?
  bool outdated() const;
  // After an upgrade: opens the new programs, and closes the old ones, which the kernel frees once nobody has them open. Whoever keeps
  // a Kernel for long calls this regularly. Without an upgrade, or where the new ones cannot be opened, it does nothing.
  void renew();

  // Removes all pins and sbpf's root cgroup. The caller has made sure that no sandbox is left.
  static void remove_all();
  static bool is_pinned();
  // The same for who must not take what is hidden for nothing: is anything pinned on the host's BPF filesystem?
  static Seen pinned();

  Kernel(Kernel&&) noexcept;
  Kernel& operator=(Kernel&&) noexcept;
  ~Kernel();

  int sandboxes() const { return sandboxes_.get(); }
  int policies() const { return policies_.get(); }
  int compared() const { return compared_.get(); }
  int rings() const { return rings_.get(); }
  int told() const { return told_.get(); }
  int names() const { return names_.get(); }
  int cgroup_refs() const { return cgroup_refs_.get(); }
  int origins() const { return origins_.get(); }
  int query(Query what) const { return queries_[static_cast<std::size_t>(what)].get(); }
  // The link of one that is an iterator, kept from one look to the next: read_records().
  Fd& iterator(Query what) const { return iterators_[static_cast<std::size_t>(what)]; }
  // Of a hook that each sandbox attaches.
  int program(sbpf_hook hook) const { return programs_[hook].get(); }
  // Read and written in place; visible to the programs at once.
  KernelGlobals& globals() const { return *globals_; }
  const sbpf_meta& meta(sbpf_hook hook) const { return meta_[hook]; }

  // The kernel's answer for a hook that is attached once per host, now: its link, read back. `link` is -1 if the pin is gone.
  // Without `program` only the link is read, not what it runs.
  HookStatus host_status(const Hook& hook, bool program = true) const;
  // Is the program behind `prog_id` the one recorded at load, using this object's maps? Empty if so, else what differs;
  // `unclear` is set where the kernel does not say.
  std::string program_mismatch(const Hook& hook, std::uint32_t prog_id, bool& unclear) const;

  // Which pins of kernel-wide objects are gone or are pins of something else, with the reason; costs a few hundred calls.
  // Those of which that cannot be told are not among them; `unclear`, if given, receives why of the first.
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
  Result<void> pin() const;
  Result<void> pin_programs(const std::string& root) const;
  // Has an object that is not loaded yet use the maps of this one. Errors: "upgrade".
  Result<void> share_maps(sbpf_bpf& skeleton) const;
  // Has every link of every sandbox run this one's programs. Errors: "upgrade" for the first that does not.
  Result<void> run_by_all() const;
  Result<void> record_meta();

  std::unique_ptr<Object> object_;
  Fd sandboxes_, policies_, compared_, rings_, told_, names_, cgroup_refs_, bss_, meta_map_, origins_;
  std::array<Fd, kQueries.size()> queries_;
  mutable std::array<Fd, kQueries.size()> iterators_;  // made when they are asked for
  std::array<Fd, SBPF_HOOK_COUNT> programs_;
  std::array<Fd, SBPF_HOOK_COUNT> links_;  // of those that the host has once
  std::array<sbpf_meta, SBPF_HOOK_COUNT> meta_{};
  mutable std::set<std::uint32_t> map_ids_;  // of the maps above, read once
  KernelGlobals* globals_ = nullptr;
  std::uint32_t loaded_ = 0;  // number of these programs: of the directory that they are pinned in
};

// Attach type of a hook of cgroups, that of the root cgroup too, as BPF_LINK_CREATE takes it; -1 for any other hook.
int cgroup_attach_type(const Hook& hook);
// A link of a program to what the whole host has of its hook. Errors: an empty descriptor, and errno.
Fd attach_to_host(const Hook& hook, int program);
// What such a link is attached to, as struct sbpf_meta keeps it; 0 if it is detached, or has no target but its program's.
std::uint32_t target_of(const bpf_link_info& link);

// SHA-256 of the programs that this executable carries, and of how they lay out maps and memory, in lower-case hexadecimal.
std::string programs_digest();
std::string layout_digest();

}  // namespace sbpf::agent
