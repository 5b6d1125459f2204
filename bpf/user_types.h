/* SPDX-License-Identifier: GPL-2.0-only */
/* Layouts that the kernel shares with user space, fixed forever: no relocation. */
#ifndef SBPF_USER_TYPES_H
#define SBPF_USER_TYPES_H

struct sockaddr {
	__u16 sa_family;
	char sa_data[14];
};

struct any_sockaddr {
	__u16 family;
	__be16 port;
	union {
		__be32 v4;
		struct {
			__u32 flowinfo;
			__u32 v6[4];
		};
	};
} __attribute__((packed));

struct cmsg_header {
	__u64 len;
	__s32 level;
	__s32 type;
};

#endif
