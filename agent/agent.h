// SPDX-License-Identifier: Apache-2.0
// The agent: brings sbpf's programs up in the kernel, makes sandboxes, asks the kernel how they stand.
// Everything that must outlive the process is pinned under kPinRoot; no function trusts a memory of its own (I4).
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "bpf/abi.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::agent {

inline constexpr std::string_view kPinRoot = "/sys/fs/bpf/sbpf";
inline constexpr std::string_view kLockFile = "/run/sbpf.lock";
inline constexpr std::string_view kRootCgroupName = "sbpf";
inline constexpr std::string_view kKeptAgents = "/usr/lib/sbpf/agents";  // executables that an upgrade kept (docs/GUARD.md)

// ---- the hook table --------------------------------------------------------------------------------------------

enum class HookKind {
  cgroup,
  names,  // of a cgroup as well, where a resolver serves the sandbox: puts addresses right, and refuses nothing
  flows,  // likewise, where the policy has flows recorded: sees, and refuses nothing
  lsm,
  trace,  // sees, and refuses nothing
  root    // of the root cgroup
};

struct Hook {
  sbpf_hook id;
  const char* name;
  HookKind kind;
  sbpf_domain domain;
  bool optional;  // not every supported kernel has it

  bool per_sandbox() const { return kind == HookKind::cgroup || kind == HookKind::names || kind == HookKind::flows; }
  // Does a sandbox with these flags (enum sbpf_sandbox_flags) have it?
  bool used_with(std::uint32_t flags) const {
    if (kind == HookKind::names) return (flags & SBPF_SANDBOX_NAMES) != 0;
    return kind != HookKind::flows || (flags & SBPF_SANDBOX_FLOWS) != 0;
  }
};

// All hooks of this version, in id order: from SBPF_HOOKS (bpf/hooks.h).
const std::vector<Hook>& all_hooks();
// Those of them that the running kernel has; all of them, until a Kernel was loaded or opened.
const std::vector<Hook>& hooks();
// Those of them that a sandbox with these flags has.
std::vector<Hook> hooks_of(std::uint32_t flags);
// Keeps the optional hooks that are present. Called by Kernel alone, once it knows.
void set_hooks_present(const std::function<bool(const Hook&)>& is_present);
const char* domain_name(sbpf_domain domain);  // "network", "guard"

// ---- status ----------------------------------------------------------------------------------------------------

struct HookStatus {
  const Hook* hook = nullptr;
  std::uint32_t prog_id = 0;
  std::string prog_tag;       // 16 hex digits
  std::uint32_t link_id = 0;
  bool attached = false;      // link read back: right target, right program, right cgroup
  std::string canary;         // "denied", "not denied", "not run"
  std::string reason;         // why attached is false; empty otherwise
  bool unclear = false;       // not attached, because it cannot be told: `reason` is why
};

struct Degradation {
  std::string what, requested, effective, reason;
};

enum class Isolation { active, degraded, inactive };
const char* to_string(Isolation isolation);

struct Status {
  std::string sandbox;
  std::string cgroup;            // absolute path; empty if the cgroup is gone
  std::uint64_t cgroup_id = 0;
  std::uint64_t instance = 0;    // tells it from others that bore the name, or had the cgroup
  Isolation isolation = Isolation::inactive;
  std::vector<HookStatus> hooks;
  std::vector<Degradation> degraded;
  std::string policy_name;
  std::string policy_sha256;     // hex
  std::uint32_t generation = 0;
  std::uint32_t n_rules = 0;
  policy::Mode mode = policy::Mode::enforce;
  policy::OnLoss on_loss = policy::OnLoss::freeze;
  std::vector<policy::ProgramTag> trusted_programs;  // of others, that the policy lets run after sbpf's
  bool attached_cgroup = false;  // made by attach, not by run
  bool kept = false;             // its cgroup is kept: agent/assigned.h
  std::uint32_t flags = 0;       // enum sbpf_sandbox_flags
  std::uint64_t processes = 0;
  bool frozen = false;
  std::uint64_t events = 0, repeated = 0, lost_full = 0, lost_rate = 0;
  std::array<std::uint64_t, SBPF_MAX_HOOKS> denied{};
  std::vector<std::string> ended;  // by this `swap` or `attach --evict`: connections that the policy forbids

  std::size_t hooks_attached() const;
};

// ---- events ----------------------------------------------------------------------------------------------------

// One typed event with its explanation; `text` is one line for a terminal, `allow` the policy line that would allow it
// (empty where no policy can).
struct Event {
  sbpf_event raw{};
  std::string name;  // of the resolver's events: the host name that was asked for; of flows, which led there
  std::string path;  // of filesystem events, as far as it is known: "…" stands for what is above, or for the rest of a name
  bool path_is_whole = false;
  std::string exe;   // of records of flows: the program, if it still runs
  std::uint64_t flow = 0, sent = 0, received = 0;  // of records of flows: which one; bytes, at its end
  std::uint16_t local_port = 0;                    // likewise; 0: not known
  std::string interface;  // of SBPF_REASON_INTERFACE: which one was named, or "number N" where there is none of it
  std::string wanted;  // of filesystem events: "read", "write", "read, write"
  std::string sandbox;
  std::string text;
  std::string allow;
};

// ---- host ------------------------------------------------------------------------------------------------------

struct Check {
  std::string name;    // "cgroup2", "bpffs", "btf", "lsm", "lockdown", "capabilities", "seccomp", "programs", "canary"
  std::string domain;  // the domain that falls with it: "network", "guard", or "all"
  bool ok = false;
  std::string probe;   // what was tried
  std::string reason;  // why it failed; empty when ok
  std::string fix;     // how to mend it; empty when ok
};

struct Preflight {
  std::string kernel;  // uname -r
  std::vector<Check> checks;
  bool ok() const;
};

// Tries, without side effects, everything that strict needs: loads and attaches all programs in a cgroup of its own and
// has a canary denied by each hook; nothing is pinned and nothing is left behind.
Preflight preflight();

// ---- sandboxes -------------------------------------------------------------------------------------------------

struct RunOptions {
  std::string name;                     // "" = made up
  std::vector<std::string> argv;        // argv[0] is looked up in the PATH of `env`
  std::vector<std::string> env;         // complete: "NAME=value"
  std::optional<std::chrono::milliseconds> timeout;  // already merged with the policy's
  std::optional<policy::User> user;     // instead of the policy's
  std::vector<int> inherited;           // descriptors that the program gets beside stdio, by these numbers
  // Called once, when the sandbox is verified and before the first instruction runs.
  std::function<void(const Status&)> on_active;
  // Called for what was found lost while the program runs, after on_loss was carried out. `lost`: "WHAT: WHY", one for each part.
  std::function<void(const Status&, const std::vector<std::string>& lost)> on_loss;
  // Called with what does not weaken the isolation but the operator should know.
  std::function<void(const std::string&)> on_warning;
  // Called once the program runs, or was killed before it did.
  std::function<void()> on_started;
  // Called when the program has stopped (SIGSTOP and its kin).
  std::function<void(pid_t)> on_stopped;
  // Called twice a second while the program runs. None of these may wait for anything: the watch would wait with it.
  std::function<void()> on_pass;
  // Called for each event as it is read.
  std::function<void(const Event&)> on_event;
};

struct RunResult {
  int exit_code = 0;      // the program's, 128+n for signal n, 124 for a timeout
  bool timed_out = false;
  std::vector<Event> denials;  // those that on_event was not called for, as far as the log has them
  std::uint64_t lost_events = 0;
};

// Runs a program in a new sandbox and waits for it: flat steps, any failure undoes all before it and nothing ran.
// Errors: any of preflight's; "invalid_policy" (the seccomp profile); "sandbox_exists"; "launch_failed" (a user, limit,
// capability or filter that could not be set); "command_not_found" (127), "command_not_executable" (126): exit_code_of().
Result<RunResult> run(const policy::Policy& policy, const RunOptions& options);

struct AttachOptions {
  std::string cgroup;               // path of a cgroup2 directory
  std::string name;                 // "" = derived from the path
  bool evict = false;               // end the TCP and UDP sockets that were open before and that the policy forbids
  bool keep_open_sockets = false;   // accept sockets that were open before and that the policy forbids (degraded)
  bool keep = false;                // assign the policy to the path: agent/assigned.h
  bool proof_later = false;         // no canary where the cgroup is frozen already: the watch runs one when it is not any more
};

// Puts a policy on an existing cgroup and all below it; running tasks are frozen while it attaches. With `keep` nobody but sbpf
// removes the cgroup's directory while the sandbox lives, so that whoever starts a unit again starts it in the same cgroup; one that is
// not there is made.
// Errors: "not_a_cgroup", "already_attached", "open_sockets" (lists them), "state" (agent/assigned.h), and any of preflight's.
Result<Status> attach(const policy::Policy& policy, const AttachOptions& options);

// Puts an assignment in force whose sandbox is gone, as after a restart of the host; one that is in force stays as it is. Sockets that
// the policy forbids are ended. It may be degraded. Errors: "no_such_sandbox" (nothing is assigned under this name), those of attach().
Result<Status> reattach(const std::string& name);

struct AdoptOptions {
  std::string name;
  int pidfd = -1;         // of the process
  std::uint32_t uid = 0;  // whose process it must be,
  std::uint32_t gid = 0;
  pid_t parent = 0;       // and whose child
  // The process is in its sandbox, as this says, and may be told to go on.
  std::function<void(const Status&)> on_adopted;
};

// Makes a sandbox as run() does, verifies it, and moves a process into it that waits to be told to go on: the part of run()
// that needs root, for who is not. The process is stopped meanwhile; on failure nothing is left, and it is where it was or,
// once moved, killed. What a process sets in itself (process.seccomp, .capabilities, .limits of one process, .env) is its
// parent's to do. With host names in the policy it returns when nothing runs in the sandbox any more: the resolver is this
// process's child. Errors: "not_your_process", "process_unfit", "process_busy", "process_gone" (agent/held.h), those of
// check_for_user(), "inherited_socket", "sandbox_exists", "no_resolver", "resolver", and any of preflight's.
Result<void> adopt(const policy::Policy& policy, const AdoptOptions& options);

// May who has this uid run by this policy, without root's help in the program's own process? Errors: "needs_root".
Result<void> check_for_user(const policy::Policy& policy, std::uint32_t uid);

// Takes a sandbox down. For a sandbox made by run: kills what runs in it and removes the cgroup.
// For an attached cgroup: the tasks go on, unconfined. Ends an assignment, also one that has no sandbox. Errors: "no_such_sandbox",
// "state" (agent/assigned.h).
Result<void> detach(const std::string& name);

// Kills every process of the sandbox and takes it down, whoever made its cgroup.
Result<void> kill(const std::string& name);

struct SwapOptions {
  bool evict = false;            // end the processes that have files open or mapped which only the old policy allows
  bool keep_open_files = false;  // let them have these (degraded)
};

// Puts another policy on a live sandbox: one flip, or the old one stands. Where it has rules for files the sandbox is frozen meanwhile.
// Errors: "no_such_sandbox", "publish_failed", "open_files" (lists them), "sandbox_ended" (nothing was left in it), "cgroup_freeze".
Result<Status> swap(const std::string& name, const policy::Policy& policy, const SwapOptions& options = {});

// The kernel's answer, now. `canary`: also has each hook deny a canary (needs room for one process in the sandbox).
Result<Status> status(const std::string& name, bool canary);

struct Origin {
  policy::Address address{};  // whom the connection is for
  std::uint16_t port = 0;
  policy::Via proxy;          // whom a rule led it to
  std::string sandbox;        // empty if it has ended
};

// What a proxy asks for a connection that `via` led to it: by its client's address and port, as accept(2) names them.
// Errors: "not_loaded", "no_such_connection".
Result<Origin> origin_of(const policy::Address& client, std::uint16_t port);

// Names of the sandboxes that have not ended, and of assignments. Changes nothing. Errors: "not_permitted", "cannot_tell", those of opening.
struct Listed {
  std::vector<std::string> names;
  std::string unclear;  // why of some of them it cannot be told whether they have ended; empty: all are there
};
Result<Listed> list();

// How all of them stand, without canaries. Errors: those of list().
Result<std::vector<Status>> statuses();

// Removes programs, maps and pins when no sandbox is left. The number of programs that the kernel has nevertheless, ten seconds
// later: a process holds them, another pin, or they were attached elsewhere by others. Errors: "busy", "not_the_agent".
Result<std::size_t> unload();

// For so long, everyone outside of the sandboxes may touch what is sbpf's own: the way to take it down by hand, or to hand
// it over to another executable. Told to the host's log and to every sandbox's ring. 0 seconds close the window.
// Errors: "not_loaded", "not_the_agent".
Result<void> break_glass(const std::string& reason, std::chrono::seconds window);

// Makes another executable (an upgrade of this one) an agent as well, so that it manages what this one loaded; processes of
// this one stay agents. The other's programs must have the same layout of maps, which it says itself by `--version`. Told to
// the host's log.
// Errors: "not_loaded", "not_the_agent", "untrusted_file" (not root's alone), "stale_programs" (it lays them out otherwise),
// "too_many_agents" (handed over too often since the programs were loaded), "exec".
Result<void> hand_over(const std::string& executable);

// Puts the programs that this executable carries in the place of those in force, without a moment in which a hook has none.
// False: they are the same. Told to the host's log.
// Errors: "not_loaded", "not_the_agent", "stale_programs" (another layout), "upgrade" and those of loading; then nothing changed.
Result<bool> upgrade();

// SHA-256 of the programs that this executable carries, and of how they lay out maps and memory, in lower-case hexadecimal.
std::string programs_digest();
std::string layout_digest();

// Reads what is in a sandbox's ring, oldest first, calling `sink` for each; with `follow`, goes on until `sink` returns
// false or the sandbox is gone. Errors: "no_such_sandbox".
Result<void> events(const std::string& name, bool follow, const std::function<bool(const Event&)>& sink);

}  // namespace sbpf::agent
