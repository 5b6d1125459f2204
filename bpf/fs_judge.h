/* SPDX-License-Identifier: GPL-2.0-only */
/* From the node of the policy's tree to a verdict on what a hook asks. */
#ifndef SBPF_FS_JUDGE_H
#define SBPF_FS_JUDGE_H

#include "fs.h"

/* What an operation needs of a place, beyond enum sbpf_fs_rights: the entry goes, or gets another inode. */
#define FS_MOVE 0x100

#define MNT_NS_INTERNAL ((void *)-22l)
#define SB_KERNMOUNT	(1ul << 22)
#define PF_IO_WORKER	0x10

/* Overlayfs acts on its layers with the mounter's credentials. So do io_uring's workers for another's request, but not
 * they: their requests are judged. (A personality's credentials are refused.) */
static __always_inline int fs_acts_for_kernel(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return task->cred != task->real_cred && !(task->flags & PF_IO_WORKER);
}

static __always_inline void *namespace_of_mount(const struct vfsmount *mnt)
{
	void *ns = NULL;

	bpf_probe_read_kernel(&ns, sizeof(ns),
			      (const void *)mnt - bpf_core_field_offset(struct mount, mnt) +
				  bpf_core_field_offset(struct mount, mnt_ns));
	return ns;
}

static __always_inline int is_internal_mount(const struct vfsmount *mnt)
{
	return namespace_of_mount(mnt) == MNT_NS_INTERNAL;
}

/* Files of the kernel's own mounts are nobody's place: pipes, memfd, pidfds, and the files below overlayfs, which the
 * hook sees a second time after the overlay's own. Looked at only before a denial. Message queues have a place,
 * /dev/mqueue, although mq_open(2) gets to them by a mount of the kernel's. */
static __noinline int fs_is_internal(struct dentry *dentry, struct vfsmount *mnt)
{
	if (dentry->d_sb->s_magic == MQUEUE_MAGIC)
		return 0;
	/* Huge pages (MAP_HUGETLB, MFD_HUGETLB), whose mount is in no namespace at all. What users mount of hugetlbfs
	 * has superblocks of its own. */
	if (dentry->d_sb->s_magic == HUGETLBFS_MAGIC && dentry->d_sb->s_flags & SB_KERNMOUNT)
		return 1;
	if (mnt)
		return is_internal_mount(mnt);
	if (dentry->d_sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return 1;
	return fs_acts_for_kernel();
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

/* What a hook asks. By addresses: functions that are verified once take no kernel pointers. */
struct fs_ask {
	__u64 dentry;
	__u64 mnt; /* where the task sees it; 0 if the hook has none */
	__u32 hook;
	__u32 want; /* enum sbpf_fs_rights, and FS_MOVE; SBPF_FS_EXEC is only told, as judge_exec() judges it */
};

/* Which file: its directory and its name, as it may not be there. */
static __always_inline __u64 object_of(const struct dentry *dentry)
{
	__u64 place = (__u64)BPF_CORE_READ(dentry, d_sb, s_dev) << 32 ^ BPF_CORE_READ(dentry, d_parent, d_inode, i_ino);

	return mix(place, BPF_CORE_READ(dentry, d_name.hash_len));
}

static __always_inline int emit_fs(struct sbpf_sandbox *sandbox, const struct denial *denial,
				   const struct fs_place *place, __u32 verdict)
{
	const struct dentry *dentry = (const void *)place->dentry;
	struct telling telling = {.object = object_of(dentry)};
	struct sbpf_fs_event *event;

	if (!may_tell(sandbox, denial, verdict, &telling))
		return 0;
	event = reserve_event(sandbox, sizeof(*event));
	if (!event)
		return untell(sandbox, denial, &telling);
	fill_event(&event->event, sandbox, denial, &telling, verdict,
		   denial->domain == SBPF_DOMAIN_NETWORK ? EPERM : EACCES);
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
__weak __noinline int refuse_place(struct sbpf_sandbox *sandbox, const struct denial *denial,
				   const struct fs_place *place)
{
	__u32 verdict;
	int canary;

	if (!sandbox || !denial || !place)
		return 1;
	verdict = verdict_of(sandbox);
	canary = refuse_canary(denial, verdict);
	if (canary >= 0)
		return canary;
	count_denial(sandbox, denial);
	emit_fs(sandbox, denial, place, verdict);
	return verdict == SBPF_DENY;
}

/* Does the hook give a descriptor that reads or writes the file? */
static __always_inline int opens_file(__u32 hook)
{
	return hook == SBPF_HOOK_file_open || hook == SBPF_HOOK_file_receive;
}

/* Does it give the file a name, which a rule may know? */
static __always_inline int renames_file(__u32 hook)
{
	return hook == SBPF_HOOK_path_rename || hook == SBPF_HOOK_path_link;
}

/* May the sandbox do to this place what the hook asks? 1: no. */
static __always_inline int judge_dentry(struct sbpf_sandbox *sandbox, const struct fs_ask *ask, struct dentry *dentry)
{
	struct denial d = {.hook = ask->hook, .domain = SBPF_DOMAIN_FILESYSTEM};
	__u32 need = ask->want & (SBPF_FS_READ | SBPF_FS_WRITE);
	struct fs_stamp stamp;
	struct fs_place place;
	struct fs_rules rules;

	d.task.detail = need | (ask->want & SBPF_FS_EXEC);
	if (is_canary(ask->hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	if (!(sandbox->flags & SBPF_SANDBOX_FS))
		return 0;
	if (!(ask->want & FS_MOVE) && need && (fs_recall(sandbox->cgroup_id, dentry) & need) == need)
		return 0;
	stamp.epoch = sbpf_gate.epoch;
	stamp.renames = sbpf_rename_lock ? fs_renames() : 1;
	switch (fs_policy(sandbox, &rules)) {
	case FS_FREE:
		return 0;
	case FS_LOST:
		d.reason = SBPF_REASON_NO_POLICY;
		return refuse(sandbox, &d);
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
	else if (ask->want & FS_MOVE && place.flags & SBPF_FS_HOLDS)
		d.reason = SBPF_REASON_FS_HOLDS;
	else if (is_block_device(inode_of(dentry)) &&
		 (renames_file(ask->hook) || (opens_file(ask->hook) && !(place.flags & SBPF_FS_RULE))))
		d.reason = SBPF_REASON_FS_DEVICE;
	else
		d.reason = SBPF_REASON_NONE;
	if (place.covered && place.shared)
		fs_memorize(sandbox, dentry, rules.policy, &stamp, place.rights | rules.unjudged);
	if (d.reason == SBPF_REASON_NONE || fs_is_internal(dentry, (struct vfsmount *)ask->mnt))
		return 0;
	return refuse_place(sandbox, &d, &place);
}

/* Global, and so verified once; and twice where a pointer cannot be had from an address. */
__weak __noinline int judge_place(struct sbpf_sandbox *sandbox, const struct fs_ask *ask)
{
	if (!sandbox || !ask || !sbpf_rdonly_cast)
		return 1;
	return judge_dentry(sandbox, ask, STRUCT_AT(ask->dentry, dentry));
}

static __noinline int judge_place_before_6_2(struct sbpf_sandbox *sandbox, const struct fs_ask *ask,
					     struct dentry *dentry)
{
	return judge_dentry(sandbox, ask, dentry);
}

static __always_inline int judge_link_name(struct sbpf_sandbox *sandbox, const struct fs_ask *ask,
					   struct dentry *dentry)
{
	struct denial d = {.hook = ask->hook, .domain = SBPF_DOMAIN_FILESYSTEM, .reason = SBPF_REASON_FS_HOLDS};
	const struct sbpf_policy_header *header = sandbox_header(sandbox);
	void *policy = sandbox_policy(sandbox);
	struct fs_place place;

	if (!header || !policy || !(header->flags & (SBPF_POLICY_PATHS | SBPF_POLICY_UNIX)))
		return 0;
	d.task.detail = ask->want;
	fs_find(policy, dentry, &place);
	return place.exact && refuse_place(sandbox, &d, &place);
}

/* Is a symbolic link to be made by a name that a rule's path has? It would lead the rule elsewhere, at the next
 * look-up. Global, as judge_place(). */
__weak __noinline int judge_link(struct sbpf_sandbox *sandbox, const struct fs_ask *ask)
{
	if (!sandbox || !ask || !sbpf_rdonly_cast)
		return 1;
	return judge_link_name(sandbox, ask, STRUCT_AT(ask->dentry, dentry));
}

static __noinline int judge_link_before_6_2(struct sbpf_sandbox *sandbox, const struct fs_ask *ask,
					    struct dentry *dentry)
{
	return judge_link_name(sandbox, ask, dentry);
}

/* What no rule can allow while there are rules: what would move or hide the places that they name. */
static __noinline int judge_never(struct sbpf_sandbox *sandbox, __u32 hook, __u32 reason)
{
	struct denial d = {.hook = hook, .domain = SBPF_DOMAIN_FILESYSTEM, .reason = reason};
	struct fs_rules rules;

	if (is_canary(hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	switch (fs_policy(sandbox, &rules)) {
	case FS_FREE:
		return 0;
	case FS_LOST:
	case FS_JUDGED:
		break;
	}
	return refuse(sandbox, &d);
}

/* `ask`: of the hook's, so that one which asks often has it on its stack once. */
#define FS_ASK_BY(judge, ask, sandboxes, name, wanted, place, at)                                                      \
	do {                                                                                                           \
		struct dentry *asked = place;                                                                          \
                                                                                                                       \
		ask.dentry = (__u64)asked;                                                                             \
		ask.mnt = (__u64)(at);                                                                                 \
		ask.hook = SBPF_HOOK_##name;                                                                           \
		ask.want = wanted;                                                                                     \
		LSM_ASK_ONCE(EACCES, sandboxes, judge, &ask, asked);                                                   \
	} while (0)

#define FS_ASK_WITH(ask, sandboxes, name, wanted, place, at)                                                           \
	FS_ASK_BY(judge_place, ask, sandboxes, name, wanted, place, at)

#define FS_ASK(sandboxes, name, wanted, place, at)                                                                     \
	do {                                                                                                           \
		struct fs_ask ask;                                                                                     \
                                                                                                                       \
		FS_ASK_WITH(ask, sandboxes, name, wanted, place, at);                                                  \
	} while (0)

/* Before a symbolic link gets the name of `place`. */
#define FS_ASK_LINK(sandboxes, name, place)                                                                            \
	do {                                                                                                           \
		struct fs_ask ask;                                                                                     \
                                                                                                                       \
		FS_ASK_BY(judge_link, ask, sandboxes, name, SBPF_FS_WRITE, place, NULL);                               \
	} while (0)

#define FS_JUDGE(sandboxes, name, wanted, dentry, mnt)                                                                 \
	do {                                                                                                           \
		FS_ASK(sandboxes, name, wanted, dentry, mnt);                                                          \
		return 0;                                                                                              \
	} while (0)

#endif
