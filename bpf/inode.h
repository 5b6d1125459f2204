/* SPDX-License-Identifier: GPL-2.0-only */
/* What an inode is, and its number in a form that no two inodes share. */
#ifndef SBPF_INODE_H
#define SBPF_INODE_H

#include "kernel_types.h"

/* Btrfs numbers the files of each subvolume anew, and all subvolumes have one superblock: what tells them apart is the
 * device number of the subvolume, which stat(2) reports. From the inode to the subvolume, and to the number there; both
 * by the loader from the module's types. No number: the module came after the programs. */
extern const volatile __s32 sbpf_btrfs_root;
extern const volatile __u32 sbpf_btrfs_dev;

/* From an overlay's inode to its dentry in the upper layer, by the loader, too. 0: the module came after the programs.
 */
extern const volatile __u32 sbpf_overlay_upper;

/* From a FUSE inode to the number by which its server knows it. 0, as above. */
extern const volatile __u32 sbpf_fuse_nodeid;

/* NULL: nothing of this name exists. The verifier of 6.2 and later takes the inode of a trusted dentry as never NULL,
 * and may delete a comparison with 0, although mkdir and others pass no inode. So this compares with 4096, below which
 * no pointer lies. The compiler must not conclude anything from it, because later kernels want the other comparison
 * too. */
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

/* With the inode's number and generation: which file of the host it is. 0, which no device has: unknown. Global, so
 * that its branches are verified once and not at each step of a walk; the inode by its address, as such functions take
 * no kernel pointers. */
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

/* Does no other directory of this filesystem get a number and generation that one had before? (Of btrfs' subvolumes
 * they do, and ramfs has no generations.) Global: verified once. */
__weak __noinline int inode_keeps_numbers(__u64 magic)
{
	switch (magic) {
	case EXT4_MAGIC:
	case XFS_MAGIC:
	case F2FS_MAGIC:
	case TMPFS_MAGIC:
	case OVERLAYFS_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_MAGIC:
		return 1;
	}
	return 0;
}

#define INODE_GENERATION_KNOWN (1ull << 32)

/* Are files of this filesystem not told by their numbers? overlayfs gives them those of the layers, which can be equal,
 * and a server of FUSE whatever it likes, mostly those of what it serves. */
static __always_inline int inode_borrows_numbers(__u64 magic)
{
	return magic == OVERLAYFS_MAGIC || magic == FUSE_MAGIC;
}

/* overlayfs numbers a directory as its upper layer does, which gives a number again, and leaves the generation at 0: so
 * it is that of the directory in the upper layer. What is in a lower layer, too, has the number from there, and keeps
 * both when it is copied up. `address`: of the inode. Global, as inode_dev(). */
__weak __noinline __u64 inode_overlay_generation(const __u64 *address)
{
	const struct dentry *upper = NULL;
	const struct inode *overlay, *inode;

	if (!address || !sbpf_overlay_upper)
		return 0;
	overlay = (const void *)*address;
	bpf_probe_read_kernel(&upper, sizeof(upper), (const void *)overlay + sbpf_overlay_upper);
	if (!upper)
		return INODE_GENERATION_KNOWN;
	inode = BPF_CORE_READ(upper, d_inode);
	if (BPF_CORE_READ(inode, i_ino) != BPF_CORE_READ(overlay, i_ino))
		return INODE_GENERATION_KNOWN;
	if (!inode_keeps_numbers(BPF_CORE_READ(inode, i_sb, s_magic)))
		return 0;
	return INODE_GENERATION_KNOWN | BPF_CORE_READ(inode, i_generation);
}

/* `address`: of the inode. Global, as inode_dev(). */
__weak __noinline __u64 inode_fuse_nodeid(const __u64 *address)
{
	__u64 nodeid = 0;

	if (address)
		bpf_probe_read_kernel(&nodeid, sizeof(nodeid), (const void *)(*address + sbpf_fuse_nodeid));
	return nodeid;
}

/* A server of FUSE gives directories the numbers that it likes, mostly those of what it serves, and may change them.
 * What the kernel asks it by is a directory's own: another one when it was removed and made anew, and also when the
 * kernel forgot it. */
static __always_inline __u64 inode_number(__u64 magic, const struct inode *inode)
{
	if (magic == FUSE_MAGIC && sbpf_fuse_nodeid) {
		__u64 address = (__u64)inode;

		return inode_fuse_nodeid(&address);
	}
	return inode->i_ino;
}

/* The inode's generation and INODE_GENERATION_KNOWN; 0: it does not tell the inode from others that had its number.
 * `magic`: of its filesystem. */
static __always_inline __u64 inode_generation(__u64 magic, const struct inode *inode)
{
	if (magic == OVERLAYFS_MAGIC && is_directory(inode)) {
		__u64 address = (__u64)inode;

		return inode_overlay_generation(&address);
	}
	return INODE_GENERATION_KNOWN | inode->i_generation;
}

#endif
