// SPDX-License-Identifier: GPL-2.0-only
/* Settings that stop sbpf's programs while all links stay as they are.
 *
 * hook     kernel                  refuses                             does not see
 * sysctl   proc_sys_call_handler   a write to kernel.ftrace_enabled,   tasks outside of the cgroup2 hierarchy whose root was
 *                                  unless it begins with 1 to 9        mounted where sbpf was started
 *
 * Outside of sandboxes everyone is kept off, sbpf itself, too (own.h); inside, file_open refuses all of /proc/sys, and
 * this sees who writes to what was open before. */
#include "own.h"

/* Compares the whole name: behind its end both are 0. */
static __always_inline int is_trace_switch(struct bpf_sysctl *ctx)
{
	static const char wanted[24] = "kernel/ftrace_enabled";
	char name[24] = {};

	if (bpf_sysctl_get_name(ctx, name, sizeof(name), 0) < 0)
		return 0; /* longer */
	for (int i = 0; i < 24; i++)
		if (name[i] != wanted[i])
			return 0;
	return 1;
}

SEC("cgroup/sysctl")
int hook_sysctl(struct bpf_sysctl *ctx)
{
	char value[4] = {};
	__u64 own_id;

	/* The canary reads: what it writes would have to stay as it was. */
	if (!ctx->write) {
		if (!is_canary(SBPF_HOOK_sysctl))
			return 1;
		sbpf_canary.hit = SBPF_HOOK_sysctl + 1;
		return 0;
	}
	if (!is_trace_switch(ctx))
		return 1;
	bpf_sysctl_get_new_value(ctx, value, sizeof(value));
	if (value[0] >= '1' && value[0] <= '9')
		return 1;
	return !keep_all_off(is_below_root(&own_id));
}
