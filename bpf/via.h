/* SPDX-License-Identifier: GPL-2.0-only */
/* Connections that a rule leads to a proxy (via): docs/DESIGN.md, Through a proxy. */
#ifndef SBPF_VIA_H
#define SBPF_VIA_H

#include "network.h"

/* Keeps with the socket whom its connection is for. 0: there is no room, and it is denied. */
static __noinline int keep_origin(struct bpf_sock_addr *ctx, __u64 cgroup_id, const struct endpoint *ep)
{
	struct bpf_sock *sk = ctx->sk;
	struct sbpf_origin *origin;

	if (!sk)
		return 0;
	origin = bpf_sk_storage_get(&sbpf_origins, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!origin)
		return 0;
	__builtin_memcpy(origin->address_be, ep->addr_be, sizeof(origin->address_be));
	__builtin_memcpy(origin->proxy_be, ep->proxy_be, sizeof(origin->proxy_be));
	origin->port_be = bpf_htons(ep->port);
	origin->proxy_port_be = bpf_htons(ep->proxy_port);
	origin->cgroup_id = cgroup_id;
	return 1;
}

static __always_inline int to_proxy_v4(struct bpf_sock_addr *ctx, __u64 cgroup_id, const struct endpoint *ep)
{
	if (!keep_origin(ctx, cgroup_id, ep))
		return 0;
	ctx->user_ip4 = ep->proxy_be[1] >> 32;
	ctx->user_port = bpf_htons(ep->proxy_port);
	return 1;
}

/* An IPv6-only socket cannot connect to an IPv4 address: the kernel refuses it with ENETUNREACH. */
static __always_inline int to_proxy_v6(struct bpf_sock_addr *ctx, __u64 cgroup_id, const struct endpoint *ep)
{
	if (!keep_origin(ctx, cgroup_id, ep))
		return 0;
	ctx->user_ip6[0] = ep->proxy_be[0];
	ctx->user_ip6[1] = ep->proxy_be[0] >> 32;
	ctx->user_ip6[2] = ep->proxy_be[1];
	ctx->user_ip6[3] = ep->proxy_be[1] >> 32;
	ctx->user_port = bpf_htons(ep->proxy_port);
	return 1;
}

#endif
