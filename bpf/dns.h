/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries of DNS go to the sandbox's resolver, whomever they are for, and come back from there: docs/DNS.md. */
#ifndef SBPF_DNS_H
#define SBPF_DNS_H

#include "network.h"

#define LOOPBACK_BE bpf_htonl(0x7f000001)
#define MAPPED_BE   bpf_htonl(0xffff)

/* The canary of these hooks is sent to itself, whether there is a resolver or not, and must see where it meant to go.
 */
static __always_inline int is_dns_canary(void)
{
	return is_canary_task() &&
	       (sbpf_canary.hook == SBPF_HOOK_recvmsg4 || sbpf_canary.hook == SBPF_HOOK_recvmsg6 ||
		sbpf_canary.hook == SBPF_HOOK_getpeername4 || sbpf_canary.hook == SBPF_HOOK_getpeername6);
}

static __always_inline const struct sbpf_policy_header *header_of(__u64 cgroup_id)
{
	void *policy = bpf_map_lookup_elem(&sbpf_policies, &cgroup_id);

	return policy ? sbpf_header_of(policy) : NULL;
}

static __always_inline int has_host_names(__u64 cgroup_id)
{
	const struct sbpf_policy_header *header = header_of(cgroup_id);

	return header && header->host_names_id;
}

/* Keeps whom the query is for, and gives the port to put in its place, of the resolver's two; 0: it is denied. */
static __noinline int redirect(struct bpf_sock_addr *ctx, __u64 cgroup_id, __u32 resolver_be, const struct endpoint *ep)
{
	struct sbpf_origin *origin;
	struct bpf_sock *sk = ctx->sk;
	int canary;

	if (ep->class != SBPF_SOCKET_NORMAL || !sk)
		return 0;
	canary = is_dns_canary();
	if (!canary && (ep->port != SBPF_DNS_PORT || !resolver_be || !has_host_names(cgroup_id)))
		return 0;
	origin = bpf_sk_storage_get(&sbpf_origins, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
	if (!origin)
		return 0;
	__builtin_memcpy(origin->address_be, ep->addr_be, sizeof(origin->address_be));
	origin->port_be = bpf_htons(ep->port);
	origin->proxy_port_be = 0;
	if (!canary)
		return resolver_be;
	return sk->src_port ? bpf_htons(sk->src_port) : bpf_htons(ep->port);
}

/* A bind to no address and no port before a query, as dig and musl make it. The kernel does the same by itself for a
 * socket that sends unbound. Only a sandbox with host names may make this bind, because a bound socket can also
 * receive. */
static __noinline int binds_to_ask(const struct sbpf_cgroup_ref *ref, const struct endpoint *ep)
{
	if (ep->port || !sbpf_is_wildcard(ep->addr_be))
		return 0;
	return ep->class == SBPF_SOCKET_NORMAL && ref->dns4_be && has_host_names(ref->cgroup_id);
}

static __always_inline int to_resolver_v4(struct bpf_sock_addr *ctx, const struct sbpf_cgroup_ref *ref,
					  const struct endpoint *ep)
{
	int port = redirect(ctx, ref->cgroup_id, ref->dns4_be, ep);

	if (!port)
		return 0;
	ctx->user_ip4 = LOOPBACK_BE;
	ctx->user_port = port;
	return 1;
}

/* An IPv4 address on an IPv6 socket stays one. */
static __always_inline int to_resolver_v6(struct bpf_sock_addr *ctx, const struct sbpf_cgroup_ref *ref,
					  const struct endpoint *ep)
{
	int mapped = !ep->addr_be[0] && (__u32)ep->addr_be[1] == MAPPED_BE;
	int port = redirect(ctx, ref->cgroup_id, mapped ? ref->dns4_be : ref->dns6_be, ep);

	if (!port)
		return 0;
	ctx->user_ip6[0] = 0;
	ctx->user_ip6[1] = 0;
	ctx->user_ip6[2] = mapped ? MAPPED_BE : 0;
	ctx->user_ip6[3] = mapped ? LOOPBACK_BE : bpf_htonl(1);
	ctx->user_port = port;
	return 1;
}

/* Whom a query of this socket was for, if it is the resolver that the kernel is about to name. */
static __always_inline struct sbpf_origin *origin_of(struct bpf_sock_addr *ctx, __u32 hook, __u32 resolver_be,
						     int loopback)
{
	struct bpf_sock *sk = ctx->sk;

	if (unlikely(is_canary(hook)))
		sbpf_canary.hit = hook + 1;
	else if (!resolver_be || !loopback || (__u16)ctx->user_port != resolver_be)
		return NULL;
	return sk ? bpf_sk_storage_get(&sbpf_origins, sk, 0, 0) : NULL;
}

static __always_inline void give_origin_v4(struct bpf_sock_addr *ctx, __u32 hook)
{
	struct sbpf_cgroup_ref *ref = bpf_get_local_storage(&sbpf_cgroup_refs, 0);
	struct sbpf_origin *origin = origin_of(ctx, hook, ref->dns4_be, ctx->user_ip4 == LOOPBACK_BE);

	if (!origin)
		return;
	ctx->user_ip4 = origin->address_be[3];
	ctx->user_port = origin->port_be;
}

static __always_inline void give_origin_v6(struct bpf_sock_addr *ctx, __u32 hook)
{
	struct sbpf_cgroup_ref *ref = bpf_get_local_storage(&sbpf_cgroup_refs, 0);
	int far = ctx->user_ip6[0] | ctx->user_ip6[1];
	int mapped = ctx->user_ip6[2] == MAPPED_BE && ctx->user_ip6[3] == LOOPBACK_BE;
	int own = !ctx->user_ip6[2] && ctx->user_ip6[3] == bpf_htonl(1);
	struct sbpf_origin *origin =
	    origin_of(ctx, hook, mapped ? ref->dns4_be : ref->dns6_be, !far && (mapped || own));

	if (!origin)
		return;
	ctx->user_ip6[0] = origin->address_be[0];
	ctx->user_ip6[1] = origin->address_be[1];
	ctx->user_ip6[2] = origin->address_be[2];
	ctx->user_ip6[3] = origin->address_be[3];
	ctx->user_port = origin->port_be;
}

#endif
