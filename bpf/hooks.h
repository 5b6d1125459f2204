/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The one list of hooks: the BPF side names its programs after it, the agent loads, attaches, verifies and probes it,
 * the tests are generated from it. X(id, name, kind, domain): ids are part of the ABI and append-only; the program of a
 * hook is `hook_<name>`; kind CGROUP is attached per sandbox by link, DNS likewise to sandboxes with a resolver, where
 * it puts addresses right and refuses nothing, FLOWS likewise to those whose policy has its flows recorded, where it
 * tells, LSM once per host, LSM_IF likewise on kernels that have the hook (what it refuses, the others refuse by
 * another, or do not have); TRACE once per host to a tracepoint, where it sees and refuses nothing; ROOT once per host
 * to the root cgroup. */
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
	X(28, ptrace_traceme,      LSM,    GUARD) \
	X(29, path_mkdir,          LSM,    FILESYSTEM) \
	X(30, path_mknod,          LSM,    FILESYSTEM) \
	X(31, path_symlink,        LSM,    FILESYSTEM) \
	X(32, path_link,           LSM,    FILESYSTEM) \
	X(33, path_truncate,       LSM,    FILESYSTEM) \
	X(34, path_chmod,          LSM,    FILESYSTEM) \
	X(35, path_chown,          LSM,    FILESYSTEM) \
	X(36, inode_setattr,       LSM,    FILESYSTEM) \
	X(37, inode_setxattr,      LSM,    FILESYSTEM) \
	X(38, inode_removexattr,   LSM,    FILESYSTEM) \
	X(39, file_ioctl,          LSM,    FILESYSTEM) \
	X(40, mmap_file,           LSM,    FILESYSTEM) \
	X(41, sb_pivotroot,        LSM,    FILESYSTEM) \
	X(42, userns_create,       LSM,    PROCESS) \
	X(43, uring_override_creds, LSM,   FILESYSTEM) \
	X(44, file_truncate,       LSM_IF, FILESYSTEM) \
	X(45, inode_set_acl,       LSM_IF, FILESYSTEM) \
	X(46, inode_remove_acl,    LSM_IF, FILESYSTEM) \
	X(47, file_ioctl_compat,   LSM_IF, FILESYSTEM) \
	X(48, inode_file_setattr,  LSM_IF, FILESYSTEM) \
	X(49, inode_getxattr,      LSM,    FILESYSTEM) \
	X(50, inode_readlink,      LSM,    FILESYSTEM) \
	X(51, perf_event_open,     LSM_IF, PROCESS) \
	X(52, key_alloc,           LSM_IF, PROCESS) \
	X(53, key_permission,      LSM_IF, PROCESS) \
	X(54, kernel_module_request, LSM_IF, PROCESS) \
	X(55, inode_init_security_anon, LSM, PROCESS) \
	X(56, task_setnice,        LSM,    GUARD) \
	X(57, task_setioprio,      LSM,    GUARD) \
	X(58, task_setscheduler,   LSM,    GUARD) \
	X(59, task_setrlimit,      LSM,    GUARD) \
	X(60, file_fcntl,          LSM,    GUARD) \
	X(61, bpf_map,             LSM,    GUARD) \
	X(62, bpf_prog,            LSM,    GUARD) \
	X(63, bprm_check_security, LSM,    PROCESS) \
	X(64, file_mprotect,       LSM,    PROCESS) \
	X(65, cgroup_attach_task,  TRACE,  GUARD) \
	X(66, recvmsg4,            DNS,    NETWORK) \
	X(67, recvmsg6,            DNS,    NETWORK) \
	X(68, getpeername4,        DNS,    NETWORK) \
	X(69, getpeername6,        DNS,    NETWORK) \
	X(70, sock_ops,            FLOWS,  NETWORK) \
	X(71, sysctl,              ROOT,   GUARD)
/* clang-format on */

#endif
