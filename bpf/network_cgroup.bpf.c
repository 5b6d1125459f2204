// SPDX-License-Identifier: GPL-2.0-only
/* Network domain, cgroup layer: attached to each sandbox's cgroup, follows the *socket's* cgroup.
 *
 * hook         kernel                                   refuses                          does not see
 * connect4/6   inet_dgram_connect, tcp_v4/6_connect,    TCP and UDP connects, FASTOPEN,  SCTP, raw sends, AF_PACKET, VSOCK,
 *              udp_pre_connect, ping_pre_connect        mapped v4 on v6                  AF_UNIX; sockets of other cgroups
 *                                                       (those with `via` go to a proxy)
 * sendmsg4/6   udp_sendmsg, udpv6_sendmsg               UDP to an address, mapped v4     connected sends (connect judged them),
 *                                                       arrives at sendmsg4              source routes in IP options; what
 *                                                                                        comes back (docs/THREATS.md)
 * bind4/6      __inet_bind, inet6_bind                  binds (to the wildcard may       autobind by listen (socket_listen)
 *                                                       become one to loopback)
 * sock_create  inet_create, inet6_create                every protocol but TCP and UDP   AF_PACKET and other families
 *                                                                                        (socket_create)
 * recvmsg4/6   udp_recvmsg, udpv6_recvmsg               nothing: an answer of the        TCP, which has no such hook
 *                                                       resolver's gets the address
 *                                                       that was asked (dns.h)
 * getpeername4/6 inet_getname, inet6_getname            nothing: likewise                the kernel's own records (/proc/net)
 * What this layer does not see, network_lsm.bpf.c does; neither is enough alone. */
#include "flows.h"
#include "narrow.h"
#include "via.h"

/* 1 = allow, 0 = deny with EPERM, as cgroup programs answer. */
static __noinline int cgroup_deny(__u64 cgroup_id, struct denial *denial, const struct endpoint *ep, int reason)
{
	struct sbpf_sandbox *sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &cgroup_id);

	if (!sandbox)
		return 0;
	denial->reason = reason;
	denial_fill_net(denial, ep);
	if (refuse(sandbox, denial))
		return 0;
	return 1;
}

static __noinline int is_own_netns(__u64 cgroup_id, __u64 netns)
{
	struct sbpf_sandbox *sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &cgroup_id);

	return sandbox && sandbox->own_netns == netns;
}

static __always_inline int allows_v4(struct bpf_sock_addr *ctx, struct denial *denial, __u8 kind)
{
	struct sbpf_cgroup_ref *ref = bpf_get_local_storage(&sbpf_cgroup_refs, 0);
	struct endpoint ep;
	int reason;

	endpoint_init(&ep, kind, AF_INET, ctx->type, ctx->protocol);
	endpoint_v4(&ep, ctx->user_ip4, bpf_ntohs((__u16)ctx->user_port));
	if (unlikely(ref->flags & SBPF_REF_OWN_NETNS))
		ep.in_own_netns = is_own_netns(ref->cgroup_id, bpf_get_netns_cookie(ctx));
	reason = decide_endpoint(ref->cgroup_id, &ep);
	/* What was judged. The kernel would take the address that the socket is bound to. Audit mode changes nothing.
	 */
	if (kind == SBPF_RULE_CONNECT && !ctx->user_ip4 && reason == SBPF_REASON_NONE && !is_audited(ref->cgroup_id))
		ctx->user_ip4 = ep.addr_be[1] >> 32;
	if (reason == SBPF_REASON_NONE && unlikely(ref->flags & SBPF_REF_RECORD) && kind == SBPF_RULE_CONNECT)
		record_flow(ctx, ref->cgroup_id, denial->hook, &ep);
	if (reason == SBPF_REASON_NONE && !ep.proxy_port)
		return 1;
	if (reason == SBPF_REASON_NONE && to_proxy_v4(ctx, ref->cgroup_id, &ep))
		return 1;
	if (kind == SBPF_RULE_BIND && reason == SBPF_REASON_NO_RULE && narrow_v4(ctx, ref, &ep))
		return 1;
	if (ref->dns4_be && reason == SBPF_REASON_NO_RULE &&
	    (kind == SBPF_RULE_CONNECT ? to_resolver_v4(ctx, ref, &ep) : binds_to_ask(ref, &ep)))
		return 1;
	denial->quiet = kind == SBPF_RULE_CONNECT && !ep.port; /* getaddrinfo's question which source it would have */
	return cgroup_deny(ref->cgroup_id, denial, &ep, reason == SBPF_REASON_NONE ? SBPF_REASON_NO_RULE : reason);
}

static __always_inline int allows_v6(struct bpf_sock_addr *ctx, struct denial *denial, __u8 kind)
{
	struct sbpf_cgroup_ref *ref = bpf_get_local_storage(&sbpf_cgroup_refs, 0);
	__u32 words[4];
	struct endpoint ep;
	int reason, wildcard;

	words[0] = ctx->user_ip6[0];
	words[1] = ctx->user_ip6[1];
	words[2] = ctx->user_ip6[2];
	words[3] = ctx->user_ip6[3];
	endpoint_init(&ep, kind, AF_INET6, ctx->type, ctx->protocol);
	endpoint_v6(&ep, words, bpf_ntohs((__u16)ctx->user_port));
	if (unlikely(ref->flags & SBPF_REF_OWN_NETNS))
		ep.in_own_netns = is_own_netns(ref->cgroup_id, bpf_get_netns_cookie(ctx));
	wildcard = kind == SBPF_RULE_CONNECT && sbpf_is_wildcard(ep.addr_be);
	reason = decide_endpoint(ref->cgroup_id, &ep);
	if (wildcard && reason == SBPF_REASON_NONE && !is_audited(ref->cgroup_id))
		ctx->user_ip6[3] = ep.addr_be[1] >> 32;
	if (reason == SBPF_REASON_NONE && unlikely(ref->flags & SBPF_REF_RECORD) && kind == SBPF_RULE_CONNECT)
		record_flow(ctx, ref->cgroup_id, denial->hook, &ep);
	if (reason == SBPF_REASON_NONE && !ep.proxy_port)
		return 1;
	if (reason == SBPF_REASON_NONE && to_proxy_v6(ctx, ref->cgroup_id, &ep))
		return 1;
	if (kind == SBPF_RULE_BIND && reason == SBPF_REASON_NO_RULE && narrow_v6(ctx, ref, &ep))
		return 1;
	if (ref->dns4_be && reason == SBPF_REASON_NO_RULE &&
	    (kind == SBPF_RULE_CONNECT ? to_resolver_v6(ctx, ref, &ep) : binds_to_ask(ref, &ep)))
		return 1;
	denial->quiet = kind == SBPF_RULE_CONNECT && !ep.port; /* getaddrinfo's question which source it would have */
	return cgroup_deny(ref->cgroup_id, denial, &ep, reason == SBPF_REASON_NONE ? SBPF_REASON_NO_RULE : reason);
}

#define ADDRESS_HOOK(name, version, kind)                                                                              \
	SEC("cgroup/" #name)                                                                                           \
	int hook_##name(struct bpf_sock_addr *ctx)                                                                     \
	{                                                                                                              \
		struct denial denial = DENIAL(name, SBPF_REASON_NO_RULE);                                              \
                                                                                                                       \
		if (allows_v##version(ctx, &denial, kind))                                                             \
			return 1;                                                                                      \
		return 0;                                                                                              \
	}

ADDRESS_HOOK(connect4, 4, SBPF_RULE_CONNECT)
ADDRESS_HOOK(connect6, 6, SBPF_RULE_CONNECT)
ADDRESS_HOOK(sendmsg4, 4, SBPF_RULE_CONNECT)
ADDRESS_HOOK(sendmsg6, 6, SBPF_RULE_CONNECT)
ADDRESS_HOOK(bind4, 4, SBPF_RULE_BIND)
ADDRESS_HOOK(bind6, 6, SBPF_RULE_BIND)

/* Refuse nothing: the kernel takes no other answer of them. */
#define ORIGIN_HOOK(name, version)                                                                                     \
	SEC("cgroup/" #name)                                                                                           \
	int hook_##name(struct bpf_sock_addr *ctx)                                                                     \
	{                                                                                                              \
		give_origin_v##version(ctx, SBPF_HOOK_##name);                                                         \
		return 1;                                                                                              \
	}

ORIGIN_HOOK(recvmsg4, 4)
ORIGIN_HOOK(recvmsg6, 6)
ORIGIN_HOOK(getpeername4, 4)
ORIGIN_HOOK(getpeername6, 6)

SEC("cgroup/sock_create")
int hook_sock_create(struct bpf_sock *ctx)
{
	struct denial denial = DENIAL(sock_create, SBPF_REASON_SOCKET_CLASS);
	struct sbpf_cgroup_ref *ref = bpf_get_local_storage(&sbpf_cgroup_refs, 0);
	__u64 id = ref->cgroup_id;
	int reason = SBPF_REASON_SOCKET_CLASS;
	struct endpoint ep;
	void *policy;

	endpoint_init(&ep, SBPF_RULE_CONNECT, ctx->family, ctx->type, ctx->protocol);
	if (is_canary(SBPF_HOOK_sock_create)) {
		reason = SBPF_REASON_CANARY;
	} else if (ep.class == SBPF_SOCKET_NORMAL && id) {
		return 1; /* every policy allows it; its addresses are what is judged */
	} else {
		policy = bpf_map_lookup_elem(&sbpf_policies, &id);
		if (!policy)
			reason = SBPF_REASON_NO_POLICY;
		else if (sbpf_decide_socket(policy, ep.class) == SBPF_ALLOW)
			return 1;
	}
	if (cgroup_deny(id, &denial, &ep, reason))
		return 1;
	return 0;
}
