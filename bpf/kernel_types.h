/* SPDX-License-Identifier: GPL-2.0-only */
/* The few kernel types that the programs read, hand-kept: only the members used, found in the running kernel's BTF when
 * the object is loaded (CO-RE), so neither member order nor the build host's kernel matters. */
#ifndef SBPF_KERNEL_TYPES_H
#define SBPF_KERNEL_TYPES_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define EPERM	     1
#define EACCES	     13
#define ENOSYS	     38
#define EDESTADDRREQ 89
#define NULL	     ((void *)0)

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
	void *priv; /* of a directory of cgroup2: its cgroup */
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct pt_regs {
	unsigned long bx;
	unsigned long dx;
	unsigned long orig_ax;
};

struct cred;
struct file;

struct mm_struct {
	struct file *exe_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct hlist_node {
	struct hlist_node *next;
};
struct hlist_head {
	struct hlist_node *first;
};
struct upid {
	int nr;
};
struct pid {
	unsigned int level; /* of the namespace that its task lives in */
	struct hlist_head tasks[4];
	struct upid numbers[]; /* one a level */
};

struct tty_driver {
	int major;
	int minor_start;
};

struct tty_struct {
	struct tty_driver *driver;
	int index;
};

struct signal_struct {
	struct pid *pids[4];
	struct tty_struct *tty;
};

struct task_struct {
	unsigned int flags;
	unsigned int ptrace;
	struct mm_struct *mm;
	struct files_struct *files;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	__u64 start_boottime;
	const struct cred *real_cred;
	const struct cred *cred;
	struct css_set *cgroups;
	struct signal_struct *signal;
	struct pid *thread_pid;
	struct hlist_node pid_links[4];
};

struct user_namespace {
	int level;
};

struct dentry;
struct backing_dev_info {
	unsigned int capabilities;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_flags;
	unsigned long s_magic;
	struct backing_dev_info *s_bdi;
	struct dentry *s_root;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_rdev;
	unsigned int i_nlink;
	__u32 i_generation;
	void *i_private; /* in cgroup2: its kernfs_node */
};

struct proc_inode {
	void *pid;
	struct inode vfs_inode;
};

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
		__u64 hash_len;
	};
	const unsigned char *name;
};

struct hlist_bl_node {
	void *pprev; /* NULL: in no list */
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
};

struct vfsmount {
	struct super_block *mnt_sb;
	int mnt_flags;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	void *mnt_ns;
	int mnt_id;
	int mnt_group_id;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode;
	unsigned int f_flags;
	struct path f_path;
	struct inode *f_inode;
	void *private_data;
};

struct bpf_prog;

struct bpf_map {
	char name[16];
};

struct bpf_prog_aux {
	__u32 used_map_cnt;
	__u32 id;
	struct bpf_map **used_maps;
	struct bpf_prog *prog;
	struct bpf_prog *dst_prog;
	__u32 attach_btf_id;
};

struct bpf_prog {
	enum bpf_attach_type expected_attach_type;
	struct bpf_prog_aux *aux;
};

struct bpf_link {
	__u32 id;
	enum bpf_link_type type;
	struct bpf_prog *prog;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

/* The file of a layer that overlayfs opens for one of its own; kernels since 6.6. */
struct backing_file {
	struct file file;
	struct path user_path;
};

struct linux_binprm {
	struct file *file;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	struct file *vm_file;
};

struct char_device_struct {
	struct char_device_struct *next;
	unsigned int major;
	char name[64];
};

struct list_head {
	struct list_head *next;
};

struct miscdevice {
	int minor;
	const char *name;
	struct list_head list;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
	struct hlist_head *dev_index_head; /* its interfaces, in DEVICE_BUCKETS by number */
	__u64 net_cookie;
};

struct net_device {
	char name[16];
	int ifindex;
	struct hlist_node index_hlist;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	__s64 counter;
} atomic64_t;

struct sock_common {
	possible_net_t skc_net;
	atomic64_t skc_cookie;
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	int skc_bound_dev_if;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	unsigned long skc_flags;
	unsigned char skc_ipv6only : 1; /* last, or the compiler takes the addresses to be unaligned */
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock {
	struct sock_common __sk_common;
	__u16 sk_type;
	__u16 sk_protocol;
	struct sock_cgroup_data sk_cgrp_data;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct in6_pktinfo {
	int ipi6_ifindex;
};

struct ipv6_pinfo {
	struct in6_pktinfo sticky_pktinfo;
	int ucast_oif;
	int mcast_oif;
	void *opt;
	void *ipv6_fl_list; /* flow labels that the socket leased; later kernels have them in inet_sock */
};

struct inet_sock {
	struct sock sk;
	struct ipv6_pinfo *pinet6;
	void *ipv6_fl_list;
	void *inet_opt;
	int uc_index;
	int mc_index;
};

struct sockaddr_un {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr;
	struct path path;
};

struct msghdr {
	void *msg_name;
	int msg_namelen;
	union {
		void *msg_control;
	};
	unsigned long msg_controllen;
	unsigned int msg_flags;
};

#pragma clang attribute pop

/* Later verifiers search the kernel's types, one after another, at each load from a pointer that they trust: most of
 * what it took to load these programs. From a pointer cast in this way they load without. It costs nothing when run: a
 * copy of a register. */
void *bpf_rdonly_cast(const void *object, __u32 type_id) __attribute__((weak, section(".ksyms")));

/* Has the kernel that function? By the loader. */
extern const volatile __u32 sbpf_rdonly_cast;

/* What lies at an address; only where sbpf_rdonly_cast says so. */
#define STRUCT_AT(address, type)                                                                                       \
	((struct type *)bpf_rdonly_cast((const void *)(address), bpf_core_type_id_kernel(struct type)))

#define QUICK_TO_VERIFY(pointer, type)                                                                                 \
	do {                                                                                                           \
		if (sbpf_rdonly_cast)                                                                                  \
			pointer = STRUCT_AT(pointer, type);                                                            \
	} while (0)

#include "kernel_numbers.h"
#include "user_types.h"

#endif
