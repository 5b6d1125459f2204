// SPDX-License-Identifier: GPL-2.0-only
/* Filesystem domain: the hooks that only it needs. file_open, path_unlink, path_rmdir, path_rename, capable and the
 * mount hooks, which it shares, are in guard.bpf.c; file_receive in network_unix.bpf.c.
 *
 * hook                   kernel                            refuses                              does not see
 * path_mkdir, path_mknod, do_mkdirat, do_mknodat,          creating where writing is not        creation by the kernel itself
 * path_symlink,          may_o_create, unix_bind,          allowed; device nodes; a link or     (overlayfs in its layers)
 * path_link              do_symlinkat, do_linkat           symlink over what must stay; all of
 *                                                          it on control files, and among
 *                                                          sbpf's pins to tasks outside, too
 * path_truncate,         do_truncate, ftruncate            changing contents                    writes to an open descriptor
 * file_truncate                                                                                 (file_open judged it)
 * path_chmod, path_chown chmod_common, chown_common        changing metadata
 * inode_setattr          notify_change                     utimes; the above again              no mount: see fs_is_internal
 * inode_setxattr,        vfs_setxattr, vfs_set_acl…        attributes, ACLs                     no mount: see fs_is_internal
 * inode_removexattr, inode_set_acl, inode_remove_acl, inode_file_setattr
 * inode_getxattr,        vfs_getxattr, readlinkat          reading what may not be read         stat, names of attributes
 * inode_readlink
 * file_ioctl, _compat    ioctl                             flags of files; devices that may     ioctls that only read
 *                                                          not be written; TIOCSTI and kin;
 *                                                          subvolumes of btrfs
 * mmap_file              vm_mmap_pgoff, do_shmat, elf_map  mapping what may not be opened so;    mappings made before;
 *                                                          executable: what may not be run      mprotect (exec.bpf.c)
 * sb_pivotroot           pivot_root                        all of it, while there are rules
 */
#include "exec.h"
#include "own.h"

/* On bpffs, cgroup filesystems and the kernel's other interfaces, whatever the policy says: what is made there keeps
 * names or descriptors that are sbpf's to have, or drives the kernel. */
#define REFUSE_GUARDED(name, inside, dentry)                                                                           \
	do {                                                                                                           \
		if ((inside) && is_guarded(dentry))                                                                    \
			LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_##name, 1, SBPF_REASON_GUARD, 0);              \
	} while (0)

SEC("lsm/path_mkdir")
int BPF_PROG(hook_path_mkdir, struct path *dir, struct dentry *dentry)
{
	LSM_GATE_ALL(path_mkdir, sandboxes, inside);
	REFUSE_GUARDED(path_mkdir, inside, dir->dentry);
	KEEP_OFF(inside, is_own_pin(dir->dentry));
	FS_JUDGE(sandboxes, path_mkdir, SBPF_FS_WRITE, dentry, dir->mnt);
}

static __noinline int judge_device(struct sbpf_sandbox *sandbox)
{
	return judge_never(sandbox, SBPF_HOOK_path_mknod, SBPF_REASON_FS_DEVICE);
}

SEC("lsm/path_mknod")
int BPF_PROG(hook_path_mknod, struct path *dir, struct dentry *dentry, unsigned short mode)
{
	int type = mode & S_IFMT;

	LSM_GATE_ALL(path_mknod, sandboxes, inside);
	REFUSE_GUARDED(path_mknod, inside, dir->dentry);
	KEEP_OFF(inside, is_own_pin(dir->dentry));
	if (type == S_IFBLK || type == S_IFCHR)
		LSM_JUDGE(sandboxes, judge_device);
	/* In /proc nothing can be made. An open with O_CREAT comes by here before the kernel knows that the file is
	 * there, and a denial would be told that stopped nothing: of /dev/stderr, a link to /proc/self/fd/2. */
	if (dentry->d_sb->s_magic == PROC_MAGIC)
		return 0;
	FS_JUDGE(sandboxes, path_mknod, SBPF_FS_WRITE, dentry, dir->mnt);
}

/* A symbolic link in place of what a rule's path has would lead the rule elsewhere. */
SEC("lsm/path_symlink")
int BPF_PROG(hook_path_symlink, struct path *dir, struct dentry *dentry)
{
	LSM_GATE_ALL(path_symlink, sandboxes, inside);
	REFUSE_GUARDED(path_symlink, inside, dir->dentry);
	KEEP_OFF(inside, is_own_pin(dir->dentry));
	FS_ASK_LINK(sandboxes, path_symlink, dentry);
	FS_JUDGE(sandboxes, path_symlink, SBPF_FS_WRITE, dentry, dir->mnt);
}

/* No rights may be gained by another name: what is linked must be writable itself. */
SEC("lsm/path_link")
int BPF_PROG(hook_path_link, struct dentry *old_dentry, struct path *new_dir, struct dentry *new_dentry)
{
	LSM_GATE_ALL(path_link, sandboxes, inside);
	REFUSE_GUARDED(path_link, inside, old_dentry);
	/* A link by another name would outlive `sbpf unload`. */
	KEEP_OFF(inside, is_own_pin(old_dentry) || is_own_pin(new_dir->dentry));
	FS_ASK(sandboxes, path_link, SBPF_FS_READ | SBPF_FS_WRITE, old_dentry, new_dir->mnt);
	if (is_symlink(inode_of(old_dentry)))
		FS_ASK_LINK(sandboxes, path_link, new_dentry);
	FS_JUDGE(sandboxes, path_link, SBPF_FS_WRITE | FS_MOVE, new_dentry, new_dir->mnt);
}

SEC("lsm/path_truncate")
int BPF_PROG(hook_path_truncate, struct path *path)
{
	LSM_GATE(path_truncate, sandboxes);
	FS_JUDGE(sandboxes, path_truncate, SBPF_FS_WRITE, path->dentry, path->mnt);
}

SEC("lsm/file_truncate")
int BPF_PROG(hook_file_truncate, struct file *file)
{
	LSM_GATE(file_truncate, sandboxes);
	FS_JUDGE(sandboxes, file_truncate, SBPF_FS_WRITE, file->f_path.dentry, file->f_path.mnt);
}

SEC("lsm/path_chmod")
int BPF_PROG(hook_path_chmod, struct path *path)
{
	LSM_GATE(path_chmod, sandboxes);
	FS_JUDGE(sandboxes, path_chmod, SBPF_FS_WRITE, path->dentry, path->mnt);
}

SEC("lsm/path_chown")
int BPF_PROG(hook_path_chown, struct path *path)
{
	LSM_GATE(path_chown, sandboxes);
	FS_JUDGE(sandboxes, path_chown, SBPF_FS_WRITE, path->dentry, path->mnt);
}

/* Which argument is the dentry differs between kernels. */
const volatile __u32 sbpf_setattr_dentry = 0;

SEC("lsm/inode_setattr")
int hook_inode_setattr(unsigned long long *ctx)
{
	LSM_GATE(inode_setattr, sandboxes);
	if (sbpf_setattr_dentry) {
		struct dentry *second = (struct dentry *)ctx[1];

		REFUSE_GUARDED(inode_setattr, 1, second);
		FS_JUDGE(sandboxes, inode_setattr, SBPF_FS_WRITE, second, NULL);
	} else {
		struct dentry *first = (struct dentry *)ctx[0];

		REFUSE_GUARDED(inode_setattr, 1, first);
		FS_JUDGE(sandboxes, inode_setattr, SBPF_FS_WRITE, first, NULL);
	}
}

SEC("lsm/inode_setxattr")
int BPF_PROG(hook_inode_setxattr, void *idmap, struct dentry *dentry)
{
	LSM_GATE(inode_setxattr, sandboxes);
	REFUSE_GUARDED(inode_setxattr, 1, dentry);
	FS_JUDGE(sandboxes, inode_setxattr, SBPF_FS_WRITE, dentry, NULL);
}

SEC("lsm/inode_removexattr")
int BPF_PROG(hook_inode_removexattr, void *idmap, struct dentry *dentry)
{
	LSM_GATE(inode_removexattr, sandboxes);
	REFUSE_GUARDED(inode_removexattr, 1, dentry);
	FS_JUDGE(sandboxes, inode_removexattr, SBPF_FS_WRITE, dentry, NULL);
}

/* Contents that are read without opening the file. */
SEC("lsm/inode_getxattr")
int BPF_PROG(hook_inode_getxattr, struct dentry *dentry)
{
	LSM_GATE(inode_getxattr, sandboxes);
	FS_JUDGE(sandboxes, inode_getxattr, SBPF_FS_READ, dentry, NULL);
}

SEC("lsm/inode_readlink")
int BPF_PROG(hook_inode_readlink, struct dentry *dentry)
{
	LSM_GATE(inode_readlink, sandboxes);
	FS_JUDGE(sandboxes, inode_readlink, SBPF_FS_READ, dentry, NULL);
}

SEC("lsm/inode_set_acl")
int BPF_PROG(hook_inode_set_acl, void *idmap, struct dentry *dentry)
{
	LSM_GATE(inode_set_acl, sandboxes);
	FS_JUDGE(sandboxes, inode_set_acl, SBPF_FS_WRITE, dentry, NULL);
}

SEC("lsm/inode_remove_acl")
int BPF_PROG(hook_inode_remove_acl, void *idmap, struct dentry *dentry)
{
	LSM_GATE(inode_remove_acl, sandboxes);
	FS_JUDGE(sandboxes, inode_remove_acl, SBPF_FS_WRITE, dentry, NULL);
}

SEC("lsm/inode_file_setattr")
int BPF_PROG(hook_inode_file_setattr, struct dentry *dentry)
{
	LSM_GATE(inode_file_setattr, sandboxes);
	FS_JUDGE(sandboxes, inode_file_setattr, SBPF_FS_WRITE, dentry, NULL);
}

/* Who gets a descriptor's signals: as fcntl's F_SETOWN and O_ASYNC (process.bpf.c), but the number is in memory that
 * another thread could change. */
#define FIOSETOWN 0x8901
#define SIOCSPGRP 0x8902
#define FIOASYNC  0x5452

#define IOC_WRITE	      1u
#define IOC_DIRECTION(cmd)    ((cmd) >> 30)
#define IOC_TYPE(cmd)	      ((cmd) >> 8 & 0xff)
#define FS_IOC_FIEMAP	      0xc020660bu
#define FS_IOC_MEASURE_VERITY 0xc0046686u
#define BTRFS_IOCTL_MAGIC     0x94u

enum {
	TIOCSTI = 0x5412, /* types into the terminal, for the operator's shell to read */
	TIOCLINUX = 0x541c,
	TIOCCONS = 0x541d,
	TIOCSETD = 0x5423
};

/* Gives a file the generation of another one, by which a rule knows it: _IOW('v', 2, …), and ext4's own _IOW('f', 4,
 * …), of any size. */
static __always_inline int is_generation_ioctl(__u32 cmd)
{
	__u32 kind = cmd & 0xffff;

	return IOC_DIRECTION(cmd) & IOC_WRITE && (kind == ('v' << 8 | 2) || kind == ('f' << 8 | 4));
}

/* Makes or removes a whole tree of btrfs in one call: a snapshot has every file of a subvolume, those that a rule
 * denies too, in another place; and what is removed may hold places that must stay. */
static __always_inline int is_subvolume_ioctl(__u32 cmd)
{
	switch (cmd & 0xff) {
	case 1:	 /* SNAP_CREATE */
	case 14: /* SUBVOL_CREATE */
	case 15: /* SNAP_DESTROY */
	case 23: /* SNAP_CREATE_V2 */
	case 24: /* SUBVOL_CREATE_V2 */
	case 63: /* SNAP_DESTROY_V2 */
		return IOC_TYPE(cmd) == BTRFS_IOCTL_MAGIC;
	}
	return 0;
}

/* What an ioctl needs: 0 nothing, FS_MOVE that no rule allows it. Settings of files are written with a descriptor that
 * was opened for reading; devices do what they do. */
static __always_inline __u32 ioctl_wants(unsigned short mode, __u32 cmd)
{
	int type = mode & S_IFMT;

	if (type == S_IFREG || type == S_IFDIR) {
		if (is_subvolume_ioctl(cmd))
			return FS_MOVE;
		if (!(IOC_DIRECTION(cmd) & IOC_WRITE) || cmd == FS_IOC_FIEMAP || cmd == FS_IOC_MEASURE_VERITY)
			return 0;
		return SBPF_FS_WRITE;
	}
	if (type == S_IFCHR && IOC_TYPE(cmd) == 'T') {
		if (cmd == TIOCSTI || cmd == TIOCLINUX || cmd == TIOCCONS || cmd == TIOCSETD)
			return FS_MOVE;
		return 0; /* sizes and modes of a terminal that it was given or may open */
	}
	if (type == S_IFCHR || type == S_IFBLK)
		return SBPF_FS_WRITE;
	return 0;
}

#define IOCTL_HOOK(name)                                                                                               \
	static __noinline int judge_##name(struct sbpf_sandbox *sandbox)                                               \
	{                                                                                                              \
		return judge_never(sandbox, SBPF_HOOK_##name, SBPF_REASON_FS_DEVICE);                                  \
	}                                                                                                              \
                                                                                                                       \
	SEC("lsm/" #name)                                                                                              \
	int BPF_PROG(hook_##name, struct file *file, unsigned int cmd)                                                 \
	{                                                                                                              \
		__u32 want;                                                                                            \
                                                                                                                       \
		LSM_GATE(name, sandboxes);                                                                             \
		if (cmd == FIOSETOWN || cmd == SIOCSPGRP || (cmd == FIOASYNC && is_character_device(file->f_inode)) || \
		    (is_generation_ioctl(cmd) && !is_character_device(file->f_inode)))                                 \
			LSM_JUDGE(sandboxes, judge_flag, SBPF_HOOK_##name, 1, SBPF_REASON_GUARD, cmd);                 \
		want = ioctl_wants(file->f_inode->i_mode, cmd);                                                        \
		if (want == FS_MOVE)                                                                                   \
			LSM_JUDGE(sandboxes, judge_##name);                                                            \
		if (!want && !is_canary(SBPF_HOOK_##name))                                                             \
			return 0;                                                                                      \
		FS_JUDGE(sandboxes, name, want, file->f_path.dentry, file->f_path.mnt);                                \
	}

IOCTL_HOOK(file_ioctl)
IOCTL_HOOK(file_ioctl_compat)

#define MAP_TYPE    0xf
#define MAP_PRIVATE 2

SEC("lsm/mmap_file")
int BPF_PROG(hook_mmap_file, struct file *file, unsigned long reqprot, unsigned long prot, unsigned long flags)
{
	__u32 want = SBPF_FS_READ;

	if (!file) /* anonymous */
		return 0;
	LSM_GATE(mmap_file, sandboxes);
	if ((flags & MAP_TYPE) != MAP_PRIVATE && file->f_mode & FMODE_WRITE)
		want |= SBPF_FS_WRITE; /* mprotect could make it writable later */
	FS_ASK(sandboxes, mmap_file, want, file->f_path.dentry, file->f_path.mnt);
	/* `prot` has what the kernel adds for programs for which reading is executing. */
	if ((reqprot | prot) & PROT_EXEC)
		EXEC_ASK(sandboxes, mmap_file, file);
	return 0;
}

static __noinline int judge_sb_pivotroot(struct sbpf_sandbox *sandbox)
{
	return judge_never(sandbox, SBPF_HOOK_sb_pivotroot, SBPF_REASON_FS_MOUNT);
}

SEC("lsm/sb_pivotroot")
int BPF_PROG(hook_sb_pivotroot)
{
	LSM_GATE(sb_pivotroot, sandboxes);
	LSM_JUDGE(sandboxes, judge_sb_pivotroot);
}
