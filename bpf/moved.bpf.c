// SPDX-License-Identifier: GPL-2.0-only
/* Guard domain: tasks that root outside moves out of their sandbox. Nothing can refuse that; it is seen, and answered
 * by `on_loss` (agent/sandbox/escaped_tasks.cpp). Children of a sandbox's tasks are labelled in hook_task_alloc, others
 * when they come in.
 *
 * hook                kernel                      sees                                     does not see
 * cgroup_attach_task  __cgroup_procs_write,       a task in another cgroup: one of ours    a task that clone3 put straight into an
 *                     cgroup.threads too; of a    outside its sandbox, or a new one        attached cgroup, before the iterator
 *                     process the leader only     inside                                   below saw it
 */
#include "moved.h"

#define PF_EXITING 0x4

static __noinline int report_moved(struct sbpf_sandbox *sandbox, struct task_struct *task)
{
	struct denial d = DENIAL(cgroup_attach_task, SBPF_REASON_MOVED_OUT);

	__sync_fetch_and_add(&sandbox->moved_out, 1);
	sbpf_guard.tasks_escaped = 1;
	d.task.target_pid = task->tgid;
	announce(sandbox, &d);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(hook_cgroup_attach_task, struct cgroup *to, const char *path, struct task_struct *task)
{
	struct sbpf_label *label;
	struct sbpf_sandbox *sandbox;
	__u64 id;

	/* The canary moves itself to where it is. */
	if (unlikely(sbpf_canary.tgid) && sbpf_canary.tgid == (__u32)task->tgid &&
	    is_canary(SBPF_HOOK_cgroup_attach_task)) {
		sbpf_canary.hit = SBPF_HOOK_cgroup_attach_task + 1;
		return 0;
	}
	label = bpf_task_storage_get(&sbpf_labels, task, NULL, 0);
	if (label) {
		id = label->cgroup_id;
		sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &id);
		if (sandbox && !task_in_sandbox(task, sandbox))
			return report_moved(sandbox, task);
	}
	id = sandbox_id_of_task(task);
	if (id) {
		int is_new = !label;

		label = label_task(task, id);
		if (label && is_new)
			label->launch = launcher_of_task((__u64)task) ? SBPF_LAUNCHING : SBPF_LAUNCHED;
	} else if (label)
		label->cgroup_id = 0; /* of a sandbox that is no more */
	return 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* All tasks of the host: labels those that are in a sandbox, and names those that are not in theirs. */
SEC("iter/task")
int sbpf_escaped_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sbpf_escaped_task escaped = {};
	struct sbpf_sandbox *sandbox;
	struct sbpf_label *label;
	__u64 id;

	if (!task)
		return 0;
	label = bpf_task_storage_get(&sbpf_labels, task, NULL, 0);
	id = label ? label->cgroup_id : 0;
	if (!id) {
		id = sandbox_id_of_task(task);
		if (id && !label_task(task, id)) {
			escaped.cgroup_id = id; /* of no number: it could not be labelled */
			bpf_seq_write(ctx->meta->seq, &escaped, sizeof(escaped));
		}
		return 0;
	}
	sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &id);
	if (!sandbox || task->flags & PF_EXITING || task_in_sandbox(task, sandbox))
		return 0;
	escaped.cgroup_id = id;
	escaped.tgid = task->tgid;
	escaped.tid = task->pid;
	bpf_seq_write(ctx->meta->seq, &escaped, sizeof(escaped));
	return 0;
}
