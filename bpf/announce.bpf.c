// SPDX-License-Identifier: GPL-2.0-only
/* An event of the agent's own making, in a sandbox's ring: user space cannot write there. Run by BPF_PROG_TEST_RUN, attached
 * to nothing. */
#include "gate.h"

SEC("syscall")
int sbpf_announce(struct sbpf_announcement *input)
{
	struct denial d = {.hook = SBPF_HOOK_bpf, .domain = SBPF_DOMAIN_GUARD};
	__u64 id = input->cgroup_id;
	struct sbpf_sandbox *box = bpf_map_lookup_elem(&sbpf_sandboxes, &id);

	if (!box)
		return 1;
	d.reason = input->reason;
	d.task.detail = input->detail;
	return emit(box, &d, SBPF_ALLOW, 0) ? 0 : 1;
}
