// SPDX-License-Identifier: GPL-2.0-only
/* An event of the agent's own making, in a sandbox's ring: user space cannot write there. Run by BPF_PROG_TEST_RUN,
 * attached to nothing. */
#include "gate.h"

static __noinline int announce_name(struct sbpf_sandbox *sandbox, const struct denial *d,
				    const struct sbpf_announcement *input)
{
	struct telling telling = {.times = 1};
	struct sbpf_name_event *told;
	int may;

	telling.object = input->name_key;
	may = input->verdict == SBPF_ALLOW ? may_tell_allowed(sandbox) : may_tell(sandbox, d, input->verdict, &telling);
	told = may ? reserve_event(sandbox, sizeof(*told)) : NULL;
	if (!told)
		return 1;
	fill_event(&told->event, sandbox, d, &telling, input->verdict, 0);
	told->event.tgid = 0; /* of whom it was asked is not known; the current task is the supervisor */
	told->event.tid = 0;
	__builtin_memcpy(told->name, input->name, sizeof(told->name));
	bpf_ringbuf_submit(told, 0);
	return 0;
}

/* Refused by a filter of the program's own tasks, of which the filter's listener tells. */
static __noinline int announce_call(struct sbpf_sandbox *sandbox, const struct denial *d,
				    const struct sbpf_announcement *input)
{
	struct telling telling = {.times = 1};
	struct sbpf_event *told;

	__sync_fetch_and_add(&sandbox->denied[SBPF_DENIED_BY_SECCOMP], 1);
	if (!may_tell(sandbox, d, SBPF_DENY, &telling))
		return 1;
	told = reserve_event(sandbox, sizeof(*told));
	if (!told)
		return untell(sandbox, d, &telling);
	fill_event(told, sandbox, d, &telling, SBPF_DENY, EPERM);
	told->tgid = input->pid;
	told->tid = input->tid;
	told->uid = input->uid;
	__builtin_memcpy(told->comm, input->name, sizeof(told->comm));
	bpf_ringbuf_submit(told, 0);
	return 0;
}

SEC("syscall")
int sbpf_announce(struct sbpf_announcement *input)
{
	struct denial d = {.hook = SBPF_HOOK_bpf, .domain = SBPF_DOMAIN_GUARD};
	__u64 id = input->cgroup_id;
	struct sbpf_sandbox *sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &id);

	if (!sandbox)
		return 1;
	d.reason = input->reason;
	if (input->reason == SBPF_REASON_SYSTEM_CALL) {
		d.hook = SBPF_NO_HOOK;
		d.domain = SBPF_DOMAIN_PROCESS;
		d.task.detail = input->detail;
		return announce_call(sandbox, &d, input);
	}
	if (input->name[0] || input->reason == SBPF_REASON_NAME_RATE) { /* too fast: no name was read */
		d.hook = SBPF_NO_HOOK;
		d.domain = SBPF_DOMAIN_NETWORK;
		d.net.level = input->detail;
		d.net.option = input->n_addresses;
		__builtin_memcpy(d.net.addr, input->addr, sizeof(d.net.addr));
		__sync_fetch_and_add(&sandbox->lost_full, input->lost);
		return announce_name(sandbox, &d, input);
	}
	d.task.detail = input->detail;
	return announce(sandbox, &d) ? 0 : 1;
}
