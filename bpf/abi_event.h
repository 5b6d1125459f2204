/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What the kernel side tells: events and their reasons. The end of abi.h, which includes it. */
#ifndef SBPF_ABI_EVENT_H
#define SBPF_ABI_EVENT_H

struct sbpf_event_net {
	__u16 family;
	__u16 type;
	__u16 protocol;
	__u16 port; /* host byte order */
	__u8 addr[16];
	__u32 level;  /* setsockopt */
	__u32 option; /* likewise; where no rule allows an endpoint, endpoint.in_own_netns of bpf/network.h */
};

struct sbpf_event_task {
	__u32 target_pid;
	__u32 detail; /* signal, capability, bpf command, enum sbpf_kernel_interface */
};

struct sbpf_event {
	__u64 ts_ns; /* CLOCK_BOOTTIME */
	__u64 cgroup_id;
	__u32 tgid; /* host pid namespace */
	__u32 tid;
	__u32 uid;
	__u32 generation;
	__u8 hook;    /* enum sbpf_hook */
	__u8 domain;  /* enum sbpf_domain */
	__u8 verdict; /* enum sbpf_verdict */
	__u8 reason;  /* enum sbpf_reason */
	__u32 sys_errno;
	char comm[16];
	union {
		struct sbpf_event_net net;
		struct sbpf_event_task task;
	};
	__u64 key;   /* of a denial: equal ones have the same */
	__u32 times; /* how many it stands for: itself, and its equals that were not told */
	__u32 first; /* of its kind in this sandbox, or sbpf's own: kept when others make room */
};
SBPF_ASSERT(sizeof(struct sbpf_event) == 56 + 32 + 16);

/* What was told of a sandbox lately: which denials are no news. By its cgroup's id. */
#define SBPF_TOLD      128
#define SBPF_TOLD_WAYS 4 /* places for one key */
struct sbpf_told_one {
	__u64 key;
	__u32 second; /* since boot */
	__u32 untold; /* equals since then */
};
struct sbpf_told {
	__u64 seed;		     /* of the keys: not known to the sandbox */
	__u64 kinds[SBPF_MAX_HOOKS]; /* a bit for each reason that was told */
	struct sbpf_told_one one[SBPF_TOLD / SBPF_TOLD_WAYS][SBPF_TOLD_WAYS]; /* by what the key leaves */
};
SBPF_ASSERT(sizeof(struct sbpf_told) == 8 + 8 * SBPF_MAX_HOOKS + 16 * SBPF_TOLD);

/* What the sandbox's resolver reports, in place of struct sbpf_event (which it begins with): `net` has the first
 * address, as `level` the type of DNS and as `option` the number of addresses. */
struct sbpf_name_event {
	struct sbpf_event event;
	char name[SBPF_HOST_NAME_LEN];
};
/* What is recorded of a flow, in place of struct sbpf_event (which it begins with): `net` has the other side. */
struct sbpf_flow_event {
	struct sbpf_event event;
	__u64 cookie; /* of the socket: the same at its beginning and its end */
	__u64 sent;   /* bytes, at its end; as TCP counts, which gives one to its beginning and to its end */
	__u64 received;
	__u32 local_port; /* 0: it has none yet */
	__u32 pad;
	char name[SBPF_FLOW_NAME]; /* the end of the host's name that led there; empty: none did */
};
SBPF_ASSERT(sizeof(struct sbpf_flow_event) == 104 + 32 + SBPF_FLOW_NAME);

#define SBPF_NO_HOOK 255 /* of an event: no hook tells it, but the resolver, or the listener of a seccomp filter */

/* The end of a path, of a filesystem event: entry names from the file upwards. */
#define SBPF_PATH_NAMES	   10
#define SBPF_PATH_NAME_LEN 48 /* longer names are cut; NUL included */

/* What a filesystem hook reports, in place of struct sbpf_event (which it begins with). */
struct sbpf_fs_event {
	struct sbpf_event event;
	__u64 dentry; /* where the collection of names stands; of no use to a reader */
	__u32 dev;    /* of the filesystem */
	__u32 wanted; /* enum sbpf_fs_rights */
	__u32 rule;   /* number of the rule that denied; SBPF_NO_RULE: the default */
	__u32 n_names;
	__u32 at_root; /* the last name is an entry of the filesystem's root */
	__u32 pad;
	char name[SBPF_PATH_NAMES][SBPF_PATH_NAME_LEN];
};
SBPF_ASSERT(sizeof(struct sbpf_fs_event) == 104 + 32 + SBPF_PATH_NAMES * SBPF_PATH_NAME_LEN);

#define SBPF_DETAIL_OWN_LOCK 1 /* with SBPF_REASON_GUARD: a file by whose lock sbpf's processes wait for each other */

/* Why: append-only; texts are in agent/sandbox/event_text.cpp. */
enum sbpf_reason {
	SBPF_REASON_NONE = 0,
	SBPF_REASON_NO_RULE = 1,	/* no rule of the policy covers the endpoint */
	SBPF_REASON_SOCKET_CLASS = 2,	/* family, type or protocol is not allowed */
	SBPF_REASON_SOCKET_OPTION = 3,	/* the option could re-route packets */
	SBPF_REASON_FOREIGN_SOCKET = 4, /* socket of another cgroup */
	SBPF_REASON_UNIX_PEER = 5,	/* AF_UNIX peer outside the sandbox */
	SBPF_REASON_LEAVE_CGROUP = 6,	/* would leave the sandbox's cgroup */
	SBPF_REASON_GUARD = 7,		/* touches sbpf's own objects or a task outside */
	SBPF_REASON_CAPABILITY = 8,
	SBPF_REASON_NO_POLICY = 9, /* record or policy missing: fail closed */
	SBPF_REASON_CANARY = 10,
	SBPF_REASON_BAD_ADDRESS = 11,	 /* address unreadable or too short */
	SBPF_REASON_FS_RULE = 12,	 /* a filesystem rule does not allow it */
	SBPF_REASON_FS_DEFAULT = 13,	 /* no filesystem rule covers the path */
	SBPF_REASON_FS_UNCOVERED = 14,	 /* a filesystem that was not there when the policy was published */
	SBPF_REASON_FS_HOLDS = 15,	 /* the directory holds a path that must stay */
	SBPF_REASON_FS_MOUNT = 16,	 /* mounts and namespaces could move what the rules name */
	SBPF_REASON_FS_DEVICE = 17,	 /* device nodes */
	SBPF_REASON_KERNEL = 18,	 /* an interface of the kernel that the policy does not open */
	SBPF_REASON_EXEC_RULE = 19,	 /* an exec rule denies it */
	SBPF_REASON_EXEC_DEFAULT = 20,	 /* no exec rule covers the path, and there is a list of what is allowed */
	SBPF_REASON_EXEC_WRITABLE = 21,	 /* the sandbox may write it */
	SBPF_REASON_EXEC_PLACELESS = 22, /* memfd, shared memory, a deleted file */
	SBPF_REASON_EXEC_PINNED = 23,	 /* not the file whose contents the policy pins */
	SBPF_REASON_BREAK_GLASS = 24, /* nothing was denied: the guard of sbpf's own objects is open; detail: seconds */
	SBPF_REASON_MOVED_OUT = 25,   /* nothing was denied: root outside moved a process out of its sandbox */
	SBPF_REASON_NAME_ANSWERED = 26, /* nothing was denied: a host name and where it leads */
	SBPF_REASON_NAME = 27,		/* no rule of the policy covers the host name */
	SBPF_REASON_NAME_WITHHELD = 28, /* it leads to addresses that are not public */
	SBPF_REASON_NAME_RATE = 29,	/* too many queries, or too many new names below one pattern */
	SBPF_REASON_NAME_FAILED = 30,	/* nobody answers for it */
	SBPF_REASON_FLOW = 31,		/* nothing was denied: a connection, or the first datagram to somewhere */
	SBPF_REASON_FLOW_ACCEPTED = 32, /* nothing was denied: a connection from outside */
	SBPF_REASON_FLOW_ENDED = 33,	/* nothing was denied: a TCP connection is over */
	/* Nothing was denied: `sbpf watch` found parts of the isolation missing; detail: how many. */
	SBPF_REASON_ISOLATION_LOST = 34,
	/* Nothing was denied: `sbpf watch` put them back; detail: seconds that they were missing. */
	SBPF_REASON_ISOLATION_RESTORED = 35,
	/* By an interface that the policy does not name (in addr, if there is one); level 1: the address is one of
	 * lo's, which no other interface has. */
	SBPF_REASON_INTERFACE = 36,
	/* A character device that is a network; detail: its number, as the kernel has it. */
	SBPF_REASON_NETWORK_DEVICE = 37,
	SBPF_REASON_MACHINE_DEVICE = 38, /* a device that is the whole machine's; detail: likewise */
	/* sendmmsg with addresses: the kernel asks of the first message alone; ENOSYS. */
	SBPF_REASON_SEVERAL_MESSAGES = 39,
	/* A pseudo-terminal of a session outside; detail: its number, as the kernel has it. */
	SBPF_REASON_TERMINAL = 40,
	SBPF_REASON_SYSTEM_CALL = 41, /* a seccomp filter refuses it; detail: its number */
	SBPF_REASON_MAX
};
SBPF_ASSERT(SBPF_REASON_MAX <= 64);

#endif
