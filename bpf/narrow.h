/* SPDX-License-Identifier: GPL-2.0-only */
/* A bind to the wildcard that no rule allows becomes one to loopback, if a rule allows that: docs/DESIGN.md, Binds to
 * the wildcard. */
#ifndef SBPF_NARROW_H
#define SBPF_NARROW_H

#include "dns.h"

static __always_inline int is_audited(__u64 cgroup_id)
{
	const struct sbpf_policy_header *header = header_of(cgroup_id);

	return !header || header->flags & SBPF_POLICY_AUDIT;
}

/* Finds the address, and puts it in the place of the wildcard. In audit mode there is none: that mode changes nothing.
 */
static __noinline int narrow(const struct sbpf_cgroup_ref *ref, struct endpoint *ep, int v6only)
{
	__u64 wildcard_be[2] = {0, ep->addr_be[1]};

	/* Who may ask for names sends its queries from there, to any resolver. A stream would rather listen. */
	if (ep->type == SOCK_DGRAM && ref->dns4_be && binds_to_ask(ref, ep))
		return 0;
	if (is_audited(ref->cgroup_id))
		return 0;
	for (int turn = 0; turn < 2; turn++) {
		ep->addr_be[1] = sbpf_narrowed(wildcard_be, v6only, turn);
		if (ep->addr_be[1] && decide_endpoint(ref->cgroup_id, ep) == SBPF_REASON_NONE)
			return 1;
	}
	ep->addr_be[1] = wildcard_be[1];
	return 0;
}

/* The kernel takes AF_UNSPEC for AF_INET with the wildcard only: that bind is refused as before. */
static __always_inline int narrow_v4(struct bpf_sock_addr *ctx, const struct sbpf_cgroup_ref *ref, struct endpoint *ep)
{
	if (!sbpf_is_wildcard(ep->addr_be) || ctx->user_family != AF_INET || !narrow(ref, ep, 0))
		return 0;
	ctx->user_ip4 = ep->addr_be[1] >> 32;
	return 1;
}

static __always_inline int is_v6only(struct bpf_sock_addr *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct sock *whole;

	if (!sk)
		return 1;
	whole = (struct sock *)bpf_skc_to_tcp6_sock(sk);
	if (!whole)
		whole = (struct sock *)bpf_skc_to_udp6_sock(sk);
	return !whole || BPF_CORE_READ_BITFIELD(&whole->__sk_common, skc_ipv6only);
}

static __always_inline int narrow_v6(struct bpf_sock_addr *ctx, const struct sbpf_cgroup_ref *ref, struct endpoint *ep)
{
	if (!sbpf_is_wildcard(ep->addr_be) || !narrow(ref, ep, is_v6only(ctx)))
		return 0;
	ctx->user_ip6[2] = ep->addr_be[1];
	ctx->user_ip6[3] = ep->addr_be[1] >> 32;
	return 1;
}

#endif
