/* SPDX-License-Identifier: GPL-2.0-only */
/* Files by which the kernel is driven, which then acts outside of every sandbox: core_pattern, uevent_helper, kprobes, an EFI
 * variable, `abort` of a FUSE mount, a directory that is made in configfs… */
#ifndef SBPF_CONTROL_H
#define SBPF_CONTROL_H

#include "inode.h"

#define BDI_CAP_WRITEBACK 1

static __always_inline int is_cgroupfs(unsigned long magic)
{
	return magic == CGROUP2_MAGIC || magic == CGROUP_MAGIC;
}

/* Address of the `struct pid` that a file of /proc belongs to; 0: it belongs to no process. */
static __always_inline __u64 owner_of_proc_file(struct inode *inode)
{
	const void *proc = (const void *)inode - bpf_core_field_offset(struct proc_inode, vfs_inode);
	__u64 pid = 0;

	bpf_probe_read_kernel(&pid, sizeof(pid), proc + bpf_core_field_offset(struct proc_inode, pid));
	return pid;
}

/* A file system that keeps files writes them back (to a disk, a server, a process), or is one of these, which keep them in memory
 * or in other file systems. One that cannot be mounted has no files: pipes and pidfds are opened by way of it. What is left are
 * the kernel's own interfaces, also those that no list of ours knows. */
static __always_inline int keeps_files(struct super_block *sb)
{
	switch (sb->s_magic) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case OVERLAYFS_MAGIC:
	case AUFS_MAGIC:
	case MQUEUE_MAGIC:
	case DEVPTS_MAGIC:
		return 1;
	default:
		return sb->s_flags & SB_NOUSER || sb->s_bdi->capabilities & BDI_CAP_WRITEBACK;
	}
}

/* Those of /proc are the ones that belong to no process. */
static __always_inline int is_control(struct inode *inode)
{
	if (inode->i_sb->s_magic == PROC_MAGIC)
		return !owner_of_proc_file(inode);
	return !keeps_files(inode->i_sb);
}

/* May nothing be made, removed or changed there? Pins and cgroup directories are among it, which a sandbox could take away from
 * the agent or from another sandbox. */
static __always_inline int is_guarded(struct dentry *dentry)
{
	struct inode *inode = inode_of(dentry);

	return inode && is_control(inode);
}

#endif
