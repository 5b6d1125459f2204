/* SPDX-License-Identifier: GPL-2.0-only */
/* By which interface was a send or connection told to leave, and may it? An address that a policy allows means another
 * host on another interface: with one named, the kernel takes any address to be on that link. Options that name one are
 * refused by socket_setsockopt (decide_option.h). Judged here, by its name in the socket's own network namespace, is
 * what comes with a message (packet info, the scope of its address), what a socket had before it came under the policy,
 * and what it is bound to. */
#ifndef SBPF_INTERFACE_H
#define SBPF_INTERFACE_H

#include "network.h"
#include "reroute.h"

#define LOOPBACK_INDEX	  1
#define DEVICE_BUCKETS	  256
#define DEVICES_IN_BUCKET 64
#define INTERFACE_NAME	  16

struct device_search {
	__u64 node; /* by its address */
	int index;
	int found;
	char name[INTERFACE_NAME]; /* zeros behind the end */
};

static long search_device(__u64 i, struct device_search *search)
{
	const void *device = (void *)search->node - bpf_core_field_offset(struct net_device, index_hlist);
	int index = 0;

	if (!search->node)
		return 1;
	bpf_probe_read_kernel(&index, sizeof(index), device + bpf_core_field_offset(struct net_device, ifindex));
	if (index == search->index) {
		search->found = bpf_probe_read_kernel_str(search->name, sizeof(search->name),
							  device + bpf_core_field_offset(struct net_device, name)) > 0;
		return 1;
	}
	if (bpf_probe_read_kernel(&search->node, sizeof(search->node), (void *)search->node))
		return 1;
	return 0;
}

/* Finds the name of an interface by its number in the socket's network namespace. 0: there is none, or too many to look
 * at. */
static __always_inline int find_interface(struct device_search *search, struct sock *sk, int index)
{
	struct hlist_head *buckets = BPF_CORE_READ(sk, __sk_common.skc_net.net, dev_index_head);

	__builtin_memset(search, 0, sizeof(*search));
	search->index = index;
	if (!buckets ||
	    bpf_probe_read_kernel(&search->node, sizeof(search->node), buckets + (index & (DEVICE_BUCKETS - 1))))
		return 0;
	SBPF_REPEAT(DEVICES_IN_BUCKET, search_device, search);
	return search->found;
}

/* The one that all options of the socket name. */
static __noinline int interface_of_socket(struct sock *sk)
{
	const struct inet_sock *inet = (const struct inet_sock *)sk;
	struct ipv6_pinfo *pinet6 = NULL;
	int named[6] = {sk->__sk_common.skc_bound_dev_if};
	int one = 0;

	bpf_core_read(&named[1], sizeof(int), &inet->uc_index);
	bpf_core_read(&named[2], sizeof(int), &inet->mc_index);
	if (sk->__sk_common.skc_family == AF_INET6) {
		bpf_core_read(&pinet6, sizeof(pinet6), &inet->pinet6);
		bpf_core_read(&named[3], sizeof(int), &pinet6->ucast_oif);
		bpf_core_read(&named[4], sizeof(int), &pinet6->mcast_oif);
		bpf_core_read(&named[5], sizeof(int), &pinet6->sticky_pktinfo.ipi6_ifindex);
	}
	for (int i = 0; i < 6; i++) {
		if (named[i] && one && named[i] != one)
			return -1;
		if (named[i])
			one = named[i];
	}
	return one;
}

/* The number behind the address of a sockaddr_in6 that has one. */
static __always_inline int interface_of_scope(const struct endpoint *to, const void *address, int len)
{
	int scope = 0;

	if (to->family == AF_INET6 && len >= 28 && sbpf_has_scope(to->addr_be))
		bpf_probe_read_kernel(&scope, sizeof(scope), address + 24);
	return scope;
}

static __noinline int may_leave_by(struct sbpf_sandbox *sandbox, struct sock *sk, int index, const struct endpoint *to)
{
	struct device_search search;
	void *policy;

	if (sbpf_is_loopback(to->addr_be))
		return index == LOOPBACK_INDEX;
	policy = sandbox_policy(sandbox);
	return policy && index > 0 && find_interface(&search, sk, index) && sbpf_lists_interface(policy, search.name);
}

/* The number of the one by which a packet may not leave; 0: there is none. */
static __always_inline int first_refused(struct sbpf_sandbox *sandbox, struct sock *sk, const struct endpoint *to,
					 int by_socket, int by_scope, int by_control)
{
	if (by_socket && !may_leave_by(sandbox, sk, by_socket, to))
		return by_socket;
	if (by_scope && !may_leave_by(sandbox, sk, by_scope, to))
		return by_scope;
	return by_control && !may_leave_by(sandbox, sk, by_control, to) ? by_control : 0;
}

/* What the socket was told: early ones, by all options; its own, only to what the kernel bound them: a link-local
 * address of bind or connect, or the link from which such a peer came whom it accepted. */
static __always_inline int named_by_socket(const struct sbpf_sandbox *sandbox, struct sock *sk, int own)
{
	return is_early(sandbox, own) ? interface_of_socket(sk) : sk->__sk_common.skc_bound_dev_if;
}

/* Names it in the place of the address. */
static __noinline int refuse_interface(struct sbpf_sandbox *sandbox, struct denial *d, struct sock *sk, int index)
{
	struct device_search search;

	if (sandbox_allows_all_network(sandbox))
		return 0;
	d->reason = SBPF_REASON_INTERFACE;
	d->net.option = index;
	find_interface(&search, sk, index);
	__builtin_memcpy(d->net.addr, search.name, sizeof(d->net.addr));
	return refuse(sandbox, d);
}

static __always_inline void denial_of_sock(struct denial *d, const struct endpoint *ep)
{
	denial_fill_net(d, ep);
	d->net.level = sbpf_is_loopback(ep->addr_be);
}

/* Of a connect; and of a bind, to whose scope the socket is bound. */
static __noinline int judge_interface_of_address(struct sbpf_sandbox *sandbox, struct denial *d, struct sock *sk,
						 const void *address, int len)
{
	int named = 0, index;
	struct endpoint to;

	if (sk->__sk_common.skc_family != AF_INET6 && sk->__sk_common.skc_family != AF_INET)
		return 0;
	if (d->hook == SBPF_HOOK_socket_connect)
		named = named_by_socket(sandbox, sk, sock_in_sandbox(sk, sandbox));
	if (sk->__sk_common.skc_family == AF_INET && !named)
		return 0;
	endpoint_of_sock(&to, SBPF_RULE_CONNECT, sk);
	if (endpoint_from_sockaddr(&to, address, len, 1) != ADDRESS_OK)
		return 0; /* judged by judge_address() */
	index = first_refused(sandbox, sk, &to, named, interface_of_scope(&to, address, len), 0);
	if (!index)
		return 0;
	denial_of_sock(d, &to);
	return refuse_interface(sandbox, d, sk, index);
}

/* May packets be told to come from this address? As if the socket were bound to it, at the port that it has: a source
 * chooses the interface, too, for groups and where routes go by sources. */
static __noinline int may_come_from(struct sbpf_sandbox *sandbox, struct endpoint *ep, const __u64 from_be[2],
				    struct sock *sk)
{
	ep->kind = SBPF_RULE_BIND;
	ep->addr_be[0] = from_be[0];
	ep->addr_be[1] = from_be[1];
	ep->port = sk->__sk_common.skc_num;
	if (decide_endpoint(sandbox->cgroup_id, ep) == SBPF_REASON_NONE)
		return 1;
	ep->port = 0;
	return decide_endpoint(sandbox->cgroup_id, ep) == SBPF_REASON_NONE;
}

/* An IPv4 server that is bound to the wildcard, by a rule for that, answers from where it was asked: any address of the
 * host, which the kernel sees to. (Not of IPv6, where IPV6_FREEBIND makes it any address at all.) */
static __noinline int may_answer_from(struct sbpf_sandbox *sandbox, struct sock *sk, struct msghdr *msg,
				      struct endpoint *ep)
{
	__u64 mapped = ep->addr_be[1];

	if (ep->addr_be[0] || (__u32)mapped != 0xffff0000u || !sk->__sk_common.skc_num)
		return 0;
	if (endpoint_of_name(ep, sk, msg) != ADDRESS_OK)
		endpoint_of_peer(ep, sk);
	if (!sbpf_is_group(ep->addr_be)) {
		endpoint_of_local(ep, sk);
		if (sbpf_is_wildcard(ep->addr_be)) {
			if (decide_endpoint(sandbox->cgroup_id, ep) == SBPF_REASON_NONE)
				return 1;
			ep->port = 0;
			if (decide_endpoint(sandbox->cgroup_id, ep) == SBPF_REASON_NONE)
				return 1;
		}
	}
	ep->addr_be[0] = 0; /* as it was, for the event */
	ep->addr_be[1] = mapped;
	ep->port = 0;
	return 0;
}

/* What ancillary data say, but for the interface: judge_route_of_send() has that. */
static __noinline int judge_control(struct sbpf_sandbox *sandbox, struct sock *sk, struct msghdr *msg)
{
	struct denial d = DENIAL(socket_sendmsg, SBPF_REASON_SOCKET_OPTION);
	struct route_control control = {};
	struct endpoint from;

	if (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6)
		return 0;
	control_of_message(&control, msg);
	endpoint_of_sock(&from, SBPF_RULE_BIND, sk);
	if (control.risky) {
		if (sandbox_allows_all_network(sandbox))
			return 0;
		denial_fill_net(&d, &from);
		return refuse(sandbox, &d);
	}
	if ((!control.from_be[0] && !control.from_be[1]) || may_come_from(sandbox, &from, control.from_be, sk))
		return 0;
	if (!control.index && may_answer_from(sandbox, sk, msg, &from))
		return 0;
	d.reason = SBPF_REASON_NO_RULE;
	d.hook = SBPF_HOOK_socket_bind;
	denial_fill_net(&d, &from);
	return refuse(sandbox, &d);
}

#define SBPF_MSG_DONTROUTE 4 /* SO_DONTROUTE of one message */

/* Whereto and by which interface a send may go that is told so by options or by the scope of its address. */
static __noinline int judge_route_of_send(struct sbpf_sandbox *sandbox, struct sock *sk, struct msghdr *msg)
{
	struct denial d = DENIAL(socket_sendmsg, SBPF_REASON_SOCKET_OPTION);
	int own = sock_in_sandbox(sk, sandbox), scope = 0, index;
	struct route_control control = {};
	struct endpoint to;

	if (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6)
		return 0;
	endpoint_of_sock(&to, SBPF_RULE_CONNECT, sk);
	if (may_be_rerouted(sandbox, sk, own) ||
	    (msg->msg_flags & SBPF_MSG_DONTROUTE && !sandbox_allows_all_network(sandbox))) {
		denial_fill_net(&d, &to);
		return refuse(sandbox, &d);
	}
	index = is_early(sandbox, own) ? interface_of_socket(sk) : 0;
	if (msg->msg_controllen)
		control_of_message(&control, msg);
	if (!control.index && !index && (to.family == AF_INET || !msg->msg_name))
		return 0;
	if (endpoint_of_name(&to, sk, msg) == ADDRESS_OK)
		scope = interface_of_scope(&to, msg->msg_name, msg->msg_namelen);
	else
		endpoint_of_peer(&to, sk);
	index = first_refused(sandbox, sk, &to, index, scope, control.index);
	if (!index)
		return 0;
	denial_of_sock(&d, &to);
	return refuse_interface(sandbox, &d, sk, index);
}

/* Of several messages to one address in one call, the kernel asks the hooks of the first alone, and each has ancillary
 * data of its own. */
static __noinline int is_one_of_several(struct msghdr *msg)
{
	struct pt_regs *regs;
	__u64 number, first = 0;

	if (!msg->msg_name || !msg->msg_namelen)
		return 0;
	regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	number = BPF_CORE_READ(regs, orig_ax);
	if (number == SBPF_NR_I386_SOCKETCALL)
		first = BPF_CORE_READ(regs, bx);
	return sbpf_sends_several(number, first, BPF_CORE_READ(regs, dx));
}

static __noinline int judge_several(struct sbpf_sandbox *sandbox, struct sock *sk)
{
	struct denial d = DENIAL(socket_sendmsg, SBPF_REASON_SEVERAL_MESSAGES);

	if (sk->__sk_common.skc_family != AF_INET && sk->__sk_common.skc_family != AF_INET6)
		return 0;
	if (sandbox_allows_all_network(sandbox))
		return 0;
	d.net.family = sk->__sk_common.skc_family;
	d.net.type = sk->sk_type;
	d.net.protocol = sk->sk_protocol;
	return refuse(sandbox, &d);
}

#endif
