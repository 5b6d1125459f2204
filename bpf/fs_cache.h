/* SPDX-License-Identifier: GPL-2.0-only */
/* Remembers what the walk found for a directory, so that files in it cost the same at any depth.
 *
 * A remembered verdict is used only if nothing that the walk depends on can have changed since before it:
 * - the tree: the kernel moves a dentry only under rename_lock, whose sequence is kept. Mounts play no part, as the
 *   walk stays in one filesystem;
 * - the policy: the agent moves the epoch on after each flip, which waits for the programs that still use the old one,
 *   and when it takes a sandbox down;
 * - the directory: its dentry, and its inode's number, device and generation, where no two directories have the same
 *   (inode_generation);
 * - the file: one with a name or inode that a rule knows is walked for. What cannot be told is walked for too.
 * Only allowing is remembered: a denial is found anew, with its reason. */
#ifndef SBPF_FS_CACHE_H
#define SBPF_FS_CACHE_H

#include "gate.h"
#include "inode.h"

/* Address of the kernel's rename_lock, by the loader; 0 if it is not known, or if the processor shows stores and loads
 * out of order (all but x86-64), which the slots' locks do not stand: nothing is remembered then. */
extern const volatile __u64 sbpf_rename_lock;

/* When a walk began. */
struct fs_stamp {
	__u32 epoch;
	__u32 renames;
};

/* Odd: a rename is under way, or it cannot be known. A seqlock_t begins with its sequence. */
static __always_inline __u32 fs_renames(void)
{
	__u32 sequence = 1;

	bpf_probe_read_kernel(&sequence, sizeof(sequence), (const void *)sbpf_rename_lock);
	return sequence;
}

static __always_inline struct sbpf_fs_verdict *fs_slot(__u64 cgroup_id, const struct inode *directory)
{
	__u32 slot = ((directory->i_ino ^ cgroup_id << 32) * 0x9e3779b97f4a7c15ull) >> 52;

	return bpf_map_lookup_elem(&sbpf_fs_verdicts, &slot);
}
SBPF_ASSERT(SBPF_FS_VERDICTS == 1 << (64 - 52));

/* Rights of the sandbox that are known without a walk; 0: none are, or it is a block device, which is judged by more.
 */
static __noinline __u32 fs_recall(__u64 cgroup_id, struct dentry *dentry)
{
	struct inode *inode = inode_of(dentry), *directory = inode;
	const volatile struct sbpf_fs_verdict *known;
	__u64 generation;
	__u32 lock, rights;

	if (!sbpf_rename_lock || is_block_device(inode))
		return 0;
	if (!is_directory(inode)) {
		dentry = dentry->d_parent;
		directory = inode_of(dentry);
		if (!directory)
			return 0;
	}
	known = fs_slot(cgroup_id, directory);
	if (!known)
		return 0;
	generation = inode_generation(directory->i_sb->s_magic, directory);
	lock = known->lock;
	rights = known->rights;
	if (!generation || lock & 1 || known->dentry != (__u64)dentry || known->cgroup_id != cgroup_id ||
	    known->epoch != sbpf_gate.epoch || known->inode.ino != directory->i_ino ||
	    known->inode.generation != (__u32)generation || known->inode.dev != directory->i_sb->s_dev)
		return 0;
	if (inode && inode != directory) {
		__u32 bit = sbpf_fs_file_bit(inode->i_ino);

		if ((bit & 64 ? known->fs_files[1] : known->fs_files[0]) >> (bit & 63) & 1)
			return 0;
	}
	if (known->renames != fs_renames() || known->lock != lock)
		return 0;
	return rights;
}

/* What opening or mapping a file in this way needs. */
static __always_inline __u32 fs_open_wants(struct file *file)
{
	__u32 want = 0;

	if (file->f_mode & FMODE_READ)
		want |= SBPF_FS_READ;
	if (file->f_mode & FMODE_WRITE || file->f_flags & O_TRUNC)
		want |= SBPF_FS_WRITE;
	return want ? want : SBPF_FS_READ;
}

/* May this file be opened, by what is known of its directory? Spares the common case the sandbox's record. Whatever
 * else judges an open stands above it: several sandboxes around the task, the canary, and files that drive the kernel,
 * which lie on filesystems of which nothing is remembered. Devices and sbpf's own locks, which lie anywhere, the hook
 * itself excepts. */
static __always_inline int fs_knows_open(__u64 cgroup_id, struct file *file)
{
	__u32 want = fs_open_wants(file);

	if (unlikely(sbpf_gate.other_levels) || unlikely(sbpf_canary.tgid))
		return 0;
	return (fs_recall(cgroup_id, file->f_path.dentry) & want) == want;
}

/* The walk that began at `stamp` found these rights for the dentry's directory and what is in it. */
static __noinline int fs_memorize(const struct sbpf_sandbox *sandbox, struct dentry *dentry, void *policy,
				  const struct fs_stamp *stamp, __u32 rights)
{
	const struct sbpf_policy_header *header = sbpf_header_of(policy);
	struct sbpf_fs_verdict *slot;
	struct inode *directory;
	__u64 generation;
	__u32 lock;

	if (!sbpf_rename_lock || !header || stamp->renames & 1)
		return 0;
	if (!is_directory(inode_of(dentry)))
		dentry = dentry->d_parent;
	directory = inode_of(dentry);
	if (!directory || !inode_keeps_numbers(directory->i_sb->s_magic))
		return 0;
	generation = inode_generation(directory->i_sb->s_magic, directory);
	if (!generation)
		return 0;
	slot = fs_slot(sandbox->cgroup_id, directory);
	if (!slot || fs_renames() != stamp->renames)
		return 0;
	lock = slot->lock;
	if (lock & 1 || __sync_val_compare_and_swap(&slot->lock, lock, lock + 1) != lock)
		return 0;
	slot->rights = rights;
	slot->cgroup_id = sandbox->cgroup_id;
	slot->dentry = (__u64)dentry;
	slot->inode.ino = directory->i_ino;
	slot->inode.dev = directory->i_sb->s_dev;
	slot->inode.generation = (__u32)generation;
	slot->epoch = stamp->epoch;
	slot->renames = stamp->renames;
	slot->fs_files[0] = header->fs_files[0];
	slot->fs_files[1] = header->fs_files[1];
	asm volatile("" ::: "memory");
	*(volatile __u32 *)&slot->lock = lock + 2;
	return 0;
}

#endif
