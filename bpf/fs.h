/* SPDX-License-Identifier: GPL-2.0-only */
/* From a file to the node of the policy's tree that decides about it, and to a verdict. Never by path strings: by inodes
 * upwards from the file, through the parents of its own filesystem, in whatever mount or root the task sees it. */
#ifndef SBPF_FS_H
#define SBPF_FS_H

#include "fs_cache.h"

/* What an operation needs of a place, beyond enum sbpf_fs_rights: the entry goes, or gets another inode. */
#define FS_MOVE 0x100

#define MNT_NS_INTERNAL ((void *)-22l)
#define SB_KERNMOUNT (1ul << 22)
#define SB_NOUSER (1ul << 31)
#define PF_IO_WORKER 0x10

struct fs_place {
	__u64 dentry;
	__u32 rights;
	__u32 holds; /* it is itself a node above one that must stay */
	__u32 named; /* a rule names it, and not only a directory above */
	__u32 rule;
	__u32 exec_rule;
	__u32 not_as_writable; /* it would be run if it were not written */
	__u32 covered;	       /* 0: no node up to the root of the filesystem */
	__u32 shared;	       /* the directory, and all in it that no rule knows, have the same rights */
	__u32 pinned; /* another file has this name in the policy */
};

/* Hash of a name, in chunks of 32 bytes (policy/filesystem.cpp has the same for user space). Global, so that the loop is
 * verified once; the name by its address, as such functions take no kernel pointers. */
__weak __noinline __u64 fs_name_hash(__u64 name, __u32 len)
{
	__u64 hash = SBPF_FS_HASH_SEED;

	for (__u32 at = 0; at < 256; at += 32) {
		__u64 word[8] = {}; /* half of it is for the verifier, which knows n only as below 64 */
		__u32 n;

		if (at >= len)
			break;
		n = len - at;
		if (n > 32)
			n = 32;
		asm volatile("%0 &= 63" : "+r"(n));
		if (bpf_probe_read_kernel(word, n, (const void *)(name + at)))
			return 0;
		hash = sbpf_fs_hash_word(hash, word[0]);
		hash = sbpf_fs_hash_word(hash, word[1]);
		hash = sbpf_fs_hash_word(hash, word[2]);
		hash = sbpf_fs_hash_word(hash, word[3]);
	}
	return hash;
}

static __noinline const struct sbpf_fs_node *fs_child(void *policy, __u32 node, __u64 name, __u32 len,
						      struct fs_place *place)
{
	__u64 hash = fs_name_hash(name, len);
	struct sbpf_rule_key key;

	if (!hash)
		place->covered = 0; /* unreadable: no verdict */
	sbpf_fs_name_key(&key, node, len, hash);
	return sbpf_policy_lookup(policy, &key);
}

static __always_inline const struct sbpf_fs_node *fs_node_of(void *policy, struct inode_home *home, struct inode *inode,
							     int is_directory)
{
	struct sbpf_rule_key key;

	home->inode = (__u64)inode;
	sbpf_fs_inode_key(&key, inode->i_ino, inode_dev(home), inode->i_generation, is_directory);
	return sbpf_policy_lookup(policy, &key);
}

/* Upwards to the first inode that is a node. */
struct fs_walk {
	void *policy;
	struct dentry *at;
	const struct sbpf_fs_node *node;
	__u64 steps; /* to that node */
	/* Of the entries that were passed last: of the file in slot 0, of the directory of step N in slot N + 1. */
	__u64 name[4];
	__u64 len[4];
	struct inode_home home;
};

/* A step of SBPF_REPEAT. Names by their addresses: to the verifier, what a walk has passed is then of one type, however
 * far it came. */
static long fs_step(__u64 step, struct fs_walk *walk)
{
	struct dentry *dentry = walk->at, *parent;
	struct inode *inode = inode_of(dentry);

	if (!inode)
		return 1;
	walk->steps = step;
	walk->node = fs_node_of(walk->policy, &walk->home, inode, 1);
	if (walk->node)
		return 1;
	walk->name[(step + 1) & 3] = (__u64)dentry->d_name.name;
	walk->len[(step + 1) & 3] = dentry->d_name.len;
	parent = dentry->d_parent;
	if (parent == dentry)
		return 1; /* the filesystem's root, or disconnected from it */
	walk->at = parent;
	return 0;
}

/* From the node to the entry below it that was passed last but `back`. */
#define FS_DOWN(back, deeper) \
	do { \
		if (passed <= (back)) \
			goto exact; \
		if (!(node->flags & SBPF_FS_NAMED)) \
			goto found; \
		child = fs_child(policy, node->node, walk.name[(walk.steps - (back)) & 3], \
				 walk.len[(walk.steps - (back)) & 3], place); \
		if (!child) { \
			place->shared = !is_file || (deeper); \
			goto found; \
		} \
		node = child; \
	} while (0)

/* The deepest node above or at the dentry: upwards to the first inode that is one, from there down again by names, which
 * also hold for what was created or replaced since. A rename meanwhile is seen before or after, at each step; whatever a
 * task in the sandbox can rename has the same rights before and after. */
static __noinline int fs_find(void *policy, struct dentry *dentry, struct fs_place *place)
{
	const struct sbpf_fs_node *node, *child;
	struct inode *inode = inode_of(dentry);
	int is_file = !is_directory(inode);
	struct fs_walk walk = {.policy = policy};
	__u64 passed;

	inode_home(&walk.home, dentry->d_sb);
	place->dentry = (__u64)dentry;
	place->rights = 0;
	place->holds = 0;
	place->named = 0;
	place->rule = SBPF_NO_RULE;
	place->exec_rule = SBPF_NO_RULE;
	place->not_as_writable = 0;
	place->pinned = 0;
	place->covered = 0;
	place->shared = 0;
	/* Files of an overlay carry the numbers of their layers, which can be equal; only its directories have their own. */
	if (is_file) {
		node = NULL;
		if (inode && walk.home.magic != OVERLAYFS_MAGIC)
			node = fs_node_of(policy, &walk.home, inode, 0);
		if (node) {
			place->covered = 1;
			goto exact;
		}
		walk.name[0] = (__u64)dentry->d_name.name;
		walk.len[0] = dentry->d_name.len;
		if (dentry->d_parent == dentry)
			return 0;
		dentry = dentry->d_parent;
	}
	walk.at = dentry;
	SBPF_REPEAT(SBPF_FS_MAX_WALK, fs_step, &walk);
	node = walk.node;
	if (!node)
		return 0;
	place->covered = 1;
	place->shared = 1;
	passed = walk.steps + is_file;
	FS_DOWN(0, passed > 1);
	FS_DOWN(1, passed > 2);
	FS_DOWN(2, passed > 3);
	FS_DOWN(3, 0); /* maybe not the place itself: nothing deeper is followed */
exact:
	place->holds = !!(node->flags & SBPF_FS_HOLDS);
	place->named = !!(node->flags & SBPF_FS_RULE);
	place->shared = !is_file && !(node->flags & SBPF_FS_NAMED);
found:
	place->rights = node->rights;
	place->rule = node->rule;
	place->exec_rule = node->exec_rule;
	place->not_as_writable = !!(node->flags & SBPF_FS_DENY_WRITABLE);
	place->pinned = !!(node->flags & SBPF_FS_PINNED);
	return 0;
}

enum fs_applies {
	FS_FREE = 0, /* the policy has no rules for paths */
	FS_JUDGED = 1,
	FS_LOST = 2 /* no policy: deny (I3) */
};

/* A policy, as far as it is about paths. */
struct fs_rules {
	void *policy;
	__u32 unjudged;    /* enum sbpf_fs_rights that it has no rules about */
	__u32 places_only; /* of struct sbpf_policy_header, exec_places_only */
};

/* Does the sandbox's policy judge paths, and which is it? The record's flag spares the others two lookups. */
static __always_inline enum fs_applies fs_policy(const struct sbpf_sandbox *box, struct fs_rules *rules)
{
	const struct sbpf_policy_header *header;

	if (!(box->flags & SBPF_SANDBOX_FS))
		return FS_FREE;
	rules->policy = box_policy(box);
	if (!rules->policy)
		return FS_LOST;
	header = sbpf_header_slot(rules->policy, SBPF_SLOT_HEADER);
	if (!header)
		return FS_LOST;
	rules->unjudged = 0;
	if (!(header->flags & SBPF_POLICY_FS))
		rules->unjudged |= SBPF_FS_READ | SBPF_FS_WRITE;
	if (!(header->flags & SBPF_POLICY_EXEC))
		rules->unjudged |= SBPF_FS_EXEC;
	rules->places_only = header->exec_places_only;
	return header->flags & SBPF_POLICY_PATHS ? FS_JUDGED : FS_FREE;
}

/* Overlayfs acts on its layers with the mounter's credentials. So do io_uring's workers for another's request, but not
 * they: their requests are judged. (A personality's credentials are refused.) */
static __always_inline int fs_acts_for_kernel(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->cred != task->real_cred && !(task->flags & PF_IO_WORKER);
}

static __always_inline int is_internal_mount(const struct vfsmount *mnt)
{
	void *ns = NULL;

	bpf_probe_read_kernel(&ns, sizeof(ns),
			      (const void *)mnt - bpf_core_field_offset(struct mount, mnt) +
				      bpf_core_field_offset(struct mount, mnt_ns));
	return ns == MNT_NS_INTERNAL;
}

/* Files of the kernel's own mounts are nobody's place: pipes, memfd, pidfds, and the files below overlayfs, which the
 * hook sees a second time after the overlay's own. Looked at only before a denial. */
static __noinline int fs_is_internal(struct dentry *dentry, struct vfsmount *mnt)
{
	if (mnt)
		return is_internal_mount(mnt);
	if (dentry->d_sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return 1;
	return dentry->d_sb->s_magic != OVERLAYFS_MAGIC && fs_acts_for_kernel();
}

/* The names of the event's path, from event->dentry upwards. Global: verified once. */
__weak __noinline int fs_collect_names(struct sbpf_fs_event *event)
{
	struct dentry *dentry;

	if (!event)
		return 0;
	dentry = (struct dentry *)event->dentry;
	event->n_names = 0;
	event->at_root = 0;
	for (__u32 i = 0; i < SBPF_PATH_NAMES; i++) {
		struct dentry *parent = BPF_CORE_READ(dentry, d_parent);

		if (parent == dentry) {
			event->at_root = 1;
			break;
		}
		bpf_probe_read_kernel_str(event->name[i], SBPF_PATH_NAME_LEN, BPF_CORE_READ(dentry, d_name.name));
		event->n_names = i + 1;
		dentry = parent;
	}
	return 0;
}

/* What a hook asks. */
struct fs_ask {
	__u32 hook;
	__u32 want; /* enum sbpf_fs_rights, and FS_MOVE */
};

static __always_inline int emit_fs(struct sbpf_sandbox *box, const struct denial *denial, const struct fs_place *place,
				   __u32 verdict)
{
	const struct dentry *dentry = (const void *)place->dentry;
	__u64 now = bpf_ktime_get_boot_ns();
	struct sbpf_fs_event *event = reserve_event(box, now, sizeof(*event));

	if (!event)
		return 0;
	fill_event(&event->event, box, denial, now, verdict, EACCES);
	event->dentry = place->dentry;
	event->dev = BPF_CORE_READ(dentry, d_sb, s_dev);
	event->wanted = denial->task.detail;
	event->rule = place->rule;
	event->pad = 0;
	fs_collect_names(event);
	event->dentry = 0;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/* As refuse(), with the path. */
__weak __noinline int refuse_place(struct sbpf_sandbox *box, const struct denial *denial, const struct fs_place *place)
{
	__u32 verdict;
	int canary;

	if (!box || !denial || !place)
		return 1;
	verdict = verdict_of(box);
	canary = refuse_canary(denial, verdict);
	if (canary >= 0)
		return canary;
	count_denial(box, denial);
	emit_fs(box, denial, place, verdict);
	return verdict == SBPF_DENY;
}

/* May the sandbox do to this place what the hook asks? 1: no. `mnt`: where the task sees it; NULL if the hook has none. */
static __noinline int judge_place(struct sbpf_sandbox *box, const struct fs_ask *ask, struct dentry *dentry,
				  struct vfsmount *mnt)
{
	struct denial d = {.hook = ask->hook, .domain = SBPF_DOMAIN_FILESYSTEM};
	__u32 need = ask->want & (SBPF_FS_READ | SBPF_FS_WRITE);
	struct fs_stamp stamp;
	struct fs_place place;
	struct fs_rules rules;

	QUICK_TO_VERIFY(dentry, dentry);
	d.task.detail = need;
	if (is_canary(ask->hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(box, &d);
	}
	if (!(box->flags & SBPF_SANDBOX_FS))
		return 0;
	if (!(ask->want & FS_MOVE) && need && (fs_recall(box->cgroup_id, dentry) & need) == need)
		return 0;
	stamp.epoch = sbpf_gate.epoch;
	stamp.renames = sbpf_rename_lock ? fs_renames() : 1;
	switch (fs_policy(box, &rules)) {
	case FS_FREE:
		return 0;
	case FS_LOST:
		d.reason = SBPF_REASON_NO_POLICY;
		return refuse(box, &d);
	case FS_JUDGED:
		break;
	}
	if (rules.unjudged & SBPF_FS_READ)
		return 0;
	fs_find(rules.policy, dentry, &place);
	if (!place.covered)
		d.reason = SBPF_REASON_FS_UNCOVERED;
	else if ((place.rights & need) != need)
		d.reason = place.rule == SBPF_NO_RULE ? SBPF_REASON_FS_DEFAULT : SBPF_REASON_FS_RULE;
	else if (ask->want & FS_MOVE && place.holds)
		d.reason = SBPF_REASON_FS_HOLDS;
	else if (ask->hook == SBPF_HOOK_file_open && !place.named && is_block_device(inode_of(dentry)))
		d.reason = SBPF_REASON_FS_DEVICE;
	else
		d.reason = SBPF_REASON_NONE;
	if (place.covered && place.shared)
		fs_memorize(box, dentry, rules.policy, &stamp, place.rights | rules.unjudged);
	if (d.reason == SBPF_REASON_NONE || fs_is_internal(dentry, mnt))
		return 0;
	return refuse_place(box, &d, &place);
}

/* What no rule can allow while there are rules: what would move or hide the places that they name. */
static __noinline int judge_never(struct sbpf_sandbox *box, __u32 hook, __u32 reason)
{
	struct denial d = {.hook = hook, .domain = SBPF_DOMAIN_FILESYSTEM, .reason = reason};
	struct fs_rules rules;

	if (is_canary(hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(box, &d);
	}
	switch (fs_policy(box, &rules)) {
	case FS_FREE:
		return 0;
	case FS_LOST:
	case FS_JUDGED:
		break;
	}
	return refuse(box, &d);
}

#define FS_ASK(boxes, name, wanted, dentry, mnt) \
	do { \
		struct fs_ask ask = {.hook = SBPF_HOOK_##name, .want = wanted}; \
\
		LSM_ASK(EACCES, boxes, judge_place, &ask, dentry, mnt); \
	} while (0)

#define FS_JUDGE(boxes, name, wanted, dentry, mnt) \
	do { \
		FS_ASK(boxes, name, wanted, dentry, mnt); \
		return 0; \
	} while (0)

#endif
