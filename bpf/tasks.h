/* SPDX-License-Identifier: GPL-2.0-only */
/* Tasks by their address: of whom a hook is not told, but finds them by what it is told of. */
#ifndef SBPF_TASKS_H
#define SBPF_TASKS_H

#include "gate.h"

/* The first in a list of the tasks that have this number as `type`; 0: there is none. */
static __always_inline __u64 first_node(__u64 pid, __u32 type)
{
	__u64 node = 0;

	bpf_probe_read_kernel(&node, sizeof(node),
			      (void *)pid + bpf_core_field_offset(struct pid, tasks) +
				  type * sizeof(struct hlist_head));
	return node;
}

#define HLIST_NODE_SIZE 16 /* two pointers, of which kernel_types.h names one */

static __always_inline __u64 task_of_node(__u64 node, __u32 type)
{
	return node ? node - bpf_core_field_offset(struct task_struct, pid_links) - type * HLIST_NODE_SIZE : 0;
}

/* As cgroup_in_sandbox, of a cgroup by its address. Global, so that it is verified once. */
__weak __noinline int cgroup_address_in_sandbox(__u64 cgroup, const struct sbpf_sandbox *sandbox)
{
	struct cgroup *cgrp = (struct cgroup *)cgroup, *ancestor = NULL;
	__u32 level;

	if (!cgroup || !sandbox)
		return 0;
	if (BPF_CORE_READ(cgrp, kn, id) == sandbox->cgroup_id)
		return 1;
	level = sandbox->level;
	if (BPF_CORE_READ(cgrp, level) <= (int)level || level >= SBPF_MAX_LEVELS)
		return 0;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors) +
				  level * sizeof(ancestor));
	return ancestor && BPF_CORE_READ(ancestor, kn, id) == sandbox->cgroup_id;
}

/* As task_in_sandbox, of a task by its address. */
static __always_inline int address_in_sandbox(__u64 task, const struct sbpf_sandbox *sandbox)
{
	return task &&
	       cgroup_address_in_sandbox((__u64)BPF_CORE_READ((struct task_struct *)task, cgroups, dfl_cgrp), sandbox);
}

#endif
