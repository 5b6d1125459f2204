/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of /proc that belong to a process: those of processes outside are none of a sandbox's. Who is outside though
 * the cgroup does not say so. */
#ifndef SBPF_PROCESS_FILES_H
#define SBPF_PROCESS_FILES_H

#include "canary.h"
#include "control.h"
#include "launch.h"
#include "tasks.h"

/* The child of a service manager that sets a unit up in its cgroup: what is inside does not reach into it. Nor into
 * what else inside runs that executable, which is nobody's loss. */
static __noinline int is_manager_of(__u64 address, const struct sbpf_sandbox *sandbox)
{
	struct task_struct *task = (struct task_struct *)address;

	if (!address || !(sandbox->flags & SBPF_SANDBOX_KEPT) ||
	    (__u32)BPF_CORE_READ(task, tgid) == bpf_get_current_pid_tgid() >> 32)
		return 0;
	return launcher_of_task(address);
}

/* Of the file's owner (owner_of_proc_file), which may have ended. `target`: its number, for the event. */
static __noinline int is_file_of_others(const struct sbpf_sandbox *sandbox, __u64 pid, int writes, __u32 *target)
{
	__u64 task = task_of_node(first_node(pid, PIDTYPE_PID), PIDTYPE_PID);

	if (address_in_sandbox(task, sandbox) && !is_manager_of(task, sandbox) &&
	    !(writes && is_canary_of_others(task)))
		return 0;
	*target = task ? BPF_CORE_READ((struct task_struct *)task, tgid) : 0;
	return 1;
}

#endif
