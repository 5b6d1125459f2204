/* SPDX-License-Identifier: GPL-2.0-only */
/* The canary of a verification: who it is, and what it must be denied. */
#ifndef SBPF_CANARY_H
#define SBPF_CANARY_H

#include "maps.h"

static __noinline int is_canary_born(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->start_boottime >= sbpf_canary.born_from && task->start_boottime <= sbpf_canary.born_until;
}

static __always_inline int is_canary_task(void)
{
	return unlikely(sbpf_canary.tgid) && sbpf_canary.tgid == bpf_get_current_pid_tgid() >> 32 && is_canary_born();
}

static __always_inline int is_canary_by_birth(struct task_struct *task)
{
	__u64 born = BPF_CORE_READ(task, start_boottime);

	return (__u32)BPF_CORE_READ(task, real_parent, tgid) == sbpf_canary.runner && born >= sbpf_canary.born_from &&
	       born <= sbpf_canary.born_until;
}

/* Is the task at this address the canary, or a child of its, and not for the current one to touch? Known by its parent,
 * who is outside, from its first moment on: before it runs, and could say who it is. */
static __noinline int is_canary_of_others(__u64 address)
{
	struct task_struct *task = (struct task_struct *)address;

	if (!address || likely(!sbpf_canary.runner) || is_canary_task())
		return 0;
	return is_canary_by_birth(task) || is_canary_by_birth(BPF_CORE_READ(task, real_parent));
}

/* Must this hook deny the current task because it is the canary of a verification? Only ever adds a denial. */
static __always_inline int is_canary(__u32 hook)
{
	return is_canary_task() && sbpf_canary.hook == hook;
}

#endif
