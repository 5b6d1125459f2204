// SPDX-License-Identifier: GPL-2.0-only
/* The agent's questions which files a process goes on using that a policy forbids, by the walk that the hooks take: so
 * neither a mount, nor a name that changed since, nor what the process sees makes them another answer. Iterators over
 * the files and the mappings of the one process that their link names; attached to nothing. */
#include "exec.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter__task_vma {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

#pragma clang attribute pop

#define EVERY_RIGHT   (SBPF_FS_READ | SBPF_FS_WRITE | SBPF_FS_EXEC)
#define LOST_ITS_NAME (1u << 31) /* beside the rights */

/* One file, and the policy that is asked about it. */
struct open_file_ask {
	struct fs_ask place;
	__u32 compared; /* enum sbpf_compared */
	__u32 pad;
};

/* Was the name by which it was opened removed, while it has others? (Files of /proc have one, which is gone with the
 * process.) */
static __always_inline int lost_its_name(const struct dentry *dentry, const struct inode *inode)
{
	return inode && !is_directory(inode) && inode->i_nlink && !dentry->d_hash.pprev && dentry->d_parent != dentry &&
	       dentry->d_sb->s_magic != PROC_MAGIC;
}

/* What the policy lets be done with it, as judge_dentry() and judge_program() have it. */
static __always_inline __u32 find_rights(const struct open_file_ask *ask, struct dentry *dentry)
{
	void *policy = bpf_map_lookup_elem(&sbpf_compared, &ask->compared);
	struct vfsmount *mnt = (struct vfsmount *)ask->place.mnt;
	struct inode *inode = inode_of(dentry);
	struct fs_rules rules;
	struct fs_place place;
	__u32 rights, lost;
	int internal;

	switch (policy ? fs_rules_of(policy, &rules) : FS_LOST) {
	case FS_FREE:
		return EVERY_RIGHT;
	case FS_LOST:
		internal = fs_is_internal(dentry, mnt);
		lost = !internal && lost_its_name(dentry, inode) ? LOST_ITS_NAME : 0;
		return (!policy && ask->compared == SBPF_COMPARED_BEFORE ? EVERY_RIGHT : 0) | lost;
	case FS_JUDGED:
		break;
	}
	/* First: what is known before it multiplies the ways that the verifier follows through it. */
	fs_find(rules.policy, dentry, &place);
	rights = place.covered ? place.rights : 0;
	internal = fs_is_internal(dentry, mnt);
	lost = !internal && lost_its_name(dentry, inode) ? LOST_ITS_NAME : 0;
	if (is_block_device(inode) && !(place.flags & SBPF_FS_RULE))
		rights &= ~(SBPF_FS_READ | SBPF_FS_WRITE);
	if (internal)
		rights |= place.covered ? SBPF_FS_READ | SBPF_FS_WRITE : EVERY_RIGHT;
	else if (lost && inode_borrows_numbers(dentry->d_sb->s_magic)) /* nothing tells which file it is */
		rights = ask->compared == SBPF_COMPARED_BEFORE ? EVERY_RIGHT : 0;
	if (rules.places_only && (internal || !inode || !inode->i_nlink))
		rights &= ~SBPF_FS_EXEC;
	return rights | rules.unjudged | lost;
}

/* Global, as judge_place(). */
__weak __noinline __u32 rights_of_open_file(const struct open_file_ask *ask)
{
	if (!ask || !sbpf_rdonly_cast)
		return 0;
	return find_rights(ask, STRUCT_AT(ask->place.dentry, dentry));
}

static __noinline __u32 rights_of_open_file_before_6_2(const struct open_file_ask *ask, struct dentry *dentry)
{
	return find_rights(ask, dentry);
}

#define RIGHTS_OF_OPEN_FILE(ask, file, policy)                                                                         \
	(ask.compared = policy,                                                                                        \
	 sbpf_rdonly_cast ? rights_of_open_file(&ask) : rights_of_open_file_before_6_2(&ask, (file)->f_path.dentry))

static __always_inline int tell_open_file(struct seq_file *seq, struct file *file, __u32 want,
					  struct sbpf_open_file *out)
{
	struct open_file_ask ask = {};
	__u32 before, after;

	find_file_place(file, &ask.place);
	before = RIGHTS_OF_OPEN_FILE(ask, file, SBPF_COMPARED_BEFORE);
	after = RIGHTS_OF_OPEN_FILE(ask, file, SBPF_COMPARED_AFTER);
	out->forbidden = want & before & ~after;
	if (!out->forbidden)
		return 0;
	out->ino = BPF_CORE_READ(file, f_inode, i_ino);
	out->flags = after & LOST_ITS_NAME ? SBPF_OPEN_FILE_LOST : 0;
	bpf_seq_write(seq, out, sizeof(*out));
	return 0;
}

SEC("iter/task_file")
int sbpf_open_files(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sbpf_open_file out = {};
	struct file *file = ctx->file;

	if (!task || !file || file->f_mode & FMODE_PATH) /* names a place; what is opened from it is judged */
		return 0;
	out.task = task->pid;
	out.at = ctx->fd;
	return tell_open_file(ctx->meta->seq, file, fs_open_wants(file), &out);
}

SEC("iter/task_vma")
int sbpf_mapped_files(struct bpf_iter__task_vma *ctx)
{
	struct task_struct *task = ctx->task;
	struct vm_area_struct *vma = ctx->vma;
	struct sbpf_open_file out = {};
	__u32 want = SBPF_FS_READ;
	struct file *file;

	if (!task || !vma)
		return 0;
	out.task = task->pid;
	file = vma->vm_file;
	if (!file)
		return 0;
	if (vma->vm_flags & VM_SHARED) /* also what mprotect could make writable */
		want |= SBPF_FS_WRITE;
	if (vma->vm_flags & VM_EXEC)
		want |= SBPF_FS_EXEC;
	out.at = vma->vm_start;
	out.end = vma->vm_end;
	return tell_open_file(ctx->meta->seq, file, want, &out);
}
