// SPDX-License-Identifier: Apache-2.0
// The agent: brings sbpf's programs up in the kernel, makes sandboxes, asks the kernel how they stand.
// Everything that must outlive the process is pinned under kPinRoot; no function trusts a memory of its own (I4).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/commands/preflight.h"
#include "agent/launch/run_options.h"
#include "agent/sandbox/events.h"
#include "agent/sandbox/status.h"
#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

// Runs a program in a new sandbox and waits for it, in flat steps. A failed step undoes all steps before it, and
// nothing ran. Errors: any of preflight's; "invalid_policy" (the seccomp profile); "sandbox_exists"; "namespace". Why
// the program's process did not become the program is in the result: "launch_failed" (a user, limit, capability or
// filter that could not be set); "command_not_found" (127), "command_not_executable" (126).
Result<RunResult> run(const policy::Policy& policy, const RunOptions& options);

struct ExecOptions {
  std::vector<std::string> argv;     // argv[0] is looked up in the PATH of the environment
  std::optional<policy::User> user;  // instead of the policy's, or of that of the sandbox's program
  // Reads the files that the policy in force names by their paths: its seccomp profile. Errors are passed on.
  std::function<Result<void>(policy::Policy&)> read_files;
  // The program's environment, complete, by the policy in force and the user whom it runs as. Errors are passed on.
  std::function<Result<std::vector<std::string>>(const policy::Policy&, const policy::User&)> environment;
  // As those of RunOptions. `on_active`: before the program's process is made.
  std::function<void(const Status&)> on_active;
  std::function<void()> on_started;
  std::function<void(pid_t)> on_stopped;
};

struct ExecResult {
  std::optional<Error> not_started;  // why the program was not executed: Spawned::why_not_started()
  int exit_code = 0;                 // the program's, 128+n for signal n
  int signal = 0;                    // that ended the program; 0: none did
  bool sandbox_ended = false;        // and the program was killed with it
  std::uint64_t denied = 0;          // by the sandbox's policy meanwhile, to this program and to others
};

// Runs another program in a sandbox of `run` that lives, and waits for it. It begins as the sandbox's program began, by
// the policy in force, in the same places and the same working directory; secrets are not handed over again. Its
// process is in the sandbox from its first instruction. What it leaves running goes on until the sandbox ends. Errors:
// "isolation_not_active" (also of a frozen one); "usage" (an attached cgroup); "no_policy"; "no_namespace";
// "inherited_socket"; "no_such_sandbox", "sandbox_ended"; "busy" (its policy was changed meanwhile); those of spawn()
// and of the callbacks.
Result<ExecResult> exec(const std::string& name, const ExecOptions& options);

// The same under a policy of the program's own, beside that of the sandbox. Both are asked, so this one only takes
// away: of capabilities, limits and system calls, too. The program is in a sandbox of its own within the other, called
// exec-PID-NUMBER, in the other's places and network. It is supervised as that of run(), and what it leaves running is
// killed. Of `supervised` the timeout and the callbacks count. In the result `sandbox` is as that of exec(), `program`
// as that of run(). Errors: those of both; "secrets_not_handed", "host_names_unenforceable": a sandbox within another
// has none of these; "limit_unenforceable": nor has it limits of memory, processes or CPU below the other's.
struct ExecUnderResult {
  RunResult program;
  ExecResult sandbox;
};
Result<ExecUnderResult> exec_under(const std::string& name, policy::Policy policy, const ExecOptions& options,
                                   RunOptions supervised);

struct AttachOptions {
  std::string cgroup;              // path of a cgroup2 directory
  std::string name;                // "" = derived from the path
  bool evict = false;              // end the TCP and UDP sockets that were open before and that the policy forbids
  bool keep_open_sockets = false;  // accept sockets that were open before and that the policy forbids (degraded)
  bool keep = false;               // assign the policy to the path: agent/sandbox/assigned.h
  bool proof_later = false;        // no canary while the cgroup is frozen: the watch runs one later
};

// Puts a policy on an existing cgroup and all below it; running tasks are frozen while it attaches. With `keep` only
// sbpf can remove the cgroup's directory while the sandbox lives, so that a unit that starts again starts in the same
// cgroup. A directory that does not exist is made. Errors: "not_a_cgroup", "already_attached", "open_sockets" (lists
// them), "state" (agent/sandbox/assigned.h), and any of preflight's.
Result<Status> attach(const policy::Policy& policy, const AttachOptions& options);

// Puts an assignment in force whose sandbox is gone, as after a restart of the host. An assignment already in force is
// unchanged. Sockets that the policy forbids are ended. The sandbox may be degraded. Errors: "no_such_sandbox" (nothing
// is assigned under this name), those of attach().
Result<Status> reattach(const std::string& name);

// May it be run in the workspace that the options ask for? Errors: "usage".
Result<void> check_workspace(const policy::Policy& policy, const RunOptions& options);

struct AdoptOptions {
  std::string name;
  int pidfd = -1;         // of the process
  std::uint32_t uid = 0;  // whose process it must be,
  std::uint32_t gid = 0;
  pid_t parent = 0;  // and whose child
  // The process is in its sandbox, as this says, and may be told to go on.
  std::function<void(const Status&)> on_adopted;
};

// The part of run() that needs root, for the run of another user: makes a sandbox as run() does, verifies it, and moves
// a process into it that waits to be told to go on. The process is stopped meanwhile. On failure nothing is left, and
// the process is where it was or, once moved, killed.
// The settings of the process itself (process.seccomp, .capabilities, .limits of one process, .env) are left to its
// parent, and so is that it has places and a network of its own (agent/launch/waiting_child.h); a network that it
// has becomes the sandbox's. Where needs_helpers(), it returns when nothing runs in the sandbox any more: they are this
// process's children. Errors: "not_your_process", "process_unfit", "process_busy", "process_gone"
// (agent/launch/held_process.h), those of check_for_user(), "inherited_socket", "sandbox_exists", "no_resolver",
// "resolver", and any of preflight's.
Result<void> adopt(const policy::Policy& policy, const AdoptOptions& options);

// May the sandbox of a user's run under this policy have a resolver or a relay?
bool needs_helpers(const policy::Policy& policy);

// The part of exec() that needs root, for another user: moves a process as above into the live sandbox of that name,
// which must be the run of that user. Errors: those of adopt() and of exec(); "not_permitted".
Result<void> adopt_into_live(const AdoptOptions& options);

// The same under a policy of the process's own beside that of the run, which `outer` names, as exec_under(): in a
// sandbox within it, called options.name, which stays when nothing runs in it any more. Errors: those of both.
Result<void> adopt_under(const std::string& outer, policy::Policy policy, const AdoptOptions& options);

// May a user with this uid run under this policy, without root's help in the program's own process? Errors:
// "needs_root".
Result<void> check_for_user(const policy::Policy& policy, std::uint32_t uid);

// Takes a sandbox down. For a sandbox made by run: kills its processes and removes the cgroup. For an attached cgroup:
// the tasks go on, unconfined. Ends an assignment, also one that has no sandbox. Errors: "no_such_sandbox", "state"
// (agent/sandbox/assigned.h).
Result<void> detach(const std::string& name);

// Kills every process of the sandbox and takes it down, whoever made its cgroup.
Result<void> kill(const std::string& name);

struct SwapOptions {
  bool evict = false;            // end the processes that have files open or mapped which only the old policy allows
  bool keep_open_files = false;  // let the processes keep these files (degraded)
  // Only over this policy of this sandbox: as policy_in_force() gave it.
  struct Over {
    std::uint64_t instance = 0;
    std::uint32_t generation = 0;
  };
  std::optional<Over> over = std::nullopt;
};

// Puts another policy on a live sandbox: in one flip, or the old policy stays in force. If the new policy has rules for
// files, the sandbox is frozen during the change. Errors: "no_such_sandbox", "publish_failed", "open_files" (lists
// them), "sandbox_ended" (nothing was left in it), "cgroup_freeze"; "busy" (it is not `over` that is in force).
Result<Status> swap(const std::string& name, const policy::Policy& policy, const SwapOptions& options = {});

// The policy in force for a sandbox, and which one that is. Errors: "no_such_sandbox"; "no_policy": its text was not kept.
struct PolicyInForce {
  policy::Policy policy;
  SwapOptions::Over over;
  std::uint64_t mounts = 0;  // the number of the mount namespace that its paths are of; 0: it is not known
};
Result<PolicyInForce> policy_in_force(const std::string& name);

// The kernel's answer, now. `canary`: also has each hook deny a canary (needs room for one process in the sandbox).
Result<Status> status(const std::string& name, bool canary);

// Names of the sandboxes that have not ended, and of assignments. Changes nothing. Errors: "not_permitted",
// "cannot_tell", those of opening.
struct Listed {
  std::vector<std::string> names;
  std::string unclear;  // why of some of them it cannot be told whether they have ended; empty: all are there
};
Result<Listed> list();

// How all of them stand, without canaries. Errors: those of list().
Result<std::vector<Status>> statuses();

// Removes programs, maps and pins when no sandbox is left. Gives the number of programs that the kernel still has ten
// seconds later: a process or another pin holds them, or others attached them elsewhere. Errors: "busy",
// "not_the_agent".
Result<std::size_t> unload();

// For this time, everyone outside of the sandboxes may change sbpf's own objects: to take them down by hand, or to hand
// them over to another executable. Logged in the host's log and in every sandbox's ring. 0 seconds close the window.
// Errors: "not_loaded", "not_the_agent".
Result<void> break_glass(const std::string& reason, std::chrono::seconds window);

// Makes another executable (an upgrade of this one) an agent as well, so that it manages the programs that this one
// loaded. Processes of this executable stay agents. The other's programs must have the same layout of maps, which its
// `--version` prints. Logged in the host's log. Errors: "not_loaded", "not_the_agent", "untrusted_file" (not root's
// alone), "stale_programs" (it lays them out otherwise), "too_many_agents" (handed over too often since the programs
// were loaded), "exec".
Result<void> hand_over(const std::string& executable);

// Replaces the programs in force with those that this executable carries, without a moment in which a hook has none.
// False: they are the same. Logged in the host's log. Errors: "not_loaded", "not_the_agent", "stale_programs" (another
// layout), "upgrade" and those of loading; then nothing changed.
Result<bool> upgrade();

// Reads the events in a sandbox's ring, oldest first, calling `sink` for each; with `follow`, goes on until `sink`
// returns false or the sandbox is gone. Errors: "no_such_sandbox".
Result<void> events(const std::string& name, bool follow, const std::function<bool(const Event&)>& sink);

}  // namespace sbpf::agent
