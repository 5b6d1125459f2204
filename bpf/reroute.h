/* SPDX-License-Identifier: GPL-2.0-only */
/* What sends a packet elsewhere than to the address that is judged: ancillary data of a send, and what a socket had before it came
 * under the policy. Options that are set later are judged by socket_setsockopt. */
#ifndef SBPF_REROUTE_H
#define SBPF_REROUTE_H

#include "gate.h"

#define CMSG_LIMIT 16

#define RISKY_CONTROL -1
#define PACKET_INFO_INDEX 16 /* of in6_pktinfo, behind the address; of in_pktinfo it is the first */

/* Walks ancillary data (the kernel's copy, native layout) for headers that re-route. RISKY_CONTROL, also when too long to tell; or
 * the number of the interface that they name, 0 if none. Global, and so walked once by the verifier. */
__weak __noinline int risky_control(__u64 control, __u64 len)
{
	__u64 offset = 0;
	int named = 0;

	for (int i = 0; i < CMSG_LIMIT; i++) {
		struct cmsg_header header;

		if (offset + sizeof(header) > len)
			return named;
		if (bpf_probe_read_kernel(&header, sizeof(header), (void *)(control + offset)))
			return RISKY_CONTROL;
		if (header.len < sizeof(header) || header.len > len - offset)
			return named; /* malformed: the kernel refuses it with EINVAL */
		if (sbpf_risky_cmsg(header.level, header.type))
			return RISKY_CONTROL;
		if (sbpf_is_packet_info(header.level, header.type)) {
			__u64 at = control + offset + sizeof(header) + (header.level ? PACKET_INFO_INDEX : 0);
			int index = 0;

			if (bpf_probe_read_kernel(&index, sizeof(index), (void *)at) || (named && index && index != named))
				return RISKY_CONTROL;
			if (index)
				named = index;
		}
		offset += (header.len + 7) & ~7ull;
	}
	return RISKY_CONTROL;
}

static __always_inline int risk_of_control(struct msghdr *msg)
{
	__u64 control = 0;

	/* By probe: since 7.2 a void pointer read directly is a memory region, which a global function does not take. */
	bpf_core_read(&control, sizeof(control), &msg->msg_control);
	return risky_control(control, msg->msg_controllen);
}

/* Source routes and extension headers that were set before the socket came under the policy, and flow labels, each of which may
 * bring some. */
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
static __always_inline int is_early(const struct sbpf_sandbox *box, int own)
{
	return !own || box->flags & SBPF_SANDBOX_ATTACHED;
}

/* Can what is sent by this socket go elsewhere than to the address that is judged? */
static __always_inline int may_be_rerouted(const struct sbpf_sandbox *box, struct sock *sk, int own)
{
	return is_early(box, own) && has_header_options(sk) && !box_allows_all_network(box);
}

#endif
