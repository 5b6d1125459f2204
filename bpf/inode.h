/* SPDX-License-Identifier: GPL-2.0-only */
/* What an inode is, and its number in a form that no two inodes share. */
#ifndef SBPF_INODE_H
#define SBPF_INODE_H

#include "kernel_types.h"

/* Btrfs numbers the files of each subvolume anew, and all subvolumes have one superblock: what tells them apart is the
 * device number of the subvolume, which stat(2) reports. From the inode to the subvolume, and to the number there; both by
 * the loader from the module's types. No number: the module came after the programs. */
extern const volatile __s32 sbpf_btrfs_root;
extern const volatile __u32 sbpf_btrfs_dev;

/* From an overlay's inode to its dentry in the upper layer, by the loader, too. 0: the module came after the programs. */
extern const volatile __u32 sbpf_overlay_upper;

/* NULL: nothing of this name exists. The verifier of 6.2 and later takes the inode of a trusted dentry as never NULL, and
 * may remove a comparison with zero, though mkdir and its kin come with none: so with a little more than zero. The
 * compiler must not conclude anything from it, for later kernels want the other comparison too. */
static __always_inline struct inode *inode_of(struct dentry *dentry)
{
	struct inode *inode = dentry->d_inode;

	if ((unsigned long)inode < 4096)
		return NULL;
	asm volatile("" : "+r"(inode));
	return inode;
}

static __always_inline int is_directory(const struct inode *inode)
{
	return inode && (inode->i_mode & S_IFMT) == S_IFDIR;
}

static __always_inline int is_character_device(const struct inode *inode)
{
	return inode && (inode->i_mode & S_IFMT) == S_IFCHR;
}

static __always_inline int is_symlink(const struct inode *inode)
{
	return inode && (inode->i_mode & S_IFMT) == S_IFLNK;
}

/* The raw disk below a filesystem, whose files the rules are about. */
static __always_inline int is_block_device(const struct inode *inode)
{
	return inode && (inode->i_mode & S_IFMT) == S_IFBLK;
}

/* An inode's filesystem, for many inodes of it. */
struct inode_home {
	__u64 magic;
	__u64 inode; /* address of the one that is asked about */
	__u32 dev;
	__u32 pad;
};

static __always_inline void inode_home(struct inode_home *home, const struct super_block *sb)
{
	home->magic = sb->s_magic;
	home->dev = sb->s_dev;
	home->pad = 0;
}

/* With the inode's number and generation: which file of the host it is. 0, which no device has: unknown. Global, so that
 * its branches are verified once and not at each step of a walk; the inode by its address, as such functions take no
 * kernel pointers. */
__weak __noinline __u32 inode_dev(const struct inode_home *home)
{
	__u64 subvolume = 0;
	__u32 dev = 0;

	if (!home)
		return 0;
	if (home->magic != BTRFS_MAGIC)
		return home->dev;
	if (!sbpf_btrfs_dev)
		return 0;
	bpf_probe_read_kernel(&subvolume, sizeof(subvolume), (const void *)(home->inode + sbpf_btrfs_root));
	bpf_probe_read_kernel(&dev, sizeof(dev), (const void *)(subvolume + sbpf_btrfs_dev));
	return dev;
}

#endif
