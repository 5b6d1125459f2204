// SPDX-License-Identifier: GPL-2.0-only
/* Network domain, LSM layer: talk between processes of one host, and descriptors that they hand over.
 *
 * hook                 kernel                           refuses                               does not see
 * unix_stream_connect  unix_stream_connect              peers outside the sandbox             socketpairs (have no outside)
 * unix_may_send        unix_dgram_sendmsg, _connect     peers outside the sandbox
 * file_receive         receive_fd, pidfd_getfd          foreign sockets, cgroup files         descriptors inherited over exec
 */
#include "fs_judge.h"
#include "network.h"

/* ---- AF_UNIX ---- */

static __noinline int judge_unix_peer(struct sbpf_sandbox *box, struct denial *d, struct sock *peer)
{
	d->net.family = AF_UNIX;
	if (is_canary(d->hook)) {
		d->reason = SBPF_REASON_CANARY;
		return refuse(box, d);
	}
	if (sock_in_box(peer, box))
		return 0;
	if (box_allows_all_network(box))
		return 0;
	d->reason = SBPF_REASON_UNIX_PEER;
	return refuse(box, d);
}

SEC("lsm/unix_stream_connect")
int BPF_PROG(hook_unix_stream_connect, struct sock *sock, struct sock *other, struct sock *newsk)
{
	LSM_GATE(boxes);
	struct denial d = DENIAL(unix_stream_connect, SBPF_REASON_UNIX_PEER);
	LSM_JUDGE(boxes, judge_unix_peer, &d, other);
}

static __noinline int judge_unix_send(struct sbpf_sandbox *box, struct socket *other)
{
	struct denial d = DENIAL(unix_may_send, SBPF_REASON_UNIX_PEER);

	return judge_unix_peer(box, &d, sock_of(other));
}

SEC("lsm/unix_may_send")
int BPF_PROG(hook_unix_may_send, struct socket *sock, struct socket *other)
{
	LSM_GATE(boxes);
	LSM_JUDGE(boxes, judge_unix_send, other);
}

/* ---- file_receive ---- */

static __noinline int judge_receive(struct sbpf_sandbox *box, struct file *file)
{
	struct denial d = DENIAL(file_receive, SBPF_REASON_FOREIGN_SOCKET);
	struct socket *sock = bpf_sock_from_file(file);
	unsigned long magic;

	if (is_canary(SBPF_HOOK_file_receive)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(box, &d);
	}
	if (sock) {
		struct sock *sk = sock_of(sock);

		if (sock_in_box(sk, box))
			return 0;
		if (box_allows_all_network(box))
			return 0;
		if (sk) {
			d.net.family = sk->__sk_common.skc_family;
			d.net.type = sk->sk_type;
			d.net.protocol = sk->sk_protocol;
		}
		return refuse(box, &d);
	}
	magic = file->f_inode->i_sb->s_magic;
	if ((magic == CGROUP2_MAGIC || magic == CGROUP_MAGIC) && file->f_mode & FMODE_WRITE) {
		d.reason = SBPF_REASON_LEAVE_CGROUP;
		return refuse(box, &d);
	}
	return 0;
}

SEC("lsm/file_receive")
int BPF_PROG(hook_file_receive, struct file *file)
{
	LSM_GATE(boxes);
	LSM_ASK(EPERM, boxes, judge_receive, file);
	if (file->f_mode & FMODE_PATH) /* names a place; what is opened from it is judged */
		return 0;
	FS_JUDGE(boxes, file_receive, fs_open_wants(file), file->f_path.dentry, file->f_path.mnt);
}
