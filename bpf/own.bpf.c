// SPDX-License-Identifier: GPL-2.0-only
/* Guard domain: sbpf's own maps, programs and links against everyone but the agent, host root outside included. docs/GUARD.md
 * has the whole table, and what stands in where no hook sees.
 *
 * hook      kernel                         refuses                                    does not see
 * bpf       __sys_bpf                      inside: every bpf(2) command. Outside:     another thread that puts another
 *                                          LINK_DETACH, LINK_UPDATE, PROG_DETACH of   descriptor in the place of the one that
 *                                          ours; LINK_CREATE on our programs          was looked at (detected)
 * bpf_map   bpf_map_new_fd: MAP_CREATE,    every descriptor of a map of ours, for     lookups by who has one (the agent)
 *           by id, by pin                  reading as well: programs and iterators
 *                                          write through such a one
 * bpf_prog  bpf_prog_new_fd: PROG_LOAD,    a program loaded to extend or trace one    links made later on to one of ours, by
 *           by id, by pin                  of ours (freplace)                         target_fd (bpf, above)
 */
#include "own.h"

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
	LSM_GATE_ALL(bpf, boxes, inside);
	if (inside && !is_canary_of_bpf_object())
		LSM_ASK(EPERM, boxes, judge_flag, SBPF_HOOK_bpf, 1, SBPF_REASON_GUARD, cmd);
	KEEP_OFF(inside, is_command_on_own(cmd, attr));
	return 0;
}

SEC("lsm/bpf_map")
int BPF_PROG(hook_bpf_map, struct bpf_map *map)
{
	int own = is_own_map(map);

	LSM_GATE_ALL(bpf_map, boxes, inside);
	if (inside)
		LSM_ASK(EPERM, boxes, judge_flag, SBPF_HOOK_bpf_map, own, SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, own);
	return 0;
}

SEC("lsm/bpf_prog")
int BPF_PROG(hook_bpf_prog, struct bpf_prog *prog)
{
	int own = is_own_program((__u64)BPF_CORE_READ(prog, aux, dst_prog));

	LSM_GATE_ALL(bpf_prog, boxes, inside);
	if (inside)
		LSM_ASK(EPERM, boxes, judge_flag, SBPF_HOOK_bpf_prog, own, SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, own);
	return 0;
}
