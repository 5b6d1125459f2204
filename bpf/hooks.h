/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The one list of hooks: the BPF side names its programs after it, the agent loads, attaches, verifies and probes it,
 * the tests are generated from it. X(id, name, kind, domain): ids are part of the ABI and append-only; the program of a
 * hook is `hook_<name>`; kind CGROUP is attached per sandbox by link, LSM once per host. */
#ifndef SBPF_HOOKS_H
#define SBPF_HOOKS_H

/* clang-format off */
#define SBPF_HOOKS(X) \
	X(0,  connect4,            CGROUP, NETWORK) \
	X(1,  connect6,            CGROUP, NETWORK) \
	X(2,  sendmsg4,            CGROUP, NETWORK) \
	X(3,  sendmsg6,            CGROUP, NETWORK) \
	X(4,  bind4,               CGROUP, NETWORK) \
	X(5,  bind6,               CGROUP, NETWORK) \
	X(6,  sock_create,         CGROUP, NETWORK) \
	X(7,  socket_create,       LSM,    NETWORK) \
	X(8,  socket_connect,      LSM,    NETWORK) \
	X(9,  socket_sendmsg,      LSM,    NETWORK) \
	X(10, socket_bind,         LSM,    NETWORK) \
	X(11, socket_listen,       LSM,    NETWORK) \
	X(12, socket_setsockopt,   LSM,    NETWORK) \
	X(13, unix_stream_connect, LSM,    NETWORK) \
	X(14, unix_may_send,       LSM,    NETWORK) \
	X(15, file_receive,        LSM,    NETWORK) \
	X(16, task_alloc,          LSM,    GUARD) \
	X(17, file_open,           LSM,    GUARD) \
	X(18, capable,             LSM,    GUARD) \
	X(19, bpf,                 LSM,    GUARD) \
	X(20, path_unlink,         LSM,    GUARD) \
	X(21, path_rename,         LSM,    GUARD) \
	X(22, path_rmdir,          LSM,    GUARD) \
	X(23, sb_mount,            LSM,    GUARD) \
	X(24, move_mount,          LSM,    GUARD) \
	X(25, sb_umount,           LSM,    GUARD) \
	X(26, task_kill,           LSM,    GUARD) \
	X(27, ptrace_access_check, LSM,    GUARD) \
	X(28, ptrace_traceme,      LSM,    GUARD)
/* clang-format on */

#endif
