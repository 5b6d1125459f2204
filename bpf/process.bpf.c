// SPDX-License-Identifier: GPL-2.0-only
/* Process domain: interfaces of the kernel beyond what programs need, capabilities over the host, and what reaches
 * tasks outside other than by signal and trace (guard.bpf.c).
 *
 * hook                     kernel                          refuses                              does not see
 * capable                  callers of security_capable     capabilities over the host that      what asks cap_capable directly (mmap's
 *                                                          the policy does not keep             reserve); capabilities over a child
 *                                                          (capabilities.h); NET_ADMIN and      user namespace (harmless there)
 *                                                          NET_RAW over any namespace
 * userns_create            create_user_ns                  new user namespaces                  ones that were there before
 * perf_event_open          perf_event_open                 perf events                          descriptors opened before
 * key_alloc                key_alloc                       new keys and keyrings                the kernel's own, for a filesystem
 * key_permission           key_task_permission             any use of a key that is there       a key already mapped or in use (dm-crypt)
 * kernel_module_request    __request_module                the kernel's loading of a module     modules that are there
 * inode_init_security_anon anon_inode_make_secure_inode    userfaultfd; io_uring where the      rings made before; any other anonymous
 *                                                          policy denies it                     inode
 * uring_override_creds     io_init_req                     personalities of io_uring            -
 * task_setnice, _setioprio, set_one_prio, set_task_ioprio, changes to tasks outside             reading the same
 * _setscheduler,           sched_setscheduler and kin,
 * _setrlimit               do_prlimit
 * file_fcntl               fcntl                           F_SETOWN but to oneself,             F_SETOWN and O_ASYNC before joining; the
 *                                                          F_SETOWN_EX; O_ASYNC of terminals;   terminal's foreground group; locks (flock,
 *                                                          leases of what may not be written    F_SETLK)
 */
#include "fs_judge.h"
#include "own.h"

#define CAP_OPT_NOAUDIT 2

/* The mount hooks and these come after a capability, which Yama and Debian's unprivileged_userns_clone ask for too; the
 * canary must get as far as to be denied by them. */
static __always_inline int is_canary_behind_capable(void)
{
	__u32 hook = sbpf_canary.hook;

	if (is_canary_of_bpf_object())
		return 1;
	return is_canary_task() && (hook == SBPF_HOOK_move_mount || hook == SBPF_HOOK_sb_umount ||
				    hook == SBPF_HOOK_sb_pivotroot || hook == SBPF_HOOK_perf_event_open ||
				    hook == SBPF_HOOK_kernel_module_request || hook == SBPF_HOOK_ptrace_access_check ||
				    hook == SBPF_HOOK_ptrace_traceme || hook == SBPF_HOOK_userns_create);
}

/* Filesystems ask for these of the credentials that overlayfs lent to the task. */
static __always_inline int is_asked_for_kernel(__u32 cap)
{
	return (cap == SBPF_CAP_SYS_ADMIN || cap == SBPF_CAP_SYS_RESOURCE || cap == SBPF_CAP_DAC_READ_SEARCH) &&
	       fs_acts_for_kernel();
}

/* Is it open to the sandbox? SYS_ADMIN mounts what would move what filesystem rules name, in a user namespace of one's
 * own as well: with such rules it is never. A network namespace of one's own may be connected to others: routes,
 * tunnels and translated addresses there make an allowed address mean another host. */
static __noinline int is_capability_open(const struct sbpf_sandbox *sandbox, __u32 cap, int level)
{
	struct fs_rules rules;
	void *policy;

	if (cap == SBPF_CAP_SYS_ADMIN && fs_policy(sandbox, &rules) != FS_FREE)
		return 0;
	if (level && cap != SBPF_CAP_NET_ADMIN && cap != SBPF_CAP_NET_RAW)
		return 1;
	policy = sandbox_policy(sandbox);
	return policy && sbpf_decide_capability(policy, cap);
}

static __noinline int judge_capable(struct sbpf_sandbox *sandbox, __u32 cap, int level, unsigned int opts)
{
	struct denial d = DENIAL(capable, SBPF_REASON_CAPABILITY);

	d.task.detail = cap;
	/* DAC_READ_SEARCH is asked for at each read of what is another's, before DAC_OVERRIDE. */
	d.quiet = opts & CAP_OPT_NOAUDIT || cap == SBPF_CAP_DAC_READ_SEARCH;
	if (is_canary(SBPF_HOOK_capable)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	if (is_capability_open(sandbox, cap, level) || is_asked_for_kernel(cap) || is_canary_behind_capable())
		return 0;
	return refuse(sandbox, &d);
}

SEC("lsm/capable")
int BPF_PROG(hook_capable, void *cred, struct user_namespace *ns, int cap, unsigned int opts)
{
	LSM_GATE(capable, sandboxes);
	LSM_JUDGE(sandboxes, judge_capable, cap, ns->level, opts);
}

static __noinline int judge_interface(struct sbpf_sandbox *sandbox, __u32 hook, __u32 interface)
{
	struct denial d = {.hook = hook, .domain = SBPF_DOMAIN_PROCESS, .reason = SBPF_REASON_KERNEL};
	void *policy;

	d.task.detail = interface;
	if (is_canary(hook)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	policy = sandbox_policy(sandbox);
	if (policy && sbpf_decide_interface(policy, interface))
		return 0;
	return refuse(sandbox, &d);
}

SEC("lsm/perf_event_open")
int BPF_PROG(hook_perf_event_open)
{
	LSM_GATE(perf_event_open, sandboxes);
	LSM_JUDGE(sandboxes, judge_interface, SBPF_HOOK_perf_event_open, SBPF_KERNEL_PERF);
}

SEC("lsm/kernel_module_request")
int BPF_PROG(hook_kernel_module_request)
{
	LSM_GATE(kernel_module_request, sandboxes);
	LSM_JUDGE(sandboxes, judge_interface, SBPF_HOOK_kernel_module_request, SBPF_KERNEL_MODULE_REQUESTS);
}

/* What the kernel keeps for itself while it acts for the task: DNS answers, ids of NFS. It takes its own credentials
 * for that. */
#define KEY_HOOK(name)                                                                                                 \
	SEC("lsm/" #name)                                                                                              \
	int BPF_PROG(hook_##name)                                                                                      \
	{                                                                                                              \
		LSM_GATE(name, sandboxes);                                                                             \
		if (fs_acts_for_kernel())                                                                              \
			return 0;                                                                                      \
		LSM_JUDGE(sandboxes, judge_interface, SBPF_HOOK_##name, SBPF_KERNEL_KEYRINGS);                         \
	}

KEY_HOOK(key_alloc)
KEY_HOOK(key_permission)

/* Which interface an anonymous inode of this name is; SBPF_KERNEL_MAX: none that is judged. */
static __always_inline __u32 interface_of_inode(const struct qstr *name)
{
	static const char userfaultfd[8] = "[userfau", io_uring[8] = "[io_urin";
	char text[8] = {};

	bpf_probe_read_kernel(text, sizeof(text), name->name);
	if (name->len == 13 && !__builtin_memcmp(text, userfaultfd, sizeof(text)))
		return SBPF_KERNEL_USERFAULTFD;
	if (name->len == 10 && !__builtin_memcmp(text, io_uring, sizeof(text)))
		return SBPF_KERNEL_IO_URING;
	return SBPF_KERNEL_MAX;
}

SEC("lsm/inode_init_security_anon")
int BPF_PROG(hook_inode_init_security_anon, struct inode *inode, const struct qstr *name)
{
	__u32 interface;

	LSM_GATE(inode_init_security_anon, sandboxes);
	interface = interface_of_inode(name);
	if (interface == SBPF_KERNEL_MAX)
		return 0;
	LSM_JUDGE(sandboxes, judge_interface, SBPF_HOOK_inode_init_security_anon, interface);
}

static __noinline int judge_userns(struct sbpf_sandbox *sandbox)
{
	if (judge_never(sandbox, SBPF_HOOK_userns_create, SBPF_REASON_FS_MOUNT))
		return 1;
	return judge_interface(sandbox, SBPF_HOOK_userns_create, SBPF_KERNEL_USER_NAMESPACES);
}

SEC("lsm/userns_create")
int BPF_PROG(hook_userns_create)
{
	LSM_GATE(userns_create, sandboxes);
	LSM_JUDGE(sandboxes, judge_userns);
}

/* A personality's credentials look like those that the kernel lends: see fs_acts_for_kernel, is_asked_for_kernel. */
static __noinline int judge_personality(struct sbpf_sandbox *sandbox)
{
	struct denial d = DENIAL(uring_override_creds, SBPF_REASON_CAPABILITY);

	if (judge_never(sandbox, SBPF_HOOK_uring_override_creds, SBPF_REASON_FS_MOUNT))
		return 1;
	d.task.detail = SBPF_CAP_SYS_ADMIN;
	return is_capability_open(sandbox, SBPF_CAP_SYS_ADMIN, 0) ? 0 : refuse(sandbox, &d);
}

SEC("lsm/uring_override_creds")
int BPF_PROG(hook_uring_override_creds)
{
	LSM_GATE(uring_override_creds, sandboxes);
	LSM_JUDGE(sandboxes, judge_personality);
}

SEC("lsm/task_setnice")
int BPF_PROG(hook_task_setnice, struct task_struct *target, int nice)
{
	LSM_GATE(task_setnice, sandboxes);
	LSM_JUDGE(sandboxes, judge_task, SBPF_HOOK_task_setnice, target, nice, 0);
}

SEC("lsm/task_setioprio")
int BPF_PROG(hook_task_setioprio, struct task_struct *target, int ioprio)
{
	LSM_GATE(task_setioprio, sandboxes);
	LSM_JUDGE(sandboxes, judge_task, SBPF_HOOK_task_setioprio, target, ioprio, 0);
}

SEC("lsm/task_setscheduler")
int BPF_PROG(hook_task_setscheduler, struct task_struct *target)
{
	LSM_GATE(task_setscheduler, sandboxes);
	LSM_JUDGE(sandboxes, judge_task, SBPF_HOOK_task_setscheduler, target, 0, 0);
}

SEC("lsm/task_setrlimit")
int BPF_PROG(hook_task_setrlimit, struct task_struct *target, unsigned int resource)
{
	LSM_GATE(task_setrlimit, sandboxes);
	LSM_JUDGE(sandboxes, judge_task, SBPF_HOOK_task_setrlimit, target, resource, 0);
}

#define F_SETFL	    4
#define O_ASYNC	    020000
#define F_SETOWN    8
#define F_SETOWN_EX 15
#define F_SETLEASE  1024
#define F_SETDELEG  1040 /* the same, of directories too; how is in memory that another thread could change */
#define F_UNLCK	    2

/* A number of the current task in its own pid namespace; 0 if it cannot be told. */
static __always_inline int number_of(struct pid *pid)
{
	__u32 level = BPF_CORE_READ(pid, level);
	struct upid own = {};

	if (level < SBPF_MAX_LEVELS)
		bpf_probe_read_kernel(&own.nr, sizeof(own.nr),
				      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
					  level * bpf_core_type_size(struct upid) +
					  bpf_core_field_offset(struct upid, nr));
	return own.nr;
}

/* Is it the current process, or the current thread? */
static __noinline int is_own_number(int number)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return number == number_of(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID])) ||
	       number == number_of(BPF_CORE_READ(task, thread_pid));
}

/* The signals of a descriptor go to its owner later, when nobody can tell any more who asked for it: the owner is
 * oneself (the process, or the thread that asks) or nobody. A group is others, too, also one's own: who is in it cannot
 * be listed here, it may be the caller's that started the sandbox, and others of the session join it later. Another
 * thread of one's own is a number like any other: before 6.2 nothing says whose. */
SEC("lsm/file_fcntl")
int BPF_PROG(hook_file_fcntl, struct file *file, unsigned int cmd, unsigned long arg)
{
	int refused = 0;

	LSM_GATE(file_fcntl, sandboxes);
	/* Whoever opens the file for writing, the host too, waits until a lease is given back: 45 s by default. */
	if (cmd == F_SETDELEG || (cmd == F_SETLEASE && arg != F_UNLCK))
		FS_ASK(sandboxes, file_fcntl, SBPF_FS_WRITE, file->f_path.dentry, file->f_path.mnt);
	if (cmd == F_SETOWN)
		refused = (int)arg && !is_own_number((int)arg);
	else if (cmd == F_SETOWN_EX)
		refused = 1; /* the owner is in memory that another thread could change */
	else if (cmd == F_SETFL)
		/* A terminal makes its foreground group the owner, whoever that is by now. */
		refused = arg & O_ASYNC && is_character_device(file->f_inode);
	LSM_JUDGE(sandboxes, judge_flag, SBPF_HOOK_file_fcntl, refused, SBPF_REASON_GUARD, cmd);
}
