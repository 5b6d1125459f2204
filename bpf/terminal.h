/* SPDX-License-Identifier: GPL-2.0-only */
/* Pseudo-terminals of others. Whose screen and keyboard one is, the session says that has it as its terminal. Before
 * there is a session, and after its end, who made it says so. */
#ifndef SBPF_TERMINAL_H
#define SBPF_TERMINAL_H

#include "fs_judge.h"
#include "own.h"
#include "tasks.h"

#define SESSION_PROCESSES 256
#define ANCESTORS	  64
#define STANDARD_STREAMS  3

/* Parts of the kernel's own that are needed here alone. */
struct tty_of_session {
	struct pid *session;
};

struct tty_struct___pair {
	struct tty_of_session ctrl;
	struct tty_struct___pair *link; /* the other end */
	struct list_head tty_files;
} __attribute__((preserve_access_index));

struct tty_file_private {
	struct file *file;
	struct list_head list;
} __attribute__((preserve_access_index));

struct dentry___private {
	void *d_fsdata;
} __attribute__((preserve_access_index));

struct file___opener {
	const struct cred *f_cred;
} __attribute__((preserve_access_index));

struct nsproxy___mounts {
	void *mnt_ns;
} __attribute__((preserve_access_index));

struct task_struct___mounts {
	struct nsproxy___mounts *nsproxy;
} __attribute__((preserve_access_index));

struct session_search {
	__u64 node; /* of the next process, by its address */
	const struct sbpf_sandbox *sandbox;
	int inside;
};

static long search_session(__u64 i, struct session_search *search)
{
	__u64 next = 0;

	if (!search->node)
		return 1;
	search->inside = address_in_sandbox(task_of_node(search->node, PIDTYPE_SID), search->sandbox);
	bpf_probe_read_kernel(&next, sizeof(next), (void *)search->node);
	search->node = next;
	return search->inside ? 1 : 0;
}

/* Has the session a process inside? Global, so that it is verified once. */
__weak __noinline int session_is_inside(__u64 session, const struct sbpf_sandbox *sandbox)
{
	struct session_search search = {.sandbox = sandbox};

	if (!session || !sandbox)
		return 0;
	search.node = first_node(session, PIDTYPE_SID);
	SBPF_REPEAT(SESSION_PROCESSES, search_session, &search);
	return search.inside;
}

struct maker_search {
	__u64 task; /* by its address */
	const struct sbpf_sandbox *sandbox;
	__u64 opener; /* the credentials that opened the controlling end */
	__u64 mounts; /* the mount namespace that it was opened in; 0: that does not tell */
	int found;
};

static long search_maker(__u64 i, struct maker_search *search)
{
	struct task_struct *task = (struct task_struct *)search->task;

	if (!task)
		return 1;
	/* No other process has the same credentials, by their address: fork copies them. */
	if ((__u64)BPF_CORE_READ(task, cred) == search->opener && address_in_sandbox(search->task, search->sandbox)) {
		search->found = 1;
		return 1;
	}
	if (BPF_CORE_READ(task, pid) == 1) {
		search->found = search->mounts && (__u64)BPF_CORE_READ((struct task_struct___mounts *)task, nsproxy,
								       mnt_ns) != search->mounts;
		return 1;
	}
	search->task = (__u64)BPF_CORE_READ(task, real_parent);
	return 0;
}

/* The mount namespace of this process, if the controlling end was opened in it, too; 0: it was not. */
static __always_inline __u64 common_mounts(struct file *controller)
{
	struct task_struct___mounts *current = (void *)bpf_get_current_task();
	__u64 own = (__u64)BPF_CORE_READ(current, nsproxy, mnt_ns);

	return (__u64)namespace_of_mount(BPF_CORE_READ(controller, f_path.mnt)) == own ? own : 0;
}

/* Was it made inside: by this process, one that this one descends from, or in the namespace that a run has to itself?
 * Global, so that it is verified once. */
__weak __noinline int is_made_inside(__u64 tty, const struct sbpf_sandbox *sandbox)
{
	struct maker_search search = {.sandbox = sandbox};
	struct tty_file_private *open;
	struct file *controller;
	struct list_head *node;

	if (!tty || !sandbox)
		return 0;
	node = BPF_CORE_READ((struct tty_struct___pair *)tty, link, tty_files.next);
	if (!node)
		return 0;
	open = (void *)node - bpf_core_field_offset(struct tty_file_private, list);
	controller = BPF_CORE_READ(open, file);
	if (!controller)
		return 0;
	search.task = (__u64)bpf_get_current_task();
	search.opener = (__u64)BPF_CORE_READ((struct file___opener *)controller, f_cred);
	if (!(sandbox->flags & SBPF_SANDBOX_ATTACHED))
		search.mounts = common_mounts(controller);
	if (search.opener)
		SBPF_REPEAT(ANCESTORS, search_maker, &search);
	return search.found;
}

/* Is it standard input, output or error already, and open for as much? Programs open these again (/dev/stderr). */
static __always_inline int is_standard_stream(struct file *file)
{
	for (__u32 fd = 0; fd < STANDARD_STREAMS; fd++) {
		struct file *held = (struct file *)file_of_fd(fd);
		__u32 wanted = file->f_mode & (FMODE_READ | FMODE_WRITE), mode;

		if (!held || BPF_CORE_READ(held, f_inode) != file->f_inode)
			continue;
		mode = BPF_CORE_READ(held, f_mode);
		if (!(mode & FMODE_PATH) && (mode & wanted) == wanted)
			return 1;
	}
	return 0;
}

/* Of a pseudo-terminal: is it that of others? */
static __noinline int is_terminal_of_others(const struct sbpf_sandbox *sandbox, struct file *file)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tty_struct___pair *tty;
	__u64 session;

	tty = BPF_CORE_READ((struct dentry___private *)file->f_path.dentry, d_fsdata);
	if (!tty)
		return 0; /* its other end is closed: it cannot be opened */
	if ((__u64)BPF_CORE_READ(task, signal, tty) == (__u64)tty || is_standard_stream(file))
		return 0;
	session = (__u64)BPF_CORE_READ(tty, ctrl.session);
	return session ? !session_is_inside(session, sandbox) : !is_made_inside((__u64)tty, sandbox);
}

#endif
