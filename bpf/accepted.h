/* SPDX-License-Identifier: GPL-2.0-only */
/* Did a server inside accept this AF_UNIX connection? The kernel makes the server's end while the client connects, and
 * counts it to the client's cgroup. Whose it is tells its address: the very object that its listener has, which the
 * listener shares with nothing but what it accepts. So a connection is the sandbox's own while a listener that was made
 * inside has that object. The listener is looked for among the descriptors of the task that sends, and of the process
 * that called listen(2); one that was closed proves nothing. */
#ifndef SBPF_ACCEPTED_H
#define SBPF_ACCEPTED_H

#include "tasks.h"

#define DESCRIPTORS_LOOKED_AT 1024
#define STATE_LISTEN	      10

/* Members apart from kernel_types.h, for its length. */
struct sock_common___state {
	volatile unsigned char skc_state;
} __attribute__((preserve_access_index));
struct sock___peer {
	struct pid *sk_peer_pid;
} __attribute__((preserve_access_index));
struct unix_sock___peer {
	struct sock *peer;
} __attribute__((preserve_access_index));

struct listener_search {
	__u64 files;
	struct unix_address *address;
	struct sock *found;
};

static long search_listener(__u64 i, struct listener_search *search)
{
	struct file *file = NULL;
	unsigned char state = 0;
	struct socket *socket;
	struct sock *sk;

	if (bpf_probe_read_kernel(&file, sizeof(file), (void *)(search->files + i * sizeof(file))))
		return 1;
	if (!file || (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) != S_IFSOCK)
		return 0;
	socket = BPF_CORE_READ(file, private_data);
	sk = socket ? BPF_CORE_READ(socket, sk) : NULL;
	if (!sk || BPF_CORE_READ(sk, __sk_common.skc_family) != AF_UNIX ||
	    BPF_CORE_READ((struct unix_sock *)sk, addr) != search->address)
		return 0;
	bpf_core_read(&state, sizeof(state), &((struct sock_common___state *)sk)->skc_state);
	if (state != STATE_LISTEN)
		return 0;
	search->found = sk;
	return 1;
}

/* The cgroup of the listener with that address of which this task has a descriptor; 0: it has none. */
static __noinline __u64 listener_of_task(__u64 task, struct unix_address *address)
{
	struct listener_search search = {.address = address};
	struct fdtable *table;
	struct sock *found;
	__u64 cgroup;
	__u32 count;

	if (!task)
		return 0;
	table = BPF_CORE_READ((struct task_struct *)task, files, fdt);
	if (!table)
		return 0;
	search.files = (__u64)BPF_CORE_READ(table, fd);
	count = BPF_CORE_READ(table, max_fds);
	SBPF_REPEAT(count < DESCRIPTORS_LOOKED_AT ? count : DESCRIPTORS_LOOKED_AT, search_listener, &search);
	found = search.found;
	if (!found)
		return 0;
	cgroup = (__u64)BPF_CORE_READ(found, sk_cgrp_data.cgroup);
	/* It may have been closed since it was found, and its memory be another's. */
	return BPF_CORE_READ((struct unix_sock *)found, addr) == address ? cgroup : 0;
}

/* The cgroup in which the listener was made that accepted this connection; 0: it is none, or the listener is not found.
 */
static __noinline __u64 listener_of(struct sock *sk)
{
	struct unix_address *address = BPF_CORE_READ((struct unix_sock *)sk, addr);
	struct sock *peer = BPF_CORE_READ((struct unix_sock___peer *)sk, peer);
	__u64 cgroup, pid;

	if (!address || !peer)
		return 0;
	cgroup = listener_of_task((__u64)bpf_get_current_task(), address);
	if (cgroup)
		return cgroup;
	/* A client's peer, as the kernel has it, is who listened. */
	pid = (__u64)BPF_CORE_READ((struct sock___peer *)peer, sk_peer_pid);
	return pid ? listener_of_task(task_of_node(first_node(pid, PIDTYPE_TGID), PIDTYPE_TGID), address) : 0;
}

/* Of a socket that was not made inside. */
static __noinline int was_accepted_in(const struct sbpf_sandbox *sandbox, struct sock *sk)
{
	if (sk->__sk_common.skc_family != AF_UNIX || sk->sk_type == SOCK_DGRAM)
		return 0;
	return cgroup_address_in_sandbox(listener_of(sk), sandbox);
}

#endif
