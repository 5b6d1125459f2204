/* SPDX-License-Identifier: GPL-2.0-only */
/* Files by which the kernel is driven, which then acts outside of every sandbox: core_pattern, uevent_helper, kprobes,
 * an EFI variable, `abort` of a FUSE mount, a directory that is made in configfs… */
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

#define NET_DEPTH 4 /* of /proc/PID/net/stat/NAME below /proc/PID, and one more */

/* A file below /proc/PID/net shows the networks of that process, and has no owner itself. 0: it has none above either.
 * Global: verified once. */
__weak __noinline __u64 owner_above_proc_file(__u64 entry)
{
	struct dentry *dentry = (struct dentry *)entry, *parent;
	__u64 pid = 0;

	for (int i = 0; i < NET_DEPTH && !pid; i++) {
		parent = BPF_CORE_READ(dentry, d_parent);
		if (parent == dentry)
			break;
		dentry = parent;
		pid = owner_of_proc_file(BPF_CORE_READ(dentry, d_inode));
	}
	return pid;
}

/* A file system that keeps files writes them back (to a disk, a server, a process), or is one of these, which keep them
 * in memory or in other file systems. One that cannot be mounted has no files: pipes and pidfds are opened by way of
 * it. What is left are the kernel's own interfaces, also those that no list of ours knows. */
static __always_inline int keeps_files(unsigned long magic, unsigned long flags, unsigned int capabilities)
{
	switch (magic) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
	case HUGETLBFS_MAGIC:
	case OVERLAYFS_MAGIC:
	case AUFS_MAGIC:
	case MQUEUE_MAGIC:
	case DEVPTS_MAGIC:
		return 1;
	default:
		return flags & SB_NOUSER || capabilities & BDI_CAP_WRITEBACK;
	}
}

/* Those of /proc are the ones that belong to no process. With what the file system says of itself, as it is read in two
 * ways. */
static __always_inline int is_control_of(struct inode *inode, unsigned long magic, unsigned long flags,
					 unsigned int capabilities)
{
	return magic == PROC_MAGIC ? !owner_of_proc_file(inode) : !keeps_files(magic, flags, capabilities);
}

static __always_inline int is_control(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;

	return is_control_of(inode, sb->s_magic, sb->s_flags, sb->s_bdi->capabilities);
}

/* A file that nobody may read is opened for what that does: closing tracefs' free_buffer frees the host's trace. */
static __always_inline int acts_by_opening(struct inode *inode)
{
	return (inode->i_mode & S_IFMT) == S_IFREG && !(inode->i_mode & 0444);
}

/* Of a session's processes, also of those outside. */
static __always_inline int is_autogroup(struct dentry *dentry)
{
	static const char autogroup[16] = "autogroup";
	char name[16] = {};

	bpf_probe_read_kernel_str(name, sizeof(name), dentry->d_name.name);
	return *(__u64 *)name == *(const __u64 *)autogroup && *(__u16 *)(name + 8) == 'p';
}

/* One of sbpf's locks? A lock takes no right to write: whoever could read them could hold up all commands. By their
 * names: to give them others, they would have to be written. */
static __noinline int is_own_lock(const struct dentry *dentry)
{
	static const union {
		char text[24];
		__u64 words[3];
	} locks[] = {{"sbpf.lock"}, {"sbpf-watch.lock"}, {"sbpf-resolver.lock"}, {"sbpf-canaries.lock"}};
	__u32 len = dentry->d_name.len;
	__u64 name[3] = {};

	if (len != 9 && len != 15 && len != 18)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name), dentry->d_name.name);
	for (int i = 0; i < 4; i++)
		if (name[0] == locks[i].words[0] && name[1] == locks[i].words[1] && name[2] == locks[i].words[2])
			return 1;
	return 0;
}

/* May nothing be made, removed or changed there? Pins and cgroup directories are among it, which a sandbox could take
 * away from the agent or from another sandbox. */
static __always_inline int is_guarded(struct dentry *dentry)
{
	struct inode *inode = inode_of(dentry);

	return inode && is_control(inode);
}

#define DESCRIPTORS (1 << 16)

struct descriptor_search {
	__u64 table;
	__u32 count;
	int found;
};

static long look_at_descriptor(__u64 i, struct descriptor_search *search)
{
	struct super_block *sb;
	struct file *file = NULL;
	struct inode *inode;

	if (i >= search->count)
		return 1;
	bpf_probe_read_kernel(&file, sizeof(file), (void *)(search->table + i * sizeof(file)));
	if (!file || !(BPF_CORE_READ(file, f_mode) & FMODE_WRITE))
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	sb = BPF_CORE_READ(inode, i_sb);
	search->found = is_control_of(inode, BPF_CORE_READ(sb, s_magic), BPF_CORE_READ(sb, s_flags),
				      BPF_CORE_READ(sb, s_bdi, capabilities));
	return search->found;
}

/* Has the current task one open for writing? Too many descriptors to tell count as such. Global: verified once. */
__weak __noinline int holds_control_file(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct descriptor_search search = {};

	search.table = (__u64)BPF_CORE_READ(task, files, fdt, fd);
	search.count = BPF_CORE_READ(task, files, fdt, max_fds);
	bpf_loop(DESCRIPTORS, look_at_descriptor, &search, 0);
	return search.found || search.count > DESCRIPTORS;
}

#endif
