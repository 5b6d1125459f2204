/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Everything that the kernel side and user space share: map keys, values, events, enums, limits. Nothing here is
 * restated elsewhere. Fixed widths, explicit padding, sizes asserted; a test compares them with the object's BTF.
 * Included by BPF C (types from kernel_types.h) and by C++ (types from <linux/types.h>). */
#ifndef SBPF_ABI_H
#define SBPF_ABI_H

#ifdef __cplusplus
#include <linux/types.h>
#define SBPF_ASSERT(cond) static_assert(cond, #cond)
#else
#define SBPF_ASSERT(cond) _Static_assert(cond, #cond)
#endif

#include "hooks.h"

#define SBPF_ABI_VERSION 1
#define SBPF_MINOR_BITS	 20 /* of the kernel's dev_t */

/* Limits. */
#define SBPF_MAX_SANDBOXES     4096
#define SBPF_MAX_RULES	       262144 /* keys of one policy */
#define SBPF_MAX_PREFIXES      48     /* distinct prefix lengths of one policy and operation */
#define SBPF_MAX_RANGES	       8      /* port ranges of one destination prefix and protocol */
#define SBPF_EXPAND_PORTS      16     /* a range of at most this many ports becomes single-port keys */
#define SBPF_MAX_HOOKS	       96     /* room for what comes */
#define SBPF_MAX_LEVELS	       32     /* deepest cgroup level that can carry a sandbox */
#define SBPF_NAME_LEN	       64     /* sandbox and policy names, NUL included */
#define SBPF_RING_BYTES	       16384  /* events of one sandbox; docs/DESIGN.md says why no more */
#define SBPF_EVENTS_PER_SECOND 500
#define SBPF_MAX_OPENED	       65536 /* endpoints that the names of one sandbox open at a time */
#define SBPF_DNS_PORT	       53
#define SBPF_FLOW_NAME	       64 /* of a host's name, its end; NUL included */

enum sbpf_hook {
#define X(id, name, kind, domain) SBPF_HOOK_##name = id,
	SBPF_HOOKS(X)
#undef X
	    SBPF_HOOK_COUNT
};
#define SBPF_DENIED_BY_SECCOMP (SBPF_MAX_HOOKS - 1) /* in sbpf_sandbox.denied: what no hook denies */
SBPF_ASSERT(SBPF_HOOK_COUNT < SBPF_MAX_HOOKS);

enum sbpf_domain {
	SBPF_DOMAIN_NETWORK = 0,
	SBPF_DOMAIN_GUARD = 1, /* keeps a task inside its sandbox and sbpf's own objects out of its reach */
	SBPF_DOMAIN_FILESYSTEM = 2,
	SBPF_DOMAIN_PROCESS = 3,
	SBPF_DOMAIN_MAX
};

enum sbpf_verdict {
	SBPF_ALLOW = 0,
	SBPF_DENY = 1,
	SBPF_AUDIT = 2, /* would have been denied; mode: audit */
	SBPF_VERDICT_MAX
};

#include "abi_policy.h"

/* ---- sandbox records ---- */
enum sbpf_sandbox_flags {
	SBPF_SANDBOX_ATTACHED = 1u << 0,     /* by `attach`: its cgroup is another's and stays on detach */
	SBPF_SANDBOX_KEPT_SOCKETS = 1u << 1, /* attached with forbidden sockets open, on the operator's word */
	/* Has, or had, a policy with rules for paths; set before such a policy is published. */
	SBPF_SANDBOX_FS = 1u << 2,
	SBPF_SANDBOX_HOST_NAMES = 1u << 3, /* made with a resolver, and the hooks that go with it */
	/* Made with a policy that has its flows recorded, and the hook that goes with it. */
	SBPF_SANDBOX_FLOWS = 1u << 4,
	/* Attached to stay: the cgroup's directory is not removed while the sandbox lives. */
	SBPF_SANDBOX_KEPT = 1u << 5
};

/* Keyed by cgroup id. Written by the agent once; the counters are the kernel side's. */
struct sbpf_sandbox {
	__u64 cgroup_id;
	__u32 level; /* of the cgroup */
	__u32 flags; /* enum sbpf_sandbox_flags */
	char name[SBPF_NAME_LEN];
	/* sockfs inodes of AF_UNIX stdio that the operator handed over; 0 if none. In one of those that are free: of
	 * the socket by which the program's process hands out the listener of its seccomp filter, before exec. */
	__u64 stdio_inode[3];
	__u64 created_ns; /* CLOCK_BOOTTIME */
	__u64 own_netns;  /* cookie of the network namespace that was made for it; 0: it shares that of others */
	__u64 relayed;	  /* relayed_id() of what is relayed into it (policy/loopback.h) */
	/* Events: a window of one second and what was lost. */
	__u64 window_start_ns;
	__u64 window_events;
	__u64 lost_full;
	__u64 lost_rate;
	__u64 events;
	__u64 repeated;	 /* denials that were told as one more of their equals, or will be */
	__u64 moved_out; /* times that a process was moved out of it */
	__u64 denied[SBPF_MAX_HOOKS];
};
SBPF_ASSERT(sizeof(struct sbpf_sandbox) == 184 + 8 * SBPF_MAX_HOOKS);

/* With a task: the sandbox that it belongs to; 0: none. */
struct sbpf_label {
	__u64 cgroup_id;
	__u32 launch; /* enum sbpf_launch */
	__u32 pad;
};
SBPF_ASSERT(sizeof(struct sbpf_label) == 16);

/* Of a task that came into a cgroup from outside: bpf/launch.h. */
enum sbpf_launch {
	SBPF_NOT_LAUNCHED = 0, /* its parent is inside, or it was there before the sandbox */
	SBPF_LAUNCHING = 1,    /* the service manager's, or a child of that: it has not run another program since */
	SBPF_LAUNCHED = 2      /* it has, or came as another program: it is never taken for the manager's again */
};

/* A record of the iterator sbpf_escaped_tasks. */
struct sbpf_escaped_task {
	__u64 cgroup_id; /* of its sandbox */
	__u32 tgid;
	__u32 tid;
};
SBPF_ASSERT(sizeof(struct sbpf_escaped_task) == 16);

/* A record of the iterator sbpf_cgroup_links. */
struct sbpf_cgroup_link {
	__u64 cgroup_id; /* 0: detached */
	__u32 id;
	__u32 prog_id;
};
SBPF_ASSERT(sizeof(struct sbpf_cgroup_link) == 16);

/* A record of the iterator sbpf_modifiers: a program that is attached to a kernel function and may answer in its place.
 */
struct sbpf_modifier {
	__u32 prog_id;
	__u32 btf_id; /* of the function */
};
SBPF_ASSERT(sizeof(struct sbpf_modifier) == 8);

/* Per-cgroup storage of the cgroup programs: which sandbox the program instance serves, and the ports of its resolver
 * on 127.0.0.1 and ::1, in network byte order; 0: it has none there. */
struct sbpf_cgroup_ref {
	__u64 cgroup_id; /* 0: not set up yet, deny */
	__u16 dns4_be;
	__u16 dns6_be;
	__u32 flags;	  /* enum sbpf_ref_flags */
	__u32 generation; /* of the policy that was published last: an older one in force was put there by others */
	__u32 pad;
	__u64 digest; /* the first bytes of that policy's image_sha256 */
	__u64 next;   /* of the one that is published next: noted before it is in force */
};
enum sbpf_ref_flags {
	SBPF_REF_RECORD = 1u << 0,   /* its policy has flows recorded */
	SBPF_REF_OWN_NETNS = 1u << 1 /* sbpf_sandbox.own_netns is set */
};
SBPF_ASSERT(sizeof(struct sbpf_cgroup_ref) == 40);

/* Gate, in the BPF object's .bss: read first by every LSM program. */
struct sbpf_gate {
	__u32 root_level;   /* level of sbpf's own root cgroup */
	__u32 other_levels; /* 1 << level, of sandboxes outside our root */
	__u64 root_id;	    /* its cgroup id; 0: none yet */
	/* Goes up after each flip and each sandbox taken down; remembered verdicts of older ones are void. */
	__u32 epoch;
	__u32 pad;
	__u64 alive_id; /* of the cgroup of sentinels (struct sbpf_alive); 0: none yet */
};

/* Proof that the LSM programs run, in .bss behind the gate. A sentinel is a process of the agent's own in a
 * cgroup of its own beneath our root, which is no sandbox: it calls each hook, and each program counts it and lets it
 * pass. A program that is attached and does not count is not run by the kernel (agent/verify/liveness.h). */
struct sbpf_alive {
	__u32 ran[SBPF_MAX_HOOKS];
};
SBPF_ASSERT(sizeof(struct sbpf_alive) == 4 * SBPF_MAX_HOOKS);

/* What was found for the files of one directory: slot of the array `fs_verdicts`, one cache line. */
struct sbpf_fs_verdict {
	__u32 lock;   /* odd: being written */
	__u32 rights; /* enum sbpf_fs_rights, of the directory and of every file in it that has no rule of its own */
	__u64 cgroup_id;
	__u64 dentry; /* of the directory, as a number */
	struct sbpf_fs_inode inode;
	__u32 epoch;
	__u32 renames;	   /* sequence of the kernel's rename_lock */
	__u64 fs_files[2]; /* of the policy's header */
};
SBPF_ASSERT(sizeof(struct sbpf_fs_verdict) == 64);

#define SBPF_FS_VERDICTS 4096

/* Canary, in .bss beside the gate: the task of a running verification (host pid namespace; 0 outside one) and the hook
 * that must deny it whatever the policy. `hit` tells which hook denied, so that an EPERM of the kernel's own is not
 * taken for ours. Turns an allow into a denial, and never the other way but for one capability, without which the
 * canary does not get to the mount hooks that must deny it. */
struct sbpf_canary {
	__u32 tgid;
	__u32 hook;
	__u32 hit; /* hook + 1 of the last denial of the canary; 0: none */
	/* Whose child the canary is, from before it is born until it is waited for: out of its sandbox's reach. */
	__u32 runner;
	__u64 born_from; /* CLOCK_BOOTTIME, ns: it started between these; a mark left behind fits no later task */
	__u64 born_until;
	__u32 wanted; /* another one waits for its turn to run a canary */
	__u32 pad;
};

#define SBPF_BREAK_REASON_LEN 128 /* NUL included */
#define SBPF_AGENTS	      4
#define SBPF_LAUNCHERS	      2

/* Whom and what the guard of sbpf's own objects is about, in .bss beside the canary. Written by the agent alone: no one
 * else gets a descriptor of the map. */
struct sbpf_guard {
	/* The executable that loaded the programs, and those that it was handed over to since: supervisors go on
	 * running the old one. ino 0: a free place, and in the first: nothing is guarded yet. */
	struct sbpf_fs_inode agents[SBPF_AGENTS];
	__u64 pins_ino;	     /* of sbpf's directory of pins */
	__u32 pins_dev;	     /* super_block.s_dev */
	__u32 pins_mount;    /* id of the mount by which the agent sees them */
	__u32 pins_parent;   /* and of the one below it */
	__u32 tasks_escaped; /* 1: a process was moved out of its sandbox since the programs were loaded */
	__u64 open_until;    /* CLOCK_BOOTTIME, ns: until then everyone outside may touch what is ours (break-glass) */
	__u64 let_through;   /* operations that only the window allowed */
	__u64 refused;
	char reason[SBPF_BREAK_REASON_LEN]; /* of the last window; "" if there was none */
	/* The executable of the host's first process, where that is a service manager, and its helper; ino 0: none. */
	struct sbpf_fs_inode launchers[SBPF_LAUNCHERS];
};
SBPF_ASSERT(sizeof(struct sbpf_guard) == 48 + 16 * (SBPF_AGENTS + SBPF_LAUNCHERS) + SBPF_BREAK_REASON_LEN);

/* What sbpf itself is changing under the host lock, in .bss behind the guard: whoever dies with the lock leaves it
 * behind, and the next one to hold it mends that (agent/sandbox/journal.h). */
struct sbpf_journal {
	__u64 cgroup_id; /* of the sandbox */
	__u32 what;	 /* agent/sandbox/journal.h; 0: nothing is */
	__u32 loaded;	 /* number of the programs in force: goes up when an upgrade puts others in their place */
	char name[SBPF_NAME_LEN];
};

#define SBPF_HOST_NAME_LEN 256 /* NUL included */

/* Input of the program `sbpf_announce`, by which the agent puts an event into a sandbox's ring. With a name it is about
 * what became of a query for it. */
struct sbpf_announcement {
	__u64 cgroup_id;
	__u32 reason;	   /* enum sbpf_reason */
	__u32 detail;	   /* of a name: the type of DNS; A is 1, AAAA 28. Of a system call: its number */
	__u32 verdict;	   /* enum sbpf_verdict */
	__u32 lost;	   /* announcements that did not get here before this one */
	__u32 n_addresses; /* answered or withheld */
	__u32 pid;	   /* of a system call: whose it is; `name` is what that task is called */
	__u32 uid;	   /* likewise */
	__u32 tid;	   /* likewise */
	__u8 addr[16];	   /* the first of them */
	/* Of a name that was not answered: equal names have the same, which the sandbox does not know. */
	__u64 name_key;
	char name[SBPF_HOST_NAME_LEN];
};

/* What the agent recorded when it loaded the programs: map `meta`, one entry a hook, frozen. */
struct sbpf_meta {
	__u32 prog_id;
	__u32 link_id; /* of a hook that the host has once */
	/* What its link is attached to: the BTF id of the kernel's function, or the id of the root cgroup. */
	__u32 target;
	__u32 pad;
	__u8 tag[8];
	__u8 object_sha256[32]; /* of the BPF object; the same in every entry */
	__u8 layout_sha256[32]; /* of what lays out its maps; likewise */
};
SBPF_ASSERT(sizeof(struct sbpf_meta) == 88);

/* The canary endpoint is never reachable from a sandbox, whatever its policy: so the cgroup layer, which judges the
 * sandbox's own sockets alone, can be proven to deny. */
#define SBPF_CANARY_PORT 21328
#define SBPF_CANARY_V4	 0x00534250u /* 0.83.66.80, host order: "this network", never a destination */
/* v6: 100::5342:5046, of the discard-only prefix */

#include "abi_dns.h"
#include "abi_event.h"

#endif
