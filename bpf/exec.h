/* SPDX-License-Identifier: GPL-2.0-only */
/* May the sandbox run this file, or map it to run it? By the same tree and the same walk as for files. */
#ifndef SBPF_EXEC_H
#define SBPF_EXEC_H

#include "fs_judge.h"

/* A file's place as user space knows it: a mapping of an overlay's file holds, since 6.6, the layer's file instead.
 * That one lies on an internal mount of an ordinary filesystem, which nothing else does. */
static __noinline int find_file_place(struct file *file, struct fs_ask *place)
{
	struct dentry *dentry = file->f_path.dentry;
	struct vfsmount *mnt = file->f_path.mnt;

	place->dentry = (__u64)dentry;
	place->mnt = (__u64)mnt;
	if (!bpf_core_field_exists(struct backing_file, user_path) || !sbpf_rdonly_cast)
		return 0;
	if (!is_internal_mount(mnt) || dentry->d_sb->s_flags & (SB_KERNMOUNT | SB_NOUSER))
		return 0;
	bpf_core_read(&place->dentry, sizeof(place->dentry), &((struct backing_file *)file)->user_path.dentry);
	bpf_core_read(&place->mnt, sizeof(place->mnt), &((struct backing_file *)file)->user_path.mnt);
	return 0;
}

/* 1: no. */
static __always_inline int judge_program(struct sbpf_sandbox *sandbox, const struct fs_ask *ask, struct dentry *dentry)
{
	struct vfsmount *mnt = (struct vfsmount *)ask->mnt;
	struct denial d = {.hook = ask->hook, .domain = SBPF_DOMAIN_PROCESS};
	struct fs_place place = {.rule = SBPF_NO_RULE};
	struct fs_stamp stamp;
	struct fs_rules rules;
	struct inode *inode;
	int deleted;

	d.task.detail = SBPF_FS_EXEC;
	if (is_canary(ask->hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	if (!(sandbox->flags & SBPF_SANDBOX_FS))
		return 0;
	inode = inode_of(dentry);
	deleted = !inode || !inode->i_nlink;
	if (!deleted && fs_recall(sandbox->cgroup_id, dentry) & SBPF_FS_EXEC)
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
	if (rules.unjudged & SBPF_FS_EXEC)
		return 0;
	place.dentry = (__u64)dentry;
	if (rules.places_only && (deleted || is_internal_mount(mnt))) {
		d.reason = SBPF_REASON_EXEC_PLACELESS;
		return refuse_place(sandbox, &d, &place);
	}
	fs_find(rules.policy, dentry, &place);
	if (!place.covered) {
		if (is_internal_mount(mnt))
			return 0;
		d.reason = SBPF_REASON_FS_UNCOVERED;
		return refuse_place(sandbox, &d, &place);
	}
	if (place.shared)
		fs_memorize(sandbox, dentry, rules.policy, &stamp, place.rights | rules.unjudged);
	if (place.rights & SBPF_FS_EXEC)
		return 0;
	if (place.flags & SBPF_FS_DENY_WRITABLE)
		d.reason = SBPF_REASON_EXEC_WRITABLE;
	else if (place.flags & SBPF_FS_PINNED)
		d.reason = SBPF_REASON_EXEC_PINNED;
	else
		d.reason = place.exec_rule == SBPF_NO_RULE ? SBPF_REASON_EXEC_DEFAULT : SBPF_REASON_EXEC_RULE;
	place.rule = place.exec_rule;
	return refuse_place(sandbox, &d, &place);
}

/* As judge_place(). */
__weak __noinline int judge_exec(struct sbpf_sandbox *sandbox, const struct fs_ask *ask)
{
	if (!sandbox || !ask || !sbpf_rdonly_cast)
		return 1;
	return judge_program(sandbox, ask, STRUCT_AT(ask->dentry, dentry));
}

static __noinline int judge_exec_before_6_2(struct sbpf_sandbox *sandbox, const struct fs_ask *ask,
					    struct dentry *dentry)
{
	return judge_program(sandbox, ask, dentry);
}

#define EXEC_ASK(sandboxes, name, file)                                                                                \
	do {                                                                                                           \
		struct fs_ask exec_ask = {.hook = SBPF_HOOK_##name};                                                   \
                                                                                                                       \
		find_file_place(file, &exec_ask);                                                                      \
		LSM_ASK_ONCE(EACCES, sandboxes, judge_exec, &exec_ask, (struct dentry *)exec_ask.dentry);              \
	} while (0)

#endif
