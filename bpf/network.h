/* SPDX-License-Identifier: GPL-2.0-only */
/* From a socket and an address to the one network decision. */
#ifndef SBPF_NETWORK_H
#define SBPF_NETWORK_H

#include "gate.h"

/* What a network operation is about. */
struct endpoint {
	__u8 kind;  /* SBPF_RULE_CONNECT or SBPF_RULE_BIND */
	__u8 class; /* enum sbpf_socket_class */
	__u16 family;
	__u16 type;
	__u16 protocol;
	__u16 port; /* host byte order */
	/* Set by decide_endpoint(): the proxy that an allowed connection is sent to; port 0: it is not. */
	__u16 proxy_port;   /* host byte order */
	__u32 in_own_netns; /* of a socket of the sandbox's own: it is in the network namespace that was made for it */
	__u64 addr_be[2];
	__u64 proxy_be[2];
};

static __always_inline void endpoint_init(struct endpoint *ep, __u8 kind, __u16 family, __u16 type, __u16 protocol)
{
	ep->kind = kind;
	ep->class = sbpf_classify_socket(family, type, protocol);
	ep->family = family;
	ep->type = type;
	ep->protocol = protocol;
	ep->port = 0;
	ep->addr_be[0] = 0;
	ep->addr_be[1] = 0;
	ep->proxy_port = 0;
	ep->in_own_netns = 0;
}

static __always_inline void endpoint_v6(struct endpoint *ep, const __u32 words[4], __u16 port)
{
	__builtin_memcpy(ep->addr_be, words, 16);
	ep->port = port;
}

static __always_inline void endpoint_v4(struct endpoint *ep, __be32 v4, __u16 port)
{
	sbpf_map_v4(ep->addr_be, v4);
	ep->port = port;
}

enum address_result {
	ADDRESS_NONE = 0, /* AF_UNSPEC: dissolves an association, names no one */
	ADDRESS_OK = 1,
	ADDRESS_BAD = 2
};

static __always_inline struct sock *sock_of(struct socket *socket)
{
	struct sock *sk = socket->sk;

	QUICK_TO_VERIFY(sk, sock);
	return sk;
}

static __always_inline void endpoint_of_sock(struct endpoint *ep, __u8 kind, struct sock *sk)
{
	endpoint_init(ep, kind, sk->__sk_common.skc_family, sk->sk_type, sk->sk_protocol);
}

/* For who does not know whose socket it is. */
static __always_inline int is_in_own_netns(struct sock *sk, const struct sbpf_sandbox *sandbox)
{
	return sandbox->own_netns && sock_in_sandbox(sk, sandbox) &&
	       BPF_CORE_READ(sk, __sk_common.skc_net.net, net_cookie) == sandbox->own_netns;
}

static __always_inline void endpoint_of_peer(struct endpoint *ep, struct sock *sk)
{
	if (ep->family == AF_INET6) {
		__u32 words[4];

		__builtin_memcpy(words, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8, 16);
		endpoint_v6(ep, words, bpf_ntohs(sk->__sk_common.skc_dport));
	} else {
		endpoint_v4(ep, sk->__sk_common.skc_daddr, bpf_ntohs(sk->__sk_common.skc_dport));
	}
}

static __always_inline void endpoint_of_local(struct endpoint *ep, struct sock *sk)
{
	if (ep->family == AF_INET6) {
		__u32 words[4];

		__builtin_memcpy(words, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8, 16);
		endpoint_v6(ep, words, sk->__sk_common.skc_num);
	} else {
		endpoint_v4(ep, sk->__sk_common.skc_rcv_saddr, sk->__sk_common.skc_num);
	}
}

/* Where nobody puts loopback in the place of 0.0.0.0, the kernel leads a connection to the address that the socket is
 * bound to; and :: to ::1, or to 127.0.0.1 where that address is a mapped one. */
static __always_inline void wildcard_to_local(struct endpoint *ep, struct sock *sk)
{
	__u64 asked_be[2] = {ep->addr_be[0], ep->addr_be[1]};
	__u16 port = ep->port;

	if (!sbpf_is_wildcard(asked_be))
		return;
	endpoint_of_local(ep, sk);
	ep->port = port;
	if (!sbpf_is_wildcard(ep->addr_be)) {
		if (asked_be[1])
			return;
		if (!ep->addr_be[0] && (__u32)ep->addr_be[1] == 0xffff0000u) {
			ep->addr_be[1] = 0xffff0000u;
			ep->addr_be[1] = sbpf_loopback_of(ep->addr_be);
			return;
		}
	}
	ep->addr_be[0] = asked_be[0];
	ep->addr_be[1] = asked_be[1];
}

/* Reads a sockaddr that the kernel has copied in. What an address means follows from the socket's family first: a v4
 * socket takes AF_UNSPEC in sendto and bind as AF_INET, a v6 socket takes v4 addresses. */
static __always_inline enum address_result endpoint_from_sockaddr(struct endpoint *ep, const void *address, int len,
								  int unspec_is_v4)
{
	struct any_sockaddr sa = {};

	if (len >= 24) /* sockaddr_in6 without its scope id, as the kernel accepts it */
		bpf_probe_read_kernel(&sa, 24, address);
	else if (len >= 8)
		bpf_probe_read_kernel(&sa, 8, address);
	else if (len >= 2)
		bpf_probe_read_kernel(&sa, 2, address);
	else
		return ADDRESS_BAD;

	if (sa.family == AF_UNSPEC && (ep->family != AF_INET || !unspec_is_v4))
		return ADDRESS_NONE;
	if (sa.family == AF_INET || sa.family == AF_UNSPEC) {
		if (len < 8)
			return ADDRESS_BAD;
		endpoint_v4(ep, sa.v4, bpf_ntohs(sa.port));
		return ADDRESS_OK;
	}
	if (sa.family == AF_INET6 && len >= 24) {
		__u32 words[4];

		__builtin_memcpy(words, sa.v6, 16);
		endpoint_v6(ep, words, bpf_ntohs(sa.port));
		return ADDRESS_OK;
	}
	return ADDRESS_BAD;
}

/* Reads the name of a message, which a connected stream ignores. Apart from its callers, for the stack. */
static __noinline enum address_result endpoint_of_name(struct endpoint *ep, struct sock *sk, struct msghdr *msg)
{
	void *name = msg->msg_name;

	if (!name || !msg->msg_namelen || (ep->type == SOCK_STREAM && sk->__sk_common.skc_dport))
		return ADDRESS_NONE;
	return endpoint_from_sockaddr(ep, name, msg->msg_namelen, 1);
}

static __always_inline void denial_fill_net(struct denial *d, const struct endpoint *ep)
{
	d->net.family = ep->family;
	d->net.type = ep->type;
	d->net.protocol = ep->protocol;
	d->net.port = ep->port;
	__builtin_memcpy(d->net.addr, ep->addr_be, 16);
	d->net.level = 0;
	d->net.option = ep->in_own_netns;
}

static __always_inline int opens(void *names, const struct sbpf_rule_key *key, struct sbpf_net_query *q)
{
	struct sbpf_opened *opened = bpf_map_lookup_elem(names, key);

	return opened && sbpf_decide_opened(opened, q, bpf_ktime_get_boot_ns()) == SBPF_ALLOW;
}

/* Asked when no rule allows the endpoint: is it an address of a name that the sandbox asked for lately? */
static __noinline int is_opened(__u64 cgroup_id, struct sbpf_net_query *q)
{
	void *names = bpf_map_lookup_elem(&sbpf_host_names, &cgroup_id);
	struct sbpf_rule_key key;

	if (!names)
		return 0;
	sbpf_rule_key_init(&key, q, 128);
	key.match = SBPF_PORT_EXACT;
	key.port = q->port;
	if (opens(names, &key, q))
		return 1;
	key.match = SBPF_PORT_RANGES;
	key.port = 0;
	return opens(names, &key, q);
}

/* By the policy that has allowed it: a rule without its proxy allows nothing. A function of its own for the sake of the
 * stack, of which 512 bytes are counted over all callers. */
static __noinline int find_proxy(void *policy, const struct sbpf_net_query *q, struct endpoint *ep)
{
	const struct sbpf_via *via;

	via = sbpf_via_of(policy, q->rule);
	if (!via)
		return SBPF_REASON_NO_RULE;
	__builtin_memcpy(ep->proxy_be, via->addr, sizeof(ep->proxy_be));
	ep->proxy_port = via->port;
	return SBPF_REASON_NONE;
}

/* The one network decision (bpf/decide.h) on an endpoint, for the sandbox of this cgroup: the reason of a denial, or
 * SBPF_REASON_NONE; then a wildcard that a rule lets be connected to has become loopback. A global function: verified
 * once, not at each of its callers. */
__weak __noinline int decide_endpoint(__u64 cgroup_id, struct endpoint *ep)
{
	struct sbpf_net_query q = {};
	void *policy;

	if (!ep)
		return SBPF_REASON_NO_POLICY;
	policy = bpf_map_lookup_elem(&sbpf_policies, &cgroup_id);
	if (!policy)
		return SBPF_REASON_NO_POLICY;
	if (ep->class != SBPF_SOCKET_NORMAL) {
		if (sbpf_decide_socket(policy, ep->class) != SBPF_ALLOW)
			return SBPF_REASON_SOCKET_CLASS;
		/* Allowed by name, and then not by address: the name says dangerously. */
		if (ep->class != SBPF_SOCKET_MPTCP && ep->class != SBPF_SOCKET_UDPLITE)
			return SBPF_REASON_NONE;
	}
	q.kind = ep->kind;
	q.port = ep->port;
	q.proto = ep->type == 1 ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;
	q.addr_be[0] = ep->addr_be[0];
	q.addr_be[1] = ep->addr_be[1];
	if (sbpf_decide_net(policy, &q) != SBPF_ALLOW && !(q.host_names_id && is_opened(cgroup_id, &q))) {
		if (!ep->in_own_netns || sbpf_decide_own_loopback(policy, &q) != SBPF_ALLOW)
			return SBPF_REASON_NO_RULE;
		q.rule = SBPF_OWN_LOOPBACK;
	}
	if (q.kind == SBPF_RULE_CONNECT && q.rule != SBPF_NO_RULE && sbpf_is_wildcard(ep->addr_be))
		ep->addr_be[1] = sbpf_loopback_of(ep->addr_be);
	return q.proxied ? find_proxy(policy, &q, ep) : SBPF_REASON_NONE;
}

#endif
