/* SPDX-License-Identifier: GPL-2.0-only */
/* Which sandbox does a task, a socket, another task belong to; and how a denial is counted, reported and returned. */
#ifndef SBPF_GATE_H
#define SBPF_GATE_H

#include "canary.h"
#include "launch.h"
#include "maps.h"
#include "sentinel.h"

/* Inlined into decide.h. */
static __always_inline const void *sbpf_policy_lookup(void *policy, const struct sbpf_rule_key *key)
{
	return bpf_map_lookup_elem(policy, key);
}
/* The verifier follows such a step until it learns nothing new, and not n times. */
#define SBPF_REPEAT(n, step, context) bpf_loop(n, step, context, 0)
#include "decide.h"

/* The sandboxes that hold the current task: the outermost and the innermost; both must allow. Equal in the usual case.
 */
struct sandboxes {
	struct sbpf_sandbox *outer;
	struct sbpf_sandbox *inner;
};

enum gate_result {
	GATE_OUTSIDE = 0, /* in no sandbox: not our business (I8) */
	GATE_INSIDE = 1,
	GATE_LOST = 2 /* under our root but in no known sandbox: deny (I3) */
};

/* What a hook wants to deny; becomes an event. */
struct denial {
	__u8 hook;
	__u8 domain;
	__u8 reason;
	__u8 quiet; /* count it, but make no event: the kernel only asks */
	union {
		struct sbpf_event_net net;
		struct sbpf_event_task task;
	};
};

/* Number of the highest bit set, 0 if none is; by hand, as clang-14 cannot compile __builtin_clz for BPF, and without
 * branches, of which the verifier would follow every combination. */
__weak __noinline int highest_level(__u32 bits)
{
	__u64 left = bits;
	int level = 0;

	for (int power = 4; power >= 0; power--) {
		__u64 above = left >> (1 << power), step;

		asm volatile("" : "+r"(above)); /* the compiler must not see that it is a comparison */
		step = (-above >> 63) << power;
		left >>= step;
		level += step;
	}
	return level;
}

/* Sandboxes in cgroups that another runtime owns: only the levels in use are looked at. */
struct level_search {
	__u32 left;  /* levels in use, from the one that is looked at */
	__u32 found; /* bits of those at which the current task has a sandbox above it */
};

static long search_level(__u64 i, struct level_search *search)
{
	__u32 level = (i + 1) & (SBPF_MAX_LEVELS - 1);

	if (search->left & 1) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);

		if (!id) /* the task's own cgroup lies higher */
			return 1;
		if (bpf_map_lookup_elem(&sbpf_sandboxes, &id))
			search->found |= 1u << level;
	}
	search->left >>= 1;
	return !search->left;
}

/* Global: verified once, and not at each caller. */
__weak __noinline int levels_above(void)
{
	struct level_search search = {.left = sbpf_gate.other_levels >> 1};

	SBPF_REPEAT(SBPF_MAX_LEVELS - 1, search_level, &search);
	return search.found;
}

static __always_inline struct sbpf_sandbox *sandbox_at_level(__u32 level)
{
	__u64 id = bpf_get_current_ancestor_cgroup_id(level & (SBPF_MAX_LEVELS - 1));

	return bpf_map_lookup_elem(&sbpf_sandboxes, &id);
}

static __noinline int gate_other_levels(struct sandboxes *sandboxes)
{
	__u32 own = sandboxes->outer ? sandboxes->outer->level : SBPF_MAX_LEVELS;
	__u32 levels = levels_above(), outer, inner;

	if (!levels)
		return 0;
	outer = highest_level(levels & -levels);
	inner = highest_level(levels);
	if (inner > own || !sandboxes->inner)
		sandboxes->inner = sandbox_at_level(inner);
	if (outer < own)
		sandboxes->outer = sandbox_at_level(outer);
	if (sandboxes->outer && sandboxes->outer->flags & SBPF_SANDBOX_KEPT && sandboxes->inner &&
	    sandboxes->inner->flags & SBPF_SANDBOX_KEPT && is_launching())
		sandboxes->outer = sandboxes->inner = NULL;
	return 0;
}

/* Is the current task below our root, and in which sandbox there? 0: in none, which is for the gate to deny. A task of
 * no sandbox pays one helper call. */
static __always_inline int is_below_root(__u64 *cgroup_id)
{
	__u64 root_id = sbpf_gate.root_id;

	if (!root_id || bpf_get_current_ancestor_cgroup_id(sbpf_gate.root_level) != root_id)
		return 0;
	*cgroup_id = bpf_get_current_ancestor_cgroup_id(sbpf_gate.root_level + 1);
	return 1;
}

static __always_inline enum gate_result gate(struct sandboxes *sandboxes, int below_root, const __u64 *cgroup_id)
{
	sandboxes->outer = NULL;
	sandboxes->inner = NULL;
	if (below_root) {
		sandboxes->outer = bpf_map_lookup_elem(&sbpf_sandboxes, cgroup_id);
		if (!sandboxes->outer)
			return GATE_LOST;
		sandboxes->inner = sandboxes->outer;
	}
	if (unlikely(sbpf_gate.other_levels)) {
		gate_other_levels(sandboxes);
		if (!sandboxes->outer != !sandboxes->inner)
			return GATE_LOST; /* a record vanished between two looks: being taken down */
	}
	return sandboxes->outer ? GATE_INSIDE : GATE_OUTSIDE;
}

/* Does this cgroup lie in the sandbox? Reads nothing but ids on the common path. */
static __always_inline int cgroup_in_sandbox(struct cgroup *cgrp, const struct sbpf_sandbox *sandbox)
{
	struct cgroup *ancestor = NULL;
	__u32 level = sandbox->level;

	if (!cgrp)
		return 0;
	if (cgrp->kn->id == sandbox->cgroup_id)
		return 1;
	if (cgrp->level <= (int)level || level >= SBPF_MAX_LEVELS)
		return 0;
	bpf_probe_read_kernel(&ancestor, sizeof(ancestor),
			      (void *)__builtin_preserve_access_index(&cgrp->ancestors) + level * sizeof(ancestor));
	return ancestor && BPF_CORE_READ(ancestor, kn, id) == sandbox->cgroup_id;
}

/* Foreign: made outside the sandbox, so the cgroup hooks of this sandbox do not see what it does. */
static __always_inline int sock_in_sandbox(struct sock *sk, const struct sbpf_sandbox *sandbox)
{
	return sk && cgroup_in_sandbox(sk->sk_cgrp_data.cgroup, sandbox);
}

static __always_inline int task_in_sandbox(struct task_struct *task, const struct sbpf_sandbox *sandbox)
{
	return cgroup_in_sandbox(task->cgroups->dfl_cgrp, sandbox);
}

static __always_inline void *sandbox_policy(const struct sbpf_sandbox *sandbox)
{
	__u64 id = sandbox->cgroup_id;

	return bpf_map_lookup_elem(&sbpf_policies, &id);
}

static __always_inline const struct sbpf_policy_header *sandbox_header(const struct sbpf_sandbox *sandbox)
{
	void *policy = sandbox_policy(sandbox);

	return policy ? sbpf_header_of(policy) : NULL;
}

static __noinline int sandbox_allows_all_network(const struct sbpf_sandbox *sandbox)
{
	const struct sbpf_policy_header *header = sandbox_header(sandbox);

	return header && header->flags & SBPF_POLICY_NET_ALLOW_ALL;
}

#include "tell.h"

/* What the mode makes of a decision to deny. */
static __always_inline __u32 verdict_of(const struct sbpf_sandbox *sandbox)
{
	const struct sbpf_policy_header *header = sandbox_header(sandbox);

	return header && header->flags & SBPF_POLICY_AUDIT ? SBPF_AUDIT : SBPF_DENY;
}

/* The canary's denial is a proof, not an event, and stands in every mode. -1: not the canary. */
static __always_inline int refuse_canary(const struct denial *denial, __u32 verdict)
{
	if (!is_canary_task())
		return -1;
	if (sbpf_canary.hook != denial->hook)
		return verdict == SBPF_DENY;
	sbpf_canary.hit = denial->hook + 1;
	return 1;
}

static __always_inline void count_denial(struct sbpf_sandbox *sandbox, const struct denial *denial)
{
	if (denial->hook < SBPF_MAX_HOOKS)
		__sync_fetch_and_add(&sandbox->denied[denial->hook], 1);
}

/* One polarity: what is called judge_*() is 1 where it denies, and allows_*() where it allows. */

/* Turns a decision to deny into what the mode says: 1 = deny, 0 = audit only. Emission never changes it. Global:
 * verified once, not at each of its callers. */
__weak __noinline int refuse(struct sbpf_sandbox *sandbox, const struct denial *denial)
{
	struct telling telling = {};
	__u32 verdict;
	int canary;

	if (!sandbox || !denial)
		return 1;
	verdict = verdict_of(sandbox);
	canary = refuse_canary(denial, verdict);
	if (canary >= 0)
		return canary;
	count_denial(sandbox, denial);
	if (!denial->quiet && may_tell(sandbox, denial, verdict, &telling))
		emit(sandbox, denial, &telling, verdict, EPERM);
	return verdict == SBPF_DENY;
}

#define DENIAL(name, why)                                                                                              \
	{                                                                                                              \
		.hook = SBPF_HOOK_##name, .domain = SBPF_HOOK_DOMAIN_##name, .reason = why                             \
	}

enum hook_domain {
#define X(id, name, kind, domain) SBPF_HOOK_DOMAIN_##name = SBPF_DOMAIN_##domain,
	SBPF_HOOKS(X)
#undef X
};

/* First thing in every LSM program: returns for tasks that are not ours and for lost ones, else leaves `sandboxes` set.
 */
#define LSM_GATE(name, sandboxes)                                                                                      \
	__u64 own_id = 0;                                                                                              \
	int below_root = is_below_root(&own_id);                                                                       \
	LSM_GATE_OF(name, sandboxes, below_root, own_id)

#define LSM_GATE_OF(name, sandboxes, below_root, own_id)                                                               \
	struct sandboxes sandboxes;                                                                                    \
	switch (gate(&sandboxes, below_root, &own_id)) {                                                               \
	case GATE_OUTSIDE:                                                                                             \
		return 0;                                                                                              \
	case GATE_LOST:                                                                                                \
		REFUSE_LOST(name, own_id);                                                                             \
	case GATE_INSIDE:                                                                                              \
		break;                                                                                                 \
	}

/* For what is refused to tasks outside, too: goes on for them, with `inside` 0. */
#define LSM_GATE_ALL(name, sandboxes, inside)                                                                          \
	__u64 own_id = 0;                                                                                              \
	int below_root = is_below_root(&own_id), inside = 1;                                                           \
	struct sandboxes sandboxes;                                                                                    \
	switch (gate(&sandboxes, below_root, &own_id)) {                                                               \
	case GATE_OUTSIDE:                                                                                             \
		inside = 0;                                                                                            \
		break;                                                                                                 \
	case GATE_LOST:                                                                                                \
		REFUSE_LOST(name, own_id);                                                                             \
	case GATE_INSIDE:                                                                                              \
		break;                                                                                                 \
	}

/* Asks the outer sandbox, then the inner if it is another; `judge` is nonzero to deny. Written as branches to
 * constants: 6.12's verifier wants a provable return range. */
#define LSM_ASK(error, sandboxes, judge, ...)                                                                          \
	do {                                                                                                           \
		if (judge(sandboxes.outer, ##__VA_ARGS__))                                                             \
			return -(error);                                                                               \
		if (unlikely(sandboxes.inner != sandboxes.outer) && judge(sandboxes.inner, ##__VA_ARGS__))             \
			return -(error);                                                                               \
	} while (0)

/* The same of a judge that takes an `ask` by addresses and is verified once; before 6.2, which cannot make pointers of
 * addresses, of its twin, which takes the pointers beside it. */
#define LSM_ASK_ONCE(error, sandboxes, judge, ask, ...)                                                                \
	do {                                                                                                           \
		if (sbpf_rdonly_cast)                                                                                  \
			LSM_ASK(error, sandboxes, judge, ask);                                                         \
		else                                                                                                   \
			LSM_ASK(error, sandboxes, judge##_before_6_2, ask, ##__VA_ARGS__);                             \
	} while (0)

#define LSM_JUDGE(sandboxes, judge, ...)                                                                               \
	do {                                                                                                           \
		LSM_ASK(EPERM, sandboxes, judge, ##__VA_ARGS__);                                                       \
		return 0;                                                                                              \
	} while (0)

#endif
