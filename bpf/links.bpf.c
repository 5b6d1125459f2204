// SPDX-License-Identifier: GPL-2.0-only
/* The agent's questions what the links of cgroups are by now, all in one, and whose programs answer in the place of
 * kernel functions. Iterators over the host's links; attached to nothing. */
#include "kernel_types.h"
#include "abi.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter__bpf_link {
	struct bpf_iter_meta *meta;
	struct bpf_link *link;
};

struct bpf_cgroup_link {
	struct cgroup *cgroup; /* NULL: detached */
};

#pragma clang attribute pop

SEC("iter/bpf_link")
int sbpf_cgroup_links(struct bpf_iter__bpf_link *ctx)
{
	struct bpf_link *link = ctx->link;
	struct sbpf_cgroup_link out = {};
	struct bpf_cgroup_link *of_cgroup;
	struct cgroup *cgroup;

	if (!link || link->type != BPF_LINK_TYPE_CGROUP)
		return 0;
	out.id = link->id;
	out.prog_id = link->prog->aux->id;
	of_cgroup = (struct bpf_cgroup_link *)link; /* which begins with the link */
	cgroup = BPF_CORE_READ(of_cgroup, cgroup);
	if (cgroup)
		out.cgroup_id = BPF_CORE_READ(cgroup, kn, id);
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}

SEC("iter/bpf_link")
int sbpf_modifiers(struct bpf_iter__bpf_link *ctx)
{
	struct bpf_link *link = ctx->link;
	struct sbpf_modifier out = {};

	if (!link || link->type != BPF_LINK_TYPE_TRACING || link->prog->expected_attach_type != BPF_MODIFY_RETURN)
		return 0;
	out.prog_id = link->prog->aux->id;
	out.btf_id = link->prog->aux->attach_btf_id;
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
	return 0;
}
