/* SPDX-License-Identifier: GPL-2.0-only */
/* A unit's start in a cgroup that is kept. The service manager forks a child of its own, brings it into the unit's
 * cgroup, and sets it up there: namespaces, users, the journal. All of that is the manager's own code. So the child is
 * not judged until it runs the unit's program, and then from the first instruction on. It is known by two signs
 * together: it came from outside, which nothing inside can do, and it runs the executable of the host's first process,
 * or its helper (systemd-executor, since 255). So are the processes that it forks meanwhile, to set the unit up. */
#ifndef SBPF_LAUNCH_H
#define SBPF_LAUNCH_H

#include "inode.h"
#include "maps.h"

/* Which of the manager's executables an inode is: 1 the first process's, 2 its helper, 0 none. */
static __noinline int launcher_of_inode(__u64 address)
{
	struct inode *inode = (struct inode *)address;
	struct inode_home home = {};
	__u32 dev, generation;
	__u64 ino;

	if (!address)
		return 0;
	home.magic = BPF_CORE_READ(inode, i_sb, s_magic);
	home.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	home.inode = address;
	dev = inode_dev(&home);
	ino = BPF_CORE_READ(inode, i_ino);
	generation = BPF_CORE_READ(inode, i_generation);
#pragma unroll
	for (int i = 0; i < SBPF_LAUNCHERS; i++) {
		struct sbpf_fs_inode *launcher = &sbpf_guard.launchers[i];

		if (ino && ino == launcher->ino && generation == launcher->generation && dev == launcher->dev)
			return i + 1;
	}
	return 0;
}

/* The same of what a task runs, by the task's address. */
static __noinline int launcher_of_task(__u64 address)
{
	struct task_struct *task = (struct task_struct *)address;

	return address ? launcher_of_inode((__u64)BPF_CORE_READ(task, mm, exe_file, f_inode)) : 0;
}

/* Is the current task the manager's child, and not the unit's program yet? Global: verified once. */
__weak __noinline int is_launching(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sbpf_label *label = bpf_task_storage_get(&sbpf_labels, task, NULL, 0);

	return label && label->launch == SBPF_LAUNCHING;
}

/* The current task runs another program: the unit's, unless the manager's child runs its helper. 1: the unit's. */
static __noinline int end_launch(struct file *file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sbpf_label *label = bpf_task_storage_get(&sbpf_labels, task, NULL, 0);

	if (!label || label->launch != SBPF_LAUNCHING)
		return 0;
	if (launcher_of_task((__u64)task) == 1 && launcher_of_inode((__u64)file->f_inode) == 2)
		return 0;
	label->launch = SBPF_LAUNCHED;
	return 1;
}

#endif
