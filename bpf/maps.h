/* SPDX-License-Identifier: GPL-2.0-only */
/* The object's maps. maps.bpf.c defines them; every other file refers to them. Their names begin with sbpf_: by that
 * the guard knows them (own.h). */
#ifndef SBPF_MAPS_H
#define SBPF_MAPS_H

#include "kernel_types.h"
#include "abi.h"

#ifndef SBPF_MAP
#define SBPF_MAP extern
#endif

/* Templates of the inner maps, by size and not by type: 6.1 takes no inner map whose BTF is not the template's. A
 * policy's map has all its entries from the start: one that takes them as they come keeps some 50 more for each
 * processor. */
#define POLICY_MAP                                                                                                     \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, 8);                                                                                \
		__uint(key_size, sizeof(struct sbpf_rule_key));                                                        \
		__uint(value_size, sizeof(struct sbpf_rule));                                                          \
	}

#define OPENED_MAP                                                                                                     \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                                                  \
		__uint(max_entries, SBPF_MAX_OPENED);                                                                  \
		__uint(key_size, sizeof(struct sbpf_rule_key));                                                        \
		__uint(value_size, sizeof(struct sbpf_opened));                                                        \
	}

#define RING_MAP                                                                                                       \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_RINGBUF);                                                                    \
		__uint(max_entries, SBPF_RING_BYTES);                                                                  \
	}

/* cgroup id -> sandbox record. Present means: tasks of this cgroup are ours to judge. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SBPF_MAX_SANDBOXES);
	__type(key, __u64);
	__type(value, struct sbpf_sandbox);
} sbpf_sandboxes SEC(".maps");

/* cgroup id -> its policy; the one entry that a swap flips (I2). */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, SBPF_MAX_SANDBOXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__array(values, POLICY_MAP);
} sbpf_policies SEC(".maps");

/* The policies that the iterators of open_files.bpf.c compare, by enum sbpf_compared; the agent puts them here while it
 * asks. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SBPF_COMPARED);
	__type(key, __u32);
	__array(values, POLICY_MAP);
} sbpf_compared SEC(".maps");

/* cgroup id -> its ring of events. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, SBPF_MAX_SANDBOXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__array(values, RING_MAP);
} sbpf_rings SEC(".maps");

/* cgroup id -> what was told of it. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SBPF_MAX_SANDBOXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct sbpf_told);
} sbpf_told SEC(".maps");

/* cgroup id -> what its resolver opened. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, SBPF_MAX_SANDBOXES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__array(values, OPENED_MAP);
} sbpf_host_names SEC(".maps");

/* Socket -> whom its queries were for. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sbpf_origin);
} sbpf_origins SEC(".maps");

/* Whom an unconnected socket sent to last: one record for each, not one for each datagram. */
struct sbpf_last_sent {
	__u64 addr_be[2];
	__u64 port;
};

SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sbpf_last_sent);
} sbpf_last_sent SEC(".maps");

/* Storage that the kernel hands to a cgroup program for the cgroup it is attached to: no lookup by current, so a kernel
 * thread that acts for a sandbox's socket is judged too. Shared by all cgroup hooks of one cgroup. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_STORAGE);
	__type(key, __u64);
	__type(value, struct sbpf_cgroup_ref);
} sbpf_cgroup_refs SEC(".maps");

/* What was found for directories lately, by hash; see fs_cache.h. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SBPF_FS_VERDICTS);
	__type(key, __u32);
	__type(value, struct sbpf_fs_verdict);
} sbpf_fs_verdicts SEC(".maps");

/* Task -> the sandbox that it belongs to, wherever it was moved. */
SBPF_MAP struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sbpf_label);
} sbpf_labels SEC(".maps");

/* .bss, written by the agent through its mapping. The gate is read first by every LSM program. */
extern struct sbpf_gate sbpf_gate;
extern struct sbpf_alive sbpf_alive;
extern struct sbpf_canary sbpf_canary;
extern struct sbpf_guard sbpf_guard;

#endif
