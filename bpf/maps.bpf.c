// SPDX-License-Identifier: GPL-2.0-only
/* Maps, gate and licence of the object. */
#define SBPF_MAP
#include "maps.h"

struct sbpf_gate sbpf_gate;
struct sbpf_alive sbpf_alive;
struct sbpf_canary sbpf_canary;
struct sbpf_guard sbpf_guard;
struct sbpf_journal sbpf_journal; /* of the agent and for it: no program reads it */

/* What differs between kernels: agent/kernel/fit.cpp. */
const volatile __u64 sbpf_rename_lock = 0;
const volatile __u64 sbpf_chrdevs = 0;
const volatile __u64 sbpf_misc_list = 0;
const volatile __u32 sbpf_rdonly_cast = 0;
const volatile __s32 sbpf_btrfs_root = 0;
const volatile __u32 sbpf_btrfs_dev = 0;
const volatile __u32 sbpf_overlay_upper = 0;
const volatile __u32 sbpf_fuse_nodeid = 0;

/* Every shared struct by name, so that the object's BTF has its layout: a test compares it with what C++ sees. No
 * program refers to it. */
const struct {
	struct sbpf_rule_key rule_key;
	struct sbpf_port_range port_range;
	struct sbpf_rule rule;
	struct sbpf_policy_header policy_header;
	struct sbpf_prefixes prefixes;
	struct sbpf_policy_id policy_id;
	struct sbpf_policy_name policy_name;
	struct sbpf_policy_process policy_process;
	struct sbpf_opened opened;
	struct sbpf_meta meta;
	struct sbpf_event event;
	struct sbpf_name_event name_event;
} abi_types = {};

char LICENSE[] SEC("license") = "GPL";
