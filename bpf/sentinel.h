/* SPDX-License-Identifier: GPL-2.0-only */
/* The proof that the programs run: what they do for a sentinel (abi.h, struct sbpf_alive; agent/verify/liveness.h). */
#ifndef SBPF_SENTINEL_H
#define SBPF_SENTINEL_H

#include "maps.h"

static __noinline int runs_agent(struct task_struct *task);

/* Below our root and in no sandbox: is it a sentinel of the agent's, there to see that this hook runs? Then it is
 * counted, and passes. Global: verified once. */
__weak __noinline int is_sentinel(__u64 cgroup_id, __u32 hook)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!cgroup_id || cgroup_id != sbpf_gate.alive_id || hook >= SBPF_MAX_HOOKS)
		return 0;
	if (task->ptrace || !runs_agent(task))
		return 0;
	__sync_fetch_and_add(&sbpf_alive.ran[hook], 1);
	return 1;
}

#define REFUSE_LOST(name, own_id)                                                                                      \
	if (is_sentinel(own_id, SBPF_HOOK_##name))                                                                     \
		return 0;                                                                                              \
	return -EPERM

#endif
