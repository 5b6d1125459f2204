// SPDX-License-Identifier: GPL-2.0-only
/* Network domain, LSM layer: talk between processes of one host, and descriptors that they hand over.
 *
 * hook                 kernel                           refuses                               does not see
 * unix_stream_connect  unix_stream_connect              peers outside that no rule names,     socketpairs (have no outside)
 *                                                       sbpfd's socket
 * unix_may_send        unix_dgram_sendmsg, _connect     peers outside that no rule names
 * file_receive         receive_fd, pidfd_getfd          foreign sockets; devices; files that  descriptors inherited over exec
 *                                                       drive the kernel, to write; what
 *                                                       /proc has of processes outside
 */
#include "fs_judge.h"
#include "accepted.h"
#include "network.h"
#include "process_files.h"

/* ---- AF_UNIX ---- */

#define SUN_FAMILY_LEN 2

/* NULL: it is of another family. */
static __always_inline struct unix_sock *unix_sock_of(struct sock *sk)
{
	if (sbpf_rdonly_cast)
		return STRUCT_AT(sk, unix_sock);
	return bpf_skc_to_unix_sock(sk);
}

/* Of an abstract socket. A function of its own: 6.1 counts 512 bytes of stack over all callers. */
static __noinline int is_named_abstract(void *policy, struct unix_sock *peer)
{
	/* Numbers to the verifier, as the hash takes them. */
	struct unix_address *addr = BPF_CORE_READ(peer, addr);
	__u64 name = (__u64)addr + bpf_core_field_offset(struct unix_address, name) + SUN_FAMILY_LEN, hash;
	const struct sbpf_fs_node *entry;
	struct sbpf_rule_key key;
	char first = 1;
	int len;

	if (!addr)
		return 0;
	bpf_probe_read_kernel(&first, sizeof(first), (const void *)name);
	len = BPF_CORE_READ(addr, len) - SUN_FAMILY_LEN - 1;
	if (first || len <= 0 || len >= (int)sizeof(((struct sockaddr_un *)0)->sun_path))
		return 0;
	hash = fs_name_hash(name + 1, len);
	sbpf_unix_key(&key, len, hash);
	entry = sbpf_policy_lookup(policy, &key);
	return hash && entry && fs_bears(policy, &key, entry, name + 1, len);
}

/* Does a rule name this socket of the outside? `place`: where it lies, for the event; dentry 0 if it has no path. A
 * socket lies where its server bound it, wherever the sandbox sees it; path_rename keeps the sandbox from moving it
 * (guard.bpf.c). */
static __noinline int is_named_peer(struct sbpf_sandbox *sandbox, struct sock *sk, struct fs_place *place)
{
	struct unix_sock *peer = unix_sock_of(sk);
	const struct sbpf_policy_header *header;
	void *policy = sandbox_policy(sandbox);
	struct dentry *dentry;

	place->dentry = 0;
	place->rule = SBPF_NO_RULE;
	if (!policy || !peer)
		return 0;
	dentry = peer->path.dentry;
	place->dentry = (__u64)dentry;
	header = sbpf_header_of(policy);
	if (!header || !(header->flags & SBPF_POLICY_UNIX))
		return 0;
	if (!dentry)
		return is_named_abstract(policy, peer);
	fs_find(policy, dentry, place);
	return place->covered && place->rights & SBPF_FS_TALK;
}

/* `size` counts the NUL. */
static __always_inline int is_called(struct dentry *dentry, const char *wanted, int size)
{
	char name[16] = {}, differs = 0;

	bpf_probe_read_kernel(name, size, BPF_CORE_READ(dentry, d_name.name));
#pragma unroll
	for (int i = 0; i < size; i++)
		differs |= name[i] ^ wanted[i];
	return !differs;
}

/* The sockets of sbpfd, which no policy opens: …/sbpf/api.sock and root.sock. By their names; the service refuses tasks
 * of sandboxes itself, should its sockets lie elsewhere. */
static __noinline int is_service(struct sock *sk)
{
	struct unix_sock *peer = unix_sock_of(sk);
	struct dentry *dentry = peer ? BPF_CORE_READ(peer, path.dentry) : NULL;

	return dentry && is_called(BPF_CORE_READ(dentry, d_parent), "sbpf", sizeof("sbpf")) &&
	       (is_called(dentry, "api.sock", sizeof("api.sock")) ||
		is_called(dentry, "root.sock", sizeof("root.sock")));
}

static __noinline int judge_unix_peer(struct sbpf_sandbox *sandbox, struct denial *d, struct sock *peer)
{
	struct fs_place place;

	d->net.family = AF_UNIX;
	if (is_canary(d->hook)) {
		d->reason = SBPF_REASON_CANARY;
		return refuse(sandbox, d);
	}
	if (sock_in_sandbox(peer, sandbox))
		return 0;
	place.dentry = 0;
	if (!is_service(peer) && (sandbox_allows_all_network(sandbox) || is_named_peer(sandbox, peer, &place)))
		return 0;
	d->reason = SBPF_REASON_UNIX_PEER;
	return place.dentry ? refuse_place(sandbox, d, &place) : refuse(sandbox, d);
}

SEC("lsm/unix_stream_connect")
int BPF_PROG(hook_unix_stream_connect, struct sock *sock, struct sock *other, struct sock *newsk)
{
	LSM_GATE(unix_stream_connect, sandboxes);
	struct denial d = DENIAL(unix_stream_connect, SBPF_REASON_UNIX_PEER);
	LSM_JUDGE(sandboxes, judge_unix_peer, &d, other);
}

static __noinline int judge_unix_send(struct sbpf_sandbox *sandbox, struct socket *other)
{
	struct denial d = DENIAL(unix_may_send, SBPF_REASON_UNIX_PEER);

	return judge_unix_peer(sandbox, &d, sock_of(other));
}

SEC("lsm/unix_may_send")
int BPF_PROG(hook_unix_may_send, struct socket *sock, struct socket *other)
{
	LSM_GATE(unix_may_send, sandboxes);
	LSM_JUDGE(sandboxes, judge_unix_send, other);
}

/* ---- file_receive ---- */

/* Of one process outside, to read as well: who may not open it may not have it. */
static __noinline int receives_file_of_others(struct sbpf_sandbox *sandbox, struct file *file, __u32 *target)
{
	struct inode *inode = file->f_inode;
	__u64 pid;

	if (inode->i_sb->s_magic != PROC_MAGIC)
		return 0;
	pid = owner_of_proc_file(inode);
	return pid && is_file_of_others(sandbox, pid, !!(file->f_mode & FMODE_WRITE), target);
}

/* A descriptor by which the memory (userfaultfd) or the system calls (seccomp's notifications) of a process outside
 * would be in the receiver's hands: the kernel tells a program no more of it than its name. */
static __noinline int is_hold_on_others(struct sbpf_sandbox *sandbox, struct file *file)
{
	static const char memory[16] = "[userfaultfd]", calls[16] = "seccomp notify";
	char name[16] = {};
	__u64 *word = (__u64 *)name;
	void *policy;

	if (!sandbox || !file || file->f_inode->i_sb->s_magic != ANON_INODE_MAGIC)
		return 0;
	bpf_probe_read_kernel_str(name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	if (word[0] == *(__u64 *)&calls[0] && word[1] == *(__u64 *)&calls[8])
		return 1;
	if (word[0] != *(__u64 *)&memory[0] || word[1] != *(__u64 *)&memory[8])
		return 0;
	policy = sandbox_policy(sandbox);
	return !policy || !sbpf_decide_interface(policy, SBPF_KERNEL_USERFAULTFD);
}

/* Nobody inside opens it, as whoever handed it over did. */
static __noinline int is_machine_memory(const struct sbpf_sandbox *sandbox, struct inode *inode)
{
	__u32 rdev = inode->i_rdev;

	return is_device(inode) && (inode->i_mode & S_IFMT) == S_IFCHR &&
	       is_memory_of_machine(rdev >> SBPF_MINOR_BITS, rdev & ((1u << SBPF_MINOR_BITS) - 1)) &&
	       !judges_devices_as_files(sandbox);
}

static __noinline int judge_receive(struct sbpf_sandbox *sandbox, struct file *file)
{
	struct denial d = DENIAL(file_receive, SBPF_REASON_FOREIGN_SOCKET);
	struct socket *sock = bpf_sock_from_file(file);
	__u32 target = 0;
	int reason;

	if (is_canary(SBPF_HOOK_file_receive)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	if (sock) {
		struct sock *sk = sock_of(sock);

		if (sock_in_sandbox(sk, sandbox) || sandbox_allows_all_network(sandbox) ||
		    (sk && was_accepted_in(sandbox, sk)))
			return 0;
		if (sk) {
			d.net.family = sk->__sk_common.skc_family;
			d.net.type = sk->sk_type;
			d.net.protocol = sk->sk_protocol;
		}
		return refuse(sandbox, &d);
	}
	if (file->f_mode & FMODE_PATH) /* names a place; what is opened from it is judged */
		return 0;
	reason = refusal_of_device(sandbox, file->f_inode, !!(file->f_mode & FMODE_WRITE));
	if (reason == SBPF_REASON_NONE && is_machine_memory(sandbox, file->f_inode))
		reason = SBPF_REASON_MACHINE_DEVICE;
	if (reason != SBPF_REASON_NONE) {
		d.reason = reason;
		d.domain = SBPF_DOMAIN_GUARD;
		d.task.target_pid = 0;
		d.task.detail = file->f_inode->i_rdev;
		return refuse(sandbox, &d);
	}
	if (is_hold_on_others(sandbox, file)) {
		d.reason = SBPF_REASON_GUARD;
		d.domain = SBPF_DOMAIN_GUARD;
		return refuse(sandbox, &d);
	}
	if (receives_file_of_others(sandbox, file, &target)) {
		d.reason = SBPF_REASON_GUARD;
		d.domain = SBPF_DOMAIN_GUARD;
		d.task.target_pid = target;
		return refuse(sandbox, &d);
	}
	if (file->f_mode & FMODE_WRITE && is_control(file->f_inode)) {
		d.reason = is_cgroupfs(file->f_inode->i_sb->s_magic) ? SBPF_REASON_LEAVE_CGROUP : SBPF_REASON_GUARD;
		return refuse(sandbox, &d);
	}
	return 0;
}

SEC("lsm/file_receive")
int BPF_PROG(hook_file_receive, struct file *file)
{
	LSM_GATE(file_receive, sandboxes);
	LSM_ASK(EPERM, sandboxes, judge_receive, file);
	if (file->f_mode & FMODE_PATH)
		return 0;
	FS_JUDGE(sandboxes, file_receive, fs_open_wants(file), file->f_path.dentry, file->f_path.mnt);
}
