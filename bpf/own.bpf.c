// SPDX-License-Identifier: GPL-2.0-only
/* Guard domain: sbpf's own maps, programs and links against everyone but the agent, host root outside included.
 * docs/GUARD.md has the whole table, and what stands in where no hook sees.
 *
 * hook      kernel                         refuses                                    does not see
 * bpf       __sys_bpf                      inside: every bpf(2) command. Outside:     another thread that puts another
 *                                          LINK_DETACH, LINK_UPDATE, PROG_DETACH of   descriptor in the place of the one that
 *                                          ours; LINK_CREATE on our programs; what    was looked at; what was attached before
 *                                          would overrule ours, where it is loaded    the programs were loaded; above a sandbox
 *                                          or attached                                (all detected)
 * bpf_map   bpf_map_new_fd: MAP_CREATE,    every descriptor of a map of ours, for     lookups by who has one (the agent)
 *           by id, by pin                  reading as well: programs and iterators
 *                                          write through such a one
 * bpf_prog  bpf_prog_new_fd: PROG_LOAD,    a program loaded to extend or trace one    links made later on to one of ours, by
 *           by id, by pin                  of ours (freplace)                         target_fd (bpf, above)
 */
#include "moved.h"
#include "own.h"

/* By number in the kernel's BTF, filled in when the object is loaded; 0 where there is none: the functions that call
 * the hooks of ours that are LSM ones, and those hooks whose caller takes a positive answer for leave. */
const volatile __u32 sbpf_callers[SBPF_HOOK_COUNT] = {};
const volatile __u32 sbpf_liftable[SBPF_HOOK_COUNT] = {};

static __noinline int is_among(const volatile __u32 *ids, __u32 id)
{
	for (int i = 0; i < SBPF_HOOK_COUNT; i++)
		if (ids[i] == id)
			return 1;
	return 0;
}

/* Would a program of this kind answer in the place of ours? */
static __noinline int overrules(__u32 attach_type, __u32 function)
{
	if (!function)
		return 0;
	if (attach_type == BPF_MODIFY_RETURN)
		return is_among(sbpf_callers, function);
	/* One of a cgroup answers there in the place of ours, too. */
	return (attach_type == BPF_LSM_MAC || attach_type == BPF_LSM_CGROUP) && is_among(sbpf_liftable, function);
}

static __noinline int is_overruling_program(__u32 fd)
{
	struct bpf_prog *prog = (struct bpf_prog *)behind_fd(fd);
	struct bpf_prog_aux *aux;

	if (!prog)
		return 0;
	aux = BPF_CORE_READ(prog, aux);
	/* The descriptor need not be one of a program: then it does not lead back to itself. */
	if (!aux || BPF_CORE_READ(aux, prog) != prog)
		return 0;
	return overrules(BPF_CORE_READ(prog, expected_attach_type), BPF_CORE_READ(aux, attach_btf_id));
}

/* The hooks at which a program that runs after ours lifts a denial, or changes what was judged. */
static __always_inline int is_judged_by_cgroup(__u32 attach_type)
{
	switch (attach_type) {
	case BPF_CGROUP_INET_SOCK_CREATE:
	case BPF_CGROUP_INET4_BIND:
	case BPF_CGROUP_INET6_BIND:
	case BPF_CGROUP_INET4_CONNECT:
	case BPF_CGROUP_INET6_CONNECT:
	case BPF_CGROUP_UDP4_SENDMSG:
	case BPF_CGROUP_UDP6_SENDMSG:
	case BPF_CGROUP_SETSOCKOPT:
		return 1;
	}
	return 0;
}

/* Is the cgroup behind this descriptor that of a sandbox, or one in it? */
static __noinline int is_in_sandbox(__u32 fd)
{
	struct file *file = (struct file *)file_of_fd(fd);
	struct kernfs_node *node;
	struct cgroup *cgrp;
	struct inode *inode;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if (!inode || BPF_CORE_READ(inode, i_sb, s_magic) != CGROUP2_MAGIC ||
	    (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFDIR)
		return 0;
	node = BPF_CORE_READ(inode, i_private);
	cgrp = node ? BPF_CORE_READ(node, priv) : NULL;
	return cgrp && sandbox_id_of_cgroup(cgrp);
}

static __noinline int is_command_that_overrules(int cmd, union bpf_attr *attr)
{
	switch (cmd) {
	case BPF_PROG_LOAD:
		return overrules(attr->expected_attach_type, attr->attach_btf_id);
	case BPF_RAW_TRACEPOINT_OPEN:
		return is_overruling_program(attr->raw_tracepoint.prog_fd);
	case BPF_PROG_ATTACH:
		return is_overruling_program(attr->attach_bpf_fd) ||
		       (is_judged_by_cgroup(attr->attach_type) && is_in_sandbox(attr->target_fd));
	case BPF_LINK_CREATE:
		return is_overruling_program(attr->link_create.prog_fd) ||
		       (is_judged_by_cgroup(attr->link_create.attach_type) &&
			is_in_sandbox(attr->link_create.target_fd));
	}
	return 0;
}

static __noinline int is_command_on_own(int cmd, union bpf_attr *attr)
{
	switch (cmd) {
	case BPF_LINK_DETACH:
		return is_own_link(behind_fd(attr->link_detach.link_fd));
	case BPF_LINK_UPDATE:
		return is_own_link(behind_fd(attr->link_update.link_fd));
	case BPF_PROG_DETACH:
		return is_own_program(behind_fd(attr->attach_bpf_fd));
	case BPF_LINK_CREATE:
		return is_own_program(behind_fd(attr->link_create.target_fd));
	}
	return 0;
}

SEC("lsm/bpf")
int BPF_PROG(hook_bpf, int cmd, union bpf_attr *attr)
{
	LSM_GATE_ALL(bpf, sandboxes, inside);
	if (inside && !is_canary_of_bpf_object())
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_bpf, 1, SBPF_REASON_GUARD, cmd);
	KEEP_OFF(inside, is_command_on_own(cmd, attr) || is_command_that_overrules(cmd, attr));
	return 0;
}

SEC("lsm/bpf_map")
int BPF_PROG(hook_bpf_map, struct bpf_map *map)
{
	int own = is_own_map(map);

	LSM_GATE_ALL(bpf_map, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_bpf_map, own, SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, own);
	return 0;
}

SEC("lsm/bpf_prog")
int BPF_PROG(hook_bpf_prog, struct bpf_prog *prog)
{
	int own = is_own_program((__u64)BPF_CORE_READ(prog, aux, dst_prog));

	LSM_GATE_ALL(bpf_prog, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_bpf_prog, own, SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, own);
	return 0;
}
