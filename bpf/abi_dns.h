/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What host names opened, and whom connections were for that went elsewhere. A part of abi.h, which includes it. */
#ifndef SBPF_ABI_DNS_H
#define SBPF_ABI_DNS_H

/* ---- host names ----
 * What the sandbox's resolver was told for its names: keyed as the policy's rules for single addresses, one map a
 * sandbox. */
struct sbpf_opened {
	__u64 until_ns; /* CLOCK_BOOTTIME; a use shortly before goes on for a while, but not after `last_ns` */
	__u64 last_ns;
	__u32 host_names_id; /* policy_header.host_names_id that it was opened under; void under others, */
	__u32 also;	     /* but for this one: the same, or, while policies are swapped, the next */
	struct sbpf_rule rule;
	char name[SBPF_FLOW_NAME]; /* the end of the name that led here last, for records of flows */
};
SBPF_ASSERT(sizeof(struct sbpf_opened) == 24 + sizeof(struct sbpf_rule) + SBPF_FLOW_NAME);

#define SBPF_OPENED_PROLONG_NS 60000000000ull

/* With a socket: whom its queries were for before they were sent to the resolver, or its connection before it was sent
 * to a proxy. */
struct sbpf_origin {
	__u32 address_be[4]; /* IPv4 as ::ffff:a.b.c.d */
	__u64 proxy_be[2];   /* the proxy that it was sent to by a rule's via */
	__u64 cgroup_id;     /* of the sandbox whose rule sent it */
	__u16 port_be;
	__u16 proxy_port_be; /* 0: none */
	__u32 pad;
};
SBPF_ASSERT(sizeof(struct sbpf_origin) == 48);

/* A record of the iterator sbpf_proxied. Addresses as they lie in memory, v4 as ::ffff:a.b.c.d. */
struct sbpf_proxied {
	__u64 cookie;
	__u64 local_be[2];
	__u64 remote_be[2];
	__u32 netns;
	__u16 local_port;
	__u16 remote_port_be;
	struct sbpf_origin origin;
};
SBPF_ASSERT(sizeof(struct sbpf_proxied) == 96);

#endif
