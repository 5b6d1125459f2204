/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The capabilities of Linux by number, and which of them root in a sandbox may use over the host. */
#ifndef SBPF_CAPABILITIES_H
#define SBPF_CAPABILITIES_H

/* As in linux/capability.h, which BPF programs cannot include beside their own types. */
enum sbpf_capability {
	SBPF_CAP_CHOWN = 0,
	SBPF_CAP_DAC_OVERRIDE = 1,
	SBPF_CAP_DAC_READ_SEARCH = 2,
	SBPF_CAP_FOWNER = 3,
	SBPF_CAP_FSETID = 4,
	SBPF_CAP_KILL = 5,
	SBPF_CAP_SETGID = 6,
	SBPF_CAP_SETUID = 7,
	SBPF_CAP_SETPCAP = 8,
	SBPF_CAP_NET_BIND_SERVICE = 10,
	SBPF_CAP_NET_ADMIN = 12,
	SBPF_CAP_NET_RAW = 13,
	SBPF_CAP_IPC_LOCK = 14,
	SBPF_CAP_SYS_CHROOT = 18,
	SBPF_CAP_SYS_ADMIN = 21,
	SBPF_CAP_SYS_RESOURCE = 24,
	SBPF_CAP_MKNOD = 27,
	SBPF_CAP_AUDIT_WRITE = 29,
	SBPF_CAP_SETFCAP = 31,
	SBPF_CAP_PERFMON = 38,
	SBPF_CAP_BPF = 39,
	SBPF_CAP_COUNT = 41 /* one more than the last that this version knows by name */
};

/* What root inside may use over the host: what is judged elsewhere, or ends at its own processes and files. Everything
 * else, later kernels' new ones included, is refused:
 *   DAC_READ_SEARCH   open_by_handle_at: files outside of the mount namespace; to read, DAC_OVERRIDE is enough
 *   LINUX_IMMUTABLE, LEASE        files that the host can no longer change, or has to wait for
 *   SYS_MODULE, SYS_RAWIO, SYS_BOOT, SYS_TIME, SYSLOG, SYS_PACCT, WAKE_ALARM, BLOCK_SUSPEND, AUDIT_CONTROL, AUDIT_READ,
 *   MAC_*, SYS_TTY_CONFIG         the machine as a whole
 *   SYS_ADMIN                     mounts, namespaces (setns, unshare), swap, quota, host name, and most of what is new
 *   SYS_PTRACE, IPC_OWNER, CHECKPOINT_RESTORE, SYS_NICE    what others run, and their share of the machine
 *   SYS_RESOURCE                  limits, reserved space, quota
 *   NET_ADMIN, NET_RAW, NET_BROADCAST, BPF, PERFMON        addresses that mean another host; sbpf itself */
#define SBPF_CAP_BIT(name) (1ull << SBPF_CAP_##name)
#define SBPF_CAPS_OPEN                                                                                                 \
	(SBPF_CAP_BIT(CHOWN) | SBPF_CAP_BIT(DAC_OVERRIDE) | SBPF_CAP_BIT(FOWNER) | SBPF_CAP_BIT(FSETID) |              \
	 SBPF_CAP_BIT(KILL) /* task_kill judges whom */ | SBPF_CAP_BIT(SETGID) | SBPF_CAP_BIT(SETUID) |                \
	 SBPF_CAP_BIT(SETPCAP) | SBPF_CAP_BIT(NET_BIND_SERVICE) /* `bind` judges where */ |                            \
	 SBPF_CAP_BIT(IPC_LOCK) /* memory is limited by the cgroup */ |                                                \
	 SBPF_CAP_BIT(SYS_CHROOT) /* no rule is a path */ | SBPF_CAP_BIT(MKNOD) /* filesystem rules judge devices */ | \
	 SBPF_CAP_BIT(AUDIT_WRITE) | SBPF_CAP_BIT(SETFCAP))

#endif
