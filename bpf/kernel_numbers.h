/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers of the kernel that the programs compare with: families, flags, and the magic numbers of filesystems. */
#ifndef SBPF_KERNEL_NUMBERS_H
#define SBPF_KERNEL_NUMBERS_H

enum { AF_UNSPEC = 0, AF_UNIX = 1, AF_INET = 2, AF_INET6 = 10, AF_NETLINK = 16, AF_SMC = 43 };
enum { SOCK_STREAM = 1, SOCK_DGRAM = 2 };

#define PROT_EXEC	  4
#define VM_EXEC		  4
#define VM_SHARED	  8 /* of a file whose descriptor can write: else the kernel takes it away */
#define FMODE_READ	  0x1
#define FMODE_WRITE	  0x2
#define FMODE_EXEC	  0x20 /* in f_flags: opened to be run */
#define FMODE_PATH	  0x4000
#define O_TRUNC		  01000
#define PIDTYPE_PID	  0
#define PIDTYPE_TGID	  1
#define PIDTYPE_SID	  3
#define CLONE_INTO_CGROUP 0x200000000ULL

#define EBUSY 16

#define CGROUP_MAGIC	 0x27e0eb
#define CGROUP2_MAGIC	 0x63677270
#define BPF_FS_MAGIC	 0xcafe4a11
#define SYSFS_MAGIC	 0x62656572
#define SECURITYFS_MAGIC 0x73636673
#define PROC_MAGIC	 0x9fa0
#define ANON_INODE_MAGIC 0x09041934
#define OVERLAYFS_MAGIC	 0x794c7630
#define FUSE_MAGIC	 0x65735546
#define MQUEUE_MAGIC	 0x19800202
#define EXT4_MAGIC	 0xef53
#define XFS_MAGIC	 0x58465342
#define BTRFS_MAGIC	 0x9123683e
#define F2FS_MAGIC	 0xf2f52010
#define TMPFS_MAGIC	 0x01021994
#define RAMFS_MAGIC	 0x858458f6
#define HUGETLBFS_MAGIC	 0x958458f6
#define AUFS_MAGIC	 0x61756673
#define DEVPTS_MAGIC	 0x1cd1
#define SQUASHFS_MAGIC	 0x73717368
#define EROFS_MAGIC	 0xe0f5e1e2

#define SB_NOUSER (1UL << 31) /* cannot be mounted */

#define S_IFMT	 0170000
#define S_IFREG	 0100000
#define S_IFLNK	 0120000
#define S_IFSOCK 0140000
#define S_IFBLK	 0060000
#define S_IFDIR	 0040000
#define S_IFCHR	 0020000

#endif
