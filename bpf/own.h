/* SPDX-License-Identifier: GPL-2.0-only */
/* What is sbpf's own in the kernel (maps, programs, pins, the agent), and who may touch it: the agent outside every
 * sandbox, and while a break-glass window is open everyone there. */
#ifndef SBPF_OWN_H
#define SBPF_OWN_H

#include "inode.h"
#include "gate.h"

#define OWN_PIN_DEPTH 5 /* sbpf/sandboxes/NAME/HOOK */
#define MNT_DETACH    2

/* Before it calls these hooks, the kernel asks for a capability and calls the hook of bpf(2); the canary must get as
 * far as to be denied by them. */
static __always_inline int is_canary_of_bpf_object(void)
{
	return is_canary_task() && (sbpf_canary.hook == SBPF_HOOK_bpf_map || sbpf_canary.hook == SBPF_HOOK_bpf_prog);
}

/* By its name, which a map keeps for life: every map of ours begins so (maps.h), those inside of others too. */
static __always_inline int is_own_map(struct bpf_map *map)
{
	return map->name[0] == 's' && map->name[1] == 'b' && map->name[2] == 'p' && map->name[3] == 'f' &&
	       map->name[4] == '_';
}

/* A program is ours if it uses our maps, which nobody else can open. `address` may be no program: so prog->aux->prog
 * must point back. */
static __noinline int is_own_program(__u64 address)
{
	struct bpf_prog *prog = (struct bpf_prog *)address;
	struct bpf_prog_aux *aux;
	struct bpf_map **maps, *first = NULL;
	char name[8] = {};

	if (!address)
		return 0;
	aux = BPF_CORE_READ(prog, aux);
	if (!aux || BPF_CORE_READ(aux, prog) != prog || !BPF_CORE_READ(aux, used_map_cnt))
		return 0;
	maps = BPF_CORE_READ(aux, used_maps);
	bpf_probe_read_kernel(&first, sizeof(first), maps);
	if (!first)
		return 0;
	bpf_core_read(name, sizeof(name), &first->name);
	return name[0] == 's' && name[1] == 'b' && name[2] == 'p' && name[3] == 'f' && name[4] == '_';
}

/* The file behind a descriptor of the current task, by its address. */
static __noinline __u64 file_of_fd(__u32 fd)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files, *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	files = BPF_CORE_READ(table, fd);
	bpf_probe_read_kernel(&file, sizeof(file), files + fd);
	return (__u64)file;
}

/* What that file keeps: a link, a program, or anything else. */
static __always_inline __u64 behind_fd(__u32 fd)
{
	struct file *file = (struct file *)file_of_fd(fd);

	return file ? (__u64)BPF_CORE_READ(file, private_data) : 0;
}

static __always_inline int is_own_link(__u64 address)
{
	return address && is_own_program((__u64)BPF_CORE_READ((struct bpf_link *)address, prog));
}

/* An executable that loaded the programs or was handed them, whatever the process is called and wherever the file lies
 * now. */
static __noinline int runs_agent(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;
	struct inode_home home;
	struct inode *inode;
	struct file *file;
	__u32 dev;

	if (!mm)
		return 0;
	file = mm->exe_file;
	if (!file)
		return 0;
	inode = file->f_inode;
	if (!inode || !inode->i_ino)
		return 0;
	inode_home(&home, inode->i_sb);
	home.inode = (__u64)inode;
	dev = inode_dev(&home);
#pragma unroll
	for (int i = 0; i < SBPF_AGENTS; i++) {
		struct sbpf_fs_inode *agent = &sbpf_guard.agents[i];

		if (inode->i_ino == agent->ino && inode->i_generation == agent->generation && dev == agent->dev)
			return 1;
	}
	return 0;
}

/* Is everyone kept off, the agent, too? For what it has no business with: whoever starts it says what its output goes
 * to. */
static __always_inline int keep_all_off(int inside)
{
	if (!sbpf_guard.agents[0].ino)
		return 0; /* still being loaded */
	if (!inside && bpf_ktime_get_boot_ns() < sbpf_guard.open_until) {
		__sync_fetch_and_add(&sbpf_guard.let_through, 1);
		return 0;
	}
	__sync_fetch_and_add(&sbpf_guard.refused, 1);
	return 1;
}

/* May the current task not touch what is ours? Whoever traces the agent could make it do anything, so a traced one is
 * none. */
static __noinline int keep_off(int inside)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!inside && !task->ptrace && runs_agent(task))
		return 0;
	return keep_all_off(inside);
}

/* An entry of bpffs that is ours, or a directory of ours; by the inode of sbpf's own directory above. */
static __noinline int is_own_pin(struct dentry *dentry)
{
	if (dentry->d_sb->s_dev != sbpf_guard.pins_dev)
		return 0;
	for (int i = 0; i < OWN_PIN_DEPTH; i++) {
		struct inode *inode = inode_of(dentry);
		struct dentry *parent = dentry->d_parent;

		if (inode && inode->i_ino == sbpf_guard.pins_ino)
			return 1;
		if (parent == dentry)
			return 0;
		dentry = parent;
	}
	return 0;
}

/* The directory of a cgroup that is kept for its sandbox. The number of such a directory is the cgroup's id. */
static __noinline int is_kept_cgroup(struct dentry *dentry)
{
	struct inode *inode = inode_of(dentry);
	const struct sbpf_sandbox *sandbox;
	__u64 id;

	if (!inode || dentry->d_sb->s_magic != CGROUP2_MAGIC)
		return 0;
	id = inode->i_ino;
	sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &id);
	return sandbox && sandbox->flags & SBPF_SANDBOX_KEPT;
}

/* The mount by which the agent sees its pins, or its like in another namespace, from which what is done to it spreads.
 * A namespace of one's own may look as it likes. */
static __noinline int is_pins_mount(struct vfsmount *mnt)
{
	struct mount *mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);

	if ((__u32)BPF_CORE_READ(mount, mnt_id) == sbpf_guard.pins_mount)
		return 1;
	if (BPF_CORE_READ(mount, mnt_mountpoint, d_sb, s_magic) != SYSFS_MAGIC)
		return 0;
	/* Only shared mounts have a group; the flag for it has moved between kernels. */
	return BPF_CORE_READ(mount, mnt_group_id) || BPF_CORE_READ(mount, mnt_parent, mnt_group_id);
}

/* Would a mount here hide pins of ours? */
static __noinline int is_over_pins(struct path *path)
{
	struct dentry *dentry = path->dentry;

	if (dentry->d_sb->s_dev != sbpf_guard.pins_dev)
		return 0;
	return (dentry == dentry->d_sb->s_root || is_own_pin(dentry)) && is_pins_mount(path->mnt);
}

/* Would the pins go with this mount, or the place that it covers? */
static __noinline int is_under_pins(struct vfsmount *mnt, int flags)
{
	struct mount *mount = (void *)mnt - bpf_core_field_offset(struct mount, mnt);

	if (mnt->mnt_sb->s_dev == sbpf_guard.pins_dev)
		return is_pins_mount(mnt);
	return flags & MNT_DETACH && (__u32)BPF_CORE_READ(mount, mnt_id) == sbpf_guard.pins_parent;
}

/* After what a sandbox's policy says: who is outside of all has none, and no mode lets anyone disarm. */
#define KEEP_OFF(inside, touches)                                                                                      \
	do {                                                                                                           \
		if ((touches) && keep_off(inside))                                                                     \
			return -EPERM;                                                                                 \
		if (!(inside))                                                                                         \
			return 0;                                                                                      \
	} while (0)

#endif
