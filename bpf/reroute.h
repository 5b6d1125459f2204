/* SPDX-License-Identifier: GPL-2.0-only */
/* What sends a packet elsewhere than to the address that is judged: ancillary data of a send, and what a socket had
 * before it came under the policy. Options that are set later are judged by socket_setsockopt. */
#ifndef SBPF_REROUTE_H
#define SBPF_REROUTE_H

#include "gate.h"

#define CMSG_LIMIT 16

/* What ancillary data say of the way of a packet, beside what is refused whatever it is. */
struct route_control {
	int risky;
	int index;	  /* of the interface; 0: none is named */
	__u64 from_be[2]; /* the source's mapped address; 0: none is named */
};

struct packet_info6 {
	__u64 from_be[2];
	int index;
};

struct packet_info4 {
	int index;
	__be32 from;
};

/* 0: it names another interface or source than one before. */
static __always_inline int read_packet_info(struct route_control *control, int level, __u64 at)
{
	__u64 from_be[2] = {};
	int index;

	if (level) {
		struct packet_info6 info = {};

		if (bpf_probe_read_kernel(&info, sizeof(info), (void *)at))
			return 0;
		index = info.index;
		from_be[0] = info.from_be[0];
		from_be[1] = info.from_be[1];
	} else {
		struct packet_info4 info = {};

		if (bpf_probe_read_kernel(&info, sizeof(info), (void *)at))
			return 0;
		index = info.index;
		if (info.from)
			sbpf_map_v4(from_be, info.from);
	}
	if (index && control->index && index != control->index)
		return 0;
	if (index)
		control->index = index;
	if (!from_be[0] && !from_be[1])
		return 1;
	if ((control->from_be[0] || control->from_be[1]) &&
	    (from_be[0] != control->from_be[0] || from_be[1] != control->from_be[1]))
		return 0;
	control->from_be[0] = from_be[0];
	control->from_be[1] = from_be[1];
	return 1;
}

/* Walks ancillary data (the kernel's copy, native layout) for headers that re-route; risky also when it is too long to
 * tell. Global, and so walked once by the verifier. */
__weak __noinline int read_control(__u64 data, __u64 len, struct route_control *control)
{
	__u64 offset = 0;

	if (!control)
		return 0;
	control->risky = 1;
	for (int i = 0; i < CMSG_LIMIT; i++) {
		struct cmsg_header header;

		if (offset + sizeof(header) > len)
			goto read;
		if (bpf_probe_read_kernel(&header, sizeof(header), (void *)(data + offset)))
			return 0;
		if (header.len < sizeof(header) || header.len > len - offset)
			goto read; /* malformed: the kernel refuses it with EINVAL */
		if (sbpf_risky_cmsg(header.level, header.type))
			return 0;
		if (sbpf_is_packet_info(header.level, header.type) &&
		    !read_packet_info(control, header.level, data + offset + sizeof(header)))
			return 0;
		offset += (header.len + 7) & ~7ull;
	}
	return 0;
read:
	control->risky = 0;
	return 0;
}

static __always_inline void control_of_message(struct route_control *control, struct msghdr *msg)
{
	__u64 data = 0;

	/* By probe: since 7.2 a void pointer read directly is a memory region, which a global function does not take.
	 */
	bpf_core_read(&data, sizeof(data), &msg->msg_control);
	read_control(data, msg->msg_controllen, control);
}

/* What policy routing and IPsec go by; members apart from kernel_types.h, for its length. */
struct sock___steered {
	__u32 sk_mark;
	void *sk_policy[2];
} __attribute__((preserve_access_index));

#define SBPF_SOCK_LOCALROUTE 13 /* of enum sock_flags */

/* None can be set inside. The kernel has no such policies where it is built without IPsec. */
static __noinline int is_steered(struct sock *sk)
{
	const struct sock___steered *steered = (const struct sock___steered *)sk;
	void *policies[2] = {};
	__u32 mark = 1;

	bpf_core_read(&mark, sizeof(mark), &steered->sk_mark);
	if (bpf_core_field_exists(steered->sk_policy))
		bpf_core_read(policies, sizeof(policies), &steered->sk_policy);
	return mark || sk->__sk_common.skc_flags >> SBPF_SOCK_LOCALROUTE & 1 || policies[0] || policies[1];
}

/* Source routes and extension headers that were set before the socket came under the policy, and flow labels, each of
 * which may bring some. */
static __always_inline int has_header_options(struct sock *sk)
{
	const struct inet_sock *inet = (const struct inet_sock *)sk;
	struct ipv6_pinfo *pinet6 = NULL;
	void *options = NULL;

	bpf_core_read(&options, sizeof(options), &inet->inet_opt);
	if (options)
		return 1;
	if (sk->__sk_common.skc_family != AF_INET6)
		return 0;
	bpf_core_read(&pinet6, sizeof(pinet6), &inet->pinet6);
	bpf_core_read(&options, sizeof(options), &pinet6->opt);
	if (options)
		return 1;
	if (bpf_core_field_exists(inet->ipv6_fl_list))
		bpf_core_read(&options, sizeof(options), &inet->ipv6_fl_list);
	else if (bpf_core_field_exists(pinet6->ipv6_fl_list))
		bpf_core_read(&options, sizeof(options), &pinet6->ipv6_fl_list);
	else
		return 1; /* it cannot be told */
	return !!options;
}

/* Could the socket be prepared before the policy was in force? */
static __always_inline int is_early(const struct sbpf_sandbox *sandbox, int own)
{
	return !own || sandbox->flags & SBPF_SANDBOX_ATTACHED;
}

/* Can what is sent by this socket go elsewhere than to the address that is judged? */
static __always_inline int may_be_rerouted(const struct sbpf_sandbox *sandbox, struct sock *sk, int own)
{
	return is_early(sandbox, own) && (is_steered(sk) || has_header_options(sk)) &&
	       !sandbox_allows_all_network(sandbox);
}

#endif
