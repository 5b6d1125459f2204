/* SPDX-License-Identifier: GPL-2.0-only */
/* Pseudo-terminals of others: whose screen and keyboard they are, the session says that has one as its terminal. */
#ifndef SBPF_TERMINAL_H
#define SBPF_TERMINAL_H

#include "tasks.h"

#define FIRST_PTS_MAJOR 136
#define LAST_PTS_MAJOR 143
#define SESSION_PROCESSES 256

/* Parts of the kernel's own that are needed here alone. */
struct tty_of_session {
	struct pid *session;
};

struct tty_struct___session {
	struct tty_of_session ctrl;
} __attribute__((preserve_access_index));

struct dentry___fsdata {
	void *d_fsdata;
} __attribute__((preserve_access_index));

struct session_search {
	__u64 node; /* of the next process, by its address */
	const struct sbpf_sandbox *box;
	int inside;
};

static long search_session(__u64 i, struct session_search *search)
{
	__u64 next = 0;

	if (!search->node)
		return 1;
	search->inside = address_in_box(task_of_node(search->node, PIDTYPE_SID), search->box);
	bpf_probe_read_kernel(&next, sizeof(next), (void *)search->node);
	search->node = next;
	return search->inside ? 1 : 0;
}

/* Has the session a process inside? Global, so that it is verified once. */
__weak __noinline int session_is_inside(__u64 session, const struct sbpf_sandbox *box)
{
	struct session_search search = {.box = box};

	if (!session || !box)
		return 0;
	search.node = first_node(session, PIDTYPE_SID);
	SBPF_REPEAT(SESSION_PROCESSES, search_session, &search);
	return search.inside;
}

/* Is it a pseudo-terminal that a session has as its own, and is none of that session's processes inside? A terminal that no session
 * has, as one that was made just now, is anyone's. */
static __noinline int is_terminal_of_others(const struct sbpf_sandbox *box, struct file *file)
{
	__u32 major = file->f_inode->i_rdev >> SBPF_MINOR_BITS;
	struct tty_struct___session *tty;
	__u64 session;

	if ((file->f_inode->i_mode & S_IFMT) != S_IFCHR || major < FIRST_PTS_MAJOR || major > LAST_PTS_MAJOR)
		return 0;
	tty = BPF_CORE_READ((struct dentry___fsdata *)file->f_path.dentry, d_fsdata);
	if (!tty)
		return 0; /* its other end is closed: it cannot be opened */
	session = (__u64)BPF_CORE_READ(tty, ctrl.session);
	return session && !session_is_inside(session, box);
}

#endif
