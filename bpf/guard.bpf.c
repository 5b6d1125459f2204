// SPDX-License-Identifier: GPL-2.0-only
/* Guard domain: a task stays in its sandbox, and sbpf's own programs, maps, links and pins stay out of its reach.
 *
 * hook                 kernel                            refuses                               does not see
 * task_alloc           copy_process                      clone3(CLONE_INTO_CGROUP)
 * file_open            do_dentry_open                    writing: cgroupfs, /proc/sys, sysfs,  files opened before joining
 *                                                        tracefs and other files that drive    (`run` closes them, `attach` looks);
 *                                                        the kernel; all of /proc/PID of a     that a process is there, and whose
 *                                                        process outside, writing of a canary; (readdir, stat);
 *                                                        devices that are a network, or the    terminals of no session
 *                                                        whole machine's; pseudo-terminals of
 *                                                        sessions outside
 * path_unlink, _rmdir, do_unlinkat, do_rmdir,            bpffs entries, cgroup directories,    -
 * path_rename          do_renameat2                      names in other control file systems
 * sb_mount, move_mount path_mount, do_move_mount,        mounts over and unmounts of bpffs,    mounts elsewhere
 * sb_umount            do_umount                         cgroupfs, sysfs, securityfs; MS_MOVE
 * task_kill            check_kill_permission             signals to tasks outside              the kernel's own signals (tty)
 * ptrace_access_check  ptrace_may_access                 ptrace, /proc/P/mem, process_vm_*,    -
 *                                                        pidfd_getfd, kcmp, move_pages, links
 *                                                        in /proc/P, setns of tasks outside
 * ptrace_traceme       ptrace_traceme                    a parent outside as tracer            -
 *
 * The canary of a verification is inside, and counts as outside in task_kill, ptrace_access_check, and the hooks of
 * process.bpf.c for what changes another task (canary.h, is_canary_of_others).
 *
 * The rest of what concerns tasks outside is in process.bpf.c. Of these here, path_unlink, _rmdir, _rename, sb_mount,
 * move_mount, sb_umount and ptrace_access_check also keep tasks outside of every sandbox off what is sbpf's own
 * (own.h); more in own.bpf.c. path_rmdir keeps them off the directory of a cgroup that is kept, too. A service
 * manager's child that sets a unit up in such a cgroup counts as outside for all of these (launch.h).
 */
#include "control.h"
#include "device.h"
#include "fs_judge.h"
#include "moved.h"
#include "own.h"
#include "process_files.h"
#include "terminal.h"

/* Guards have no allowing policy: dangerously_allow_all opens the network, not the way out. */
static __noinline int refuse_guard(struct sbpf_sandbox *sandbox, __u32 hook, __u32 reason, __u32 target_pid,
				   __u32 detail)
{
	struct denial d = {.hook = hook, .domain = SBPF_DOMAIN_GUARD, .reason = reason};

	d.task.target_pid = target_pid;
	d.task.detail = detail;
	return refuse(sandbox, &d);
}

static __always_inline int canary_or(struct sbpf_sandbox *sandbox, __u32 hook, int denied, __u32 reason, __u32 target,
				     __u32 detail)
{
	if (is_canary(hook))
		return refuse_guard(sandbox, hook, SBPF_REASON_CANARY, 0, 0);
	if (!denied)
		return 0;
	return refuse_guard(sandbox, hook, reason, target, detail);
}

static __noinline int judge_flag(struct sbpf_sandbox *sandbox, __u32 hook, int denied, __u32 reason, __u32 detail)
{
	return canary_or(sandbox, hook, denied, reason, 0, detail);
}

SEC("lsm/task_alloc")
int BPF_PROG(hook_task_alloc, struct task_struct *task, unsigned long clone_flags)
{
	LSM_GATE_ALL(task_alloc, sandboxes, inside);
	if (!inside) {
		label_launched(task, !!(clone_flags & CLONE_INTO_CGROUP));
		/* Last: a child of one that was moved out is that before anything else. */
		if (unlikely(sbpf_guard.tasks_escaped))
			label_child_of_moved(task);
		return 0;
	}
	LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_task_alloc, !!(clone_flags & CLONE_INTO_CGROUP),
		SBPF_REASON_LEAVE_CGROUP, 0);
	/* A task without a label could be moved out unnoticed: so fork fails. */
	if (!label_task(task, sandboxes.inner->cgroup_id))
		return -EPERM;
	return 0;
}

static __noinline int judge_open(struct sbpf_sandbox *sandbox, struct file *file)
{
	struct inode *inode = file->f_inode;
	unsigned long magic = inode->i_sb->s_magic;
	int writes = !!(file->f_mode & FMODE_WRITE);
	__u32 reason = refusal_of_device(sandbox, inode, writes), target = 0, device = 0;

	if (reason != SBPF_REASON_NONE) {
		device = inode->i_rdev;
	} else if (is_device(inode) && is_pseudo_terminal(inode->i_rdev >> SBPF_MINOR_BITS) &&
		   is_terminal_of_others(sandbox, file)) {
		reason = SBPF_REASON_TERMINAL;
		device = inode->i_rdev;
	} else if (is_own_lock(file->f_path.dentry)) {
		reason = SBPF_REASON_GUARD;
		device = SBPF_DETAIL_OWN_LOCK;
	} else if (magic == PROC_MAGIC) {
		__u64 pid = owner_of_proc_file(inode);

		if (writes && (!pid || is_autogroup(file->f_path.dentry)))
			reason = SBPF_REASON_GUARD;
		else if (!pid)
			pid = owner_above_proc_file((__u64)BPF_CORE_READ(file, f_path.dentry));
		if (reason == SBPF_REASON_NONE && pid && !is_autogroup(file->f_path.dentry) &&
		    is_file_of_others(sandbox, pid, writes, &target))
			reason = SBPF_REASON_GUARD;
	} else if (writes || acts_by_opening(inode)) {
		if (is_cgroupfs(magic))
			reason = SBPF_REASON_LEAVE_CGROUP;
		else if (is_control(inode))
			reason = SBPF_REASON_GUARD;
	}
	return canary_or(sandbox, SBPF_HOOK_file_open, reason != SBPF_REASON_NONE, reason, target, device);
}

SEC("lsm/file_open")
int BPF_PROG(hook_file_open, struct file *file)
{
	__u64 own_id;
	int below_root = is_below_root(&own_id);

	if (!below_root && !sbpf_gate.other_levels)
		return 0;
	if (below_root && fs_knows_open(own_id, file) && !is_device(file->f_inode) && !is_own_lock(file->f_path.dentry))
		return 0;
	LSM_GATE_OF(file_open, sandboxes, below_root, own_id);
	LSM_ASK(EPERM, sandboxes, judge_open, file);
	FS_JUDGE(sandboxes, file_open, fs_open_wants(file) | (file->f_flags & FMODE_EXEC ? SBPF_FS_EXEC : 0),
		 file->f_path.dentry, file->f_path.mnt);
}

/* An entry goes only from a directory that may be written: a rule that lets a file or device be written does not let it
 * be removed. */

SEC("lsm/path_unlink")
int BPF_PROG(hook_path_unlink, struct path *dir, struct dentry *dentry)
{
	LSM_GATE_ALL(path_unlink, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_path_unlink, is_guarded(dir->dentry), SBPF_REASON_GUARD,
			0);
	KEEP_OFF(inside, is_own_pin(dentry));
	FS_ASK(sandboxes, path_unlink, SBPF_FS_WRITE, dir->dentry, dir->mnt);
	FS_JUDGE(sandboxes, path_unlink, SBPF_FS_WRITE | FS_MOVE, dentry, dir->mnt);
}

#define RENAME_EXCHANGE 2

enum talk_at {
	TALKS = 1, /* the sandbox may talk to a socket of the outside here, by a rule */
	LEADS = 2, /* and there, beneath */
};

static __noinline int talk_at(void *policy, struct dentry *dentry)
{
	struct fs_place place;

	fs_find(policy, dentry, &place);
	if (!place.covered)
		return 0;
	return (place.rights & SBPF_FS_TALK ? TALKS : 0) | (place.flags & SBPF_FS_LEADS ? LEADS : 0);
}

/* Apart from what needs it, for the stack. */
static __noinline int has_socket_rules(const struct sbpf_sandbox *sandbox)
{
	const struct sbpf_policy_header *header = sandbox_header(sandbox);

	return header && header->flags & SBPF_POLICY_UNIX;
}

/* Would a rename bring a socket, or a directory with sockets, to where a rule opens what lies there? What leads there
 * stays: the rule's names would be looked up in what comes in its place, now or later. */
static __noinline int opens_sockets(struct sbpf_sandbox *sandbox, struct dentry *from, struct dentry *to)
{
	struct inode *inode = inode_of(from);
	int type = inode ? inode->i_mode & S_IFMT : 0, here, there;
	void *policy;

	if ((type != S_IFSOCK && type != S_IFDIR) || !has_socket_rules(sandbox))
		return 0;
	policy = sandbox_policy(sandbox);
	if (!policy)
		return 1;
	here = talk_at(policy, from);
	there = talk_at(policy, to);
	return (here | there) & LEADS || (there & TALKS && !(here & TALKS));
}

static __always_inline int judge_socket_move(struct sbpf_sandbox *sandbox, struct dentry *from, struct dentry *to)
{
	return opens_sockets(sandbox, from, to) &&
	       judge_flag(sandbox, SBPF_HOOK_path_rename, 1, SBPF_REASON_UNIX_PEER, 0);
}

SEC("lsm/path_rename")
int BPF_PROG(hook_path_rename, struct path *old_dir, struct dentry *old_dentry, struct path *new_dir,
	     struct dentry *new_dentry, unsigned int flags)
{
	struct fs_ask ask;

	LSM_GATE_ALL(path_rename, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_path_rename, is_guarded(old_dir->dentry),
			SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, is_own_pin(old_dentry) || is_own_pin(new_dentry));
	LSM_ASK(EPERM, sandboxes, judge_socket_move, old_dentry, new_dentry);
	if (flags & RENAME_EXCHANGE)
		LSM_ASK(EPERM, sandboxes, judge_socket_move, new_dentry, old_dentry);
	/* Both ways, as in an exchange: the new name is left too, or comes to lead elsewhere. */
	FS_ASK_WITH(ask, sandboxes, path_rename, SBPF_FS_WRITE, old_dir->dentry, old_dir->mnt);
	if (is_symlink(inode_of(old_dentry)))
		FS_ASK_BY(judge_link, ask, sandboxes, path_rename, SBPF_FS_WRITE, new_dentry, NULL);
	if (flags & RENAME_EXCHANGE && is_symlink(inode_of(new_dentry)))
		FS_ASK_BY(judge_link, ask, sandboxes, path_rename, SBPF_FS_WRITE, old_dentry, NULL);
	FS_ASK_WITH(ask, sandboxes, path_rename, SBPF_FS_READ | SBPF_FS_WRITE | FS_MOVE, old_dentry, old_dir->mnt);
	FS_ASK_WITH(ask, sandboxes, path_rename, SBPF_FS_READ | SBPF_FS_WRITE | FS_MOVE, new_dentry, new_dir->mnt);
	return 0;
}

SEC("lsm/path_rmdir")
int BPF_PROG(hook_path_rmdir, struct path *dir, struct dentry *dentry)
{
	LSM_GATE_ALL(path_rmdir, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_path_rmdir, is_guarded(dir->dentry), SBPF_REASON_GUARD,
			0);
	/* As the kernel says it of a cgroup in use: service managers and runtimes are used to that, and go on. */
	if (is_kept_cgroup(dentry) && keep_off(inside))
		return -EBUSY;
	KEEP_OFF(inside, is_own_pin(dentry));
	FS_ASK(sandboxes, path_rmdir, SBPF_FS_WRITE, dir->dentry, dir->mnt);
	FS_JUDGE(sandboxes, path_rmdir, SBPF_FS_WRITE | FS_MOVE, dentry, dir->mnt);
}

static __always_inline int is_guarded_mount(unsigned long magic)
{
	return magic == BPF_FS_MAGIC || is_cgroupfs(magic) || magic == SYSFS_MAGIC || magic == SECURITYFS_MAGIC;
}

#define MS_MOVE 8192
/* Changes of a mount that is there: remount, and how it propagates. */
#define MS_NO_NEW_MOUNT (32 | 1 << 17 | 1 << 18 | 1 << 19 | 1 << 20)

SEC("lsm/sb_mount")
int BPF_PROG(hook_sb_mount, const char *dev_name, struct path *path, const char *type, unsigned long flags)
{
	int denied;

	LSM_GATE_ALL(sb_mount, sandboxes, inside);
	/* The old mount(2) names what it moves by a string that no hook resolves: refused whole. */
	denied = flags & MS_MOVE || is_guarded_mount(path->dentry->d_sb->s_magic);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_sb_mount, denied, SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, !(flags & MS_NO_NEW_MOUNT) && is_over_pins(path));
	LSM_JUDGE(sandboxes, judge_never, SBPF_HOOK_sb_mount, SBPF_REASON_FS_MOUNT);
}

SEC("lsm/move_mount")
int BPF_PROG(hook_move_mount, struct path *from_path, struct path *to_path)
{
	int denied;

	LSM_GATE_ALL(move_mount, sandboxes, inside);
	denied = is_guarded_mount(from_path->dentry->d_sb->s_magic) || is_guarded_mount(to_path->dentry->d_sb->s_magic);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_move_mount, denied, SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, is_under_pins(from_path->mnt, 0) || is_over_pins(to_path));
	LSM_JUDGE(sandboxes, judge_never, SBPF_HOOK_move_mount, SBPF_REASON_FS_MOUNT);
}

SEC("lsm/sb_umount")
int BPF_PROG(hook_sb_umount, struct vfsmount *mnt, int flags)
{
	LSM_GATE_ALL(sb_umount, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_flag, SBPF_HOOK_sb_umount, is_guarded_mount(mnt->mnt_sb->s_magic),
			SBPF_REASON_GUARD, 0);
	KEEP_OFF(inside, is_under_pins(mnt, flags));
	LSM_JUDGE(sandboxes, judge_never, SBPF_HOOK_sb_umount, SBPF_REASON_FS_MOUNT);
}

static __noinline int judge_task(struct sbpf_sandbox *sandbox, __u32 hook, struct task_struct *target, __u32 detail,
				 int quiet)
{
	struct denial d = {.hook = hook, .domain = SBPF_DOMAIN_GUARD, .reason = SBPF_REASON_GUARD, .quiet = quiet};

	d.task.target_pid = target->tgid;
	d.task.detail = detail;
	if (is_canary(hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	if (task_in_sandbox(target, sandbox) && !is_canary_of_others((__u64)target) &&
	    !is_manager_of((__u64)target, sandbox))
		return 0;
	return refuse(sandbox, &d);
}

SEC("lsm/task_kill")
int BPF_PROG(hook_task_kill, struct task_struct *target, void *info, int sig)
{
	LSM_GATE(task_kill, sandboxes);
	LSM_JUDGE(sandboxes, judge_task, SBPF_HOOK_task_kill, target, sig, 0);
}

enum { PTRACE_MODE_ATTACH = 0x02, PTRACE_MODE_NOAUDIT = 0x04, PTRACE_MODE_FSCREDS = 0x08 };

/* The procfs of a sandbox that `run` made asks for each task that it hides, whenever its root is listed. */
static __noinline int judge_trace(struct sbpf_sandbox *sandbox, struct task_struct *target, __u32 mode)
{
	int hides =
	    !(sandbox->flags & SBPF_SANDBOX_ATTACHED) && mode & PTRACE_MODE_FSCREDS && !(mode & PTRACE_MODE_ATTACH);

	return judge_task(sandbox, SBPF_HOOK_ptrace_access_check, target, mode, hides || mode & PTRACE_MODE_NOAUDIT);
}

SEC("lsm/ptrace_access_check")
int BPF_PROG(hook_ptrace_access_check, struct task_struct *child, unsigned int mode)
{
	LSM_GATE_ALL(ptrace_access_check, sandboxes, inside);
	if (inside)
		LSM_ASK(EPERM, sandboxes, judge_trace, child, mode);
	/* To look at it is free; to reach into it is to be it. */
	KEEP_OFF(inside, mode & PTRACE_MODE_ATTACH && runs_agent(child));
	return 0;
}

SEC("lsm/ptrace_traceme")
int BPF_PROG(hook_ptrace_traceme, struct task_struct *parent)
{
	LSM_GATE(ptrace_traceme, sandboxes);
	LSM_JUDGE(sandboxes, judge_task, SBPF_HOOK_ptrace_traceme, parent, 0, 0);
}
