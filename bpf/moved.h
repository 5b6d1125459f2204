/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sandbox a task belongs to, remembered with the task: so that who is moved out of it, by root outside, is known.
 */
#ifndef SBPF_MOVED_H
#define SBPF_MOVED_H

#include "gate.h"

/* NULL: the task could not be marked. */
static __always_inline struct sbpf_label *label_task(struct task_struct *task, __u64 cgroup_id)
{
	struct sbpf_label *label = bpf_task_storage_get(&sbpf_labels, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (label)
		label->cgroup_id = cgroup_id;
	return label;
}

/* A child that a service manager clones straight into a cgroup, which need not be a sandbox's: it may be one that
 * launches a unit there. And what such a one forks before it runs the unit's program, to set the unit up. */
static __noinline int label_launched(struct task_struct *child, int into_cgroup)
{
	struct sbpf_label *own, *label;
	__u64 cgroup_id = 0;

	if (!sbpf_guard.launchers[0].ino)
		return 0; /* no manager is known, as where no cgroup is kept: forks outside cost nothing more */
	own = bpf_task_storage_get(&sbpf_labels, bpf_get_current_task_btf(), NULL, 0);
	if (own && own->launch == SBPF_LAUNCHING)
		cgroup_id = own->cgroup_id;
	else if (!into_cgroup || launcher_of_task(bpf_get_current_task()) != 1)
		return 0;
	label = label_task(child, cgroup_id);
	if (label)
		label->launch = SBPF_LAUNCHING;
	return 0;
}

/* While one that was moved out is not answered yet, its children are taken for it. */
static __noinline int label_child_of_moved(struct task_struct *child)
{
	struct sbpf_label *own = bpf_task_storage_get(&sbpf_labels, bpf_get_current_task_btf(), NULL, 0);

	if (own && own->cgroup_id)
		label_task(child, own->cgroup_id);
	return 0;
}

/* The innermost sandbox that holds a cgroup, which need not be that of the current task; 0: none. */
static __noinline __u64 sandbox_id_of_cgroup(struct cgroup *cgrp)
{
	__u32 levels = sbpf_gate.other_levels | 1u << ((sbpf_gate.root_level + 1) & (SBPF_MAX_LEVELS - 1));
	int deepest = BPF_CORE_READ(cgrp, level);
	__u64 found = 0;

	for (int level = 1; level < SBPF_MAX_LEVELS; level++) {
		struct cgroup *ancestor = NULL;
		__u64 id = 0;

		if (level > deepest)
			break;
		if (!(levels >> level & 1))
			continue;
		bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
				      (void *)__builtin_preserve_access_index(&cgrp->ancestors) +
					  level * sizeof(ancestor));
		if (ancestor)
			id = BPF_CORE_READ(ancestor, kn, id);
		if (bpf_map_lookup_elem(&sbpf_sandboxes, &id))
			found = id;
	}
	return found;
}

/* The innermost sandbox above a task that need not be the current one; 0: none. */
static __always_inline __u64 sandbox_id_of_task(struct task_struct *task)
{
	return sandbox_id_of_cgroup(task->cgroups->dfl_cgrp);
}

#endif
