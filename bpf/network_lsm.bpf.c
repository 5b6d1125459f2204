// SPDX-License-Identifier: GPL-2.0-only
/* Network domain, LSM layer: follows the *current task*, whatever socket it uses.
 *
 * hook                 kernel (security/security.c)     refuses                               does not see
 * socket_create        __sock_create                    families, types, protocols not        sockets made elsewhere
 *                                                       allowed: raw, packet, vsock, alg…
 * socket_connect       __sys_connect, io_uring          as connect4/6, for foreign sockets    implicit connects (FASTOPEN);
 *                                                       and what connect4/6 do not see; by    own TCP, UDP: connect4/6
 *                                                       an interface that is not allowed
 * socket_sendmsg       sock_sendmsg: send, write,       foreign sockets, by address or peer;  sendfile and splice into a
 *                      io_uring, splice from 6.5 on     source routes in ancillary data; own  socket before 6.5
 *                                                       UDP that is not bound yet: first it
 *                                                       would get a port
 * socket_bind          __sys_bind                       as bind4/6, for foreign sockets       autobind; own TCP, UDP: bind4/6
 * socket_listen        __sys_listen                     listeners on addresses not allowed,   UDP (bind judged it)
 *                                                       autobind
 * socket_setsockopt    __sys_setsockopt                 IP options, routing headers,          options set before joining
 *                                                       netfilter, interfaces, joins of groups */
#include "accepted.h"
#include "fs_judge.h"
#include "interface.h"

static __always_inline int refuse_endpoint(struct sbpf_sandbox *sandbox, struct denial *d, const struct endpoint *ep,
					   int reason)
{
	d->reason = reason;
	denial_fill_net(d, ep);
	return refuse(sandbox, d);
}

static __always_inline int refuse_endpoint_if(struct sbpf_sandbox *sandbox, struct denial *d, const struct endpoint *ep,
					      int reason)
{
	return reason != SBPF_REASON_NONE && refuse_endpoint(sandbox, d, ep, reason);
}

/* The sandbox's own TCP and UDP sockets are the cgroup layer's to judge, by address: one decision an operation. This
 * layer judges what that one does not see. */
static __always_inline int cgroup_layer_judges(const struct endpoint *ep, int own)
{
	return own && ep->class == SBPF_SOCKET_NORMAL;
}

/* ---- socket_create ---- */

static __noinline int judge_create(struct sbpf_sandbox *sandbox, int family, int type, int protocol)
{
	struct denial d = DENIAL(socket_create, SBPF_REASON_SOCKET_CLASS);
	struct endpoint ep;
	void *policy;

	endpoint_init(&ep, SBPF_RULE_CONNECT, family, type & 0xf, protocol);
	if (is_canary(SBPF_HOOK_socket_create))
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_CANARY);
	if (ep.class == SBPF_SOCKET_NORMAL) /* every policy allows it; its addresses are what is judged */
		return 0;
	policy = sandbox_policy(sandbox);
	if (!policy)
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_NO_POLICY);
	if (sbpf_decide_socket(policy, ep.class) == SBPF_ALLOW)
		return 0;
	return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_SOCKET_CLASS);
}

SEC("lsm/socket_create")
int BPF_PROG(hook_socket_create, int family, int type, int protocol, int kern)
{
	if (kern) /* the kernel's own: a subflow, a network filesystem */
		return 0;
	LSM_GATE(socket_create, sandboxes);
	LSM_JUDGE(sandboxes, judge_create, family, type, protocol);
}

/* ---- socket_connect, socket_bind ---- */

static __noinline int judge_address(struct sbpf_sandbox *sandbox, struct denial *d, struct socket *sock,
				    struct sockaddr *address, int len)
{
	int kind = d->hook == SBPF_HOOK_socket_bind ? SBPF_RULE_BIND : SBPF_RULE_CONNECT;
	struct sock *sk = sock_of(sock);
	struct endpoint ep;
	int reason;

	endpoint_init(&ep, kind, 0, 0, 0);
	if (is_canary(d->hook))
		return refuse_endpoint(sandbox, d, &ep, SBPF_REASON_CANARY);
	if (!sk)
		return refuse_endpoint(sandbox, d, &ep, SBPF_REASON_BAD_ADDRESS);
	endpoint_of_sock(&ep, kind, sk);
	if (ep.family == AF_INET || ep.family == AF_INET6) {
		int own = sock_in_sandbox(sk, sandbox);

		ep.in_own_netns = is_in_own_netns(sk, sandbox);
		if (kind == SBPF_RULE_CONNECT && may_be_rerouted(sandbox, sk, own))
			return refuse_endpoint(sandbox, d, &ep, SBPF_REASON_SOCKET_OPTION);
		if (cgroup_layer_judges(&ep, own))
			return 0;
		switch (endpoint_from_sockaddr(&ep, address, len, kind == SBPF_RULE_BIND)) {
		case ADDRESS_NONE:
			return 0;
		case ADDRESS_BAD:
			return refuse_endpoint(sandbox, d, &ep, SBPF_REASON_BAD_ADDRESS);
		case ADDRESS_OK:
			if (kind == SBPF_RULE_CONNECT)
				wildcard_to_local(&ep, sk);
			break;
		}
	} else if (ep.family == AF_UNIX || (ep.family == AF_NETLINK && ep.class == SBPF_SOCKET_NORMAL)) {
		return 0; /* AF_UNIX is judged by its peer, in its own hooks */
	}
	reason = decide_endpoint(sandbox->cgroup_id, &ep);
	/* What it does not lead to its proxy does not go past it either. */
	if (reason == SBPF_REASON_NONE && ep.proxy_port)
		reason = SBPF_REASON_FOREIGN_SOCKET;
	return refuse_endpoint_if(sandbox, d, &ep, reason);
}

SEC("lsm/socket_connect")
int BPF_PROG(hook_socket_connect, struct socket *sock, struct sockaddr *address, int addrlen)
{
	LSM_GATE(socket_connect, sandboxes);
	struct denial d = DENIAL(socket_connect, SBPF_REASON_NO_RULE);
	struct sock *sk = sock_of(sock);

	if (sk)
		LSM_ASK(EPERM, sandboxes, judge_interface_of_address, &d, sk, address, addrlen);
	LSM_JUDGE(sandboxes, judge_address, &d, sock, address, addrlen);
}

SEC("lsm/socket_bind")
int BPF_PROG(hook_socket_bind, struct socket *sock, struct sockaddr *address, int addrlen)
{
	LSM_GATE(socket_bind, sandboxes);
	struct denial d = DENIAL(socket_bind, SBPF_REASON_NO_RULE);
	struct sock *sk = sock_of(sock);

	if (sk)
		LSM_ASK(EPERM, sandboxes, judge_interface_of_address, &d, sk, address, addrlen);
	LSM_JUDGE(sandboxes, judge_address, &d, sock, address, addrlen);
}

/* ---- socket_sendmsg ---- */

/* stdio that the operator handed to `sbpf run`: a connected AF_UNIX stream of the outside that may be written to. (A
 * datagram socket could be turned to any other peer, so it gets no such right.) */
static __always_inline int is_handed_stdio(const struct sbpf_sandbox *sandbox, struct socket *sock)
{
	struct file *file = sock->file;
	__u64 ino;

	if (!file || !file->f_inode)
		return 0;
	ino = file->f_inode->i_ino;
	return ino &&
	       (ino == sandbox->stdio_inode[0] || ino == sandbox->stdio_inode[1] || ino == sandbox->stdio_inode[2]);
}

/* What a send is about. By addresses, as struct fs_ask. */
struct send_ask {
	__u64 sock;
	__u64 msg;
	struct sbpf_origin origin; /* proxy_port_be 0: no proxy */
};

/* Is the socket connected to the proxy that a rule sent it to? Then the endpoint is whom that connection is for. */
static __always_inline int is_proxied(struct endpoint *ep, const struct sbpf_origin *origin)
{
	if (!origin->proxy_port_be || bpf_htons(ep->port) != origin->proxy_port_be ||
	    ep->addr_be[0] != origin->proxy_be[0] || ep->addr_be[1] != origin->proxy_be[1])
		return 0;
	__builtin_memcpy(ep->addr_be, origin->address_be, sizeof(ep->addr_be));
	ep->port = bpf_ntohs(origin->port_be);
	return 1;
}

/* Does a connection that the policy allows go where the policy leads it? */
static __always_inline int goes_astray(const struct endpoint *ep, const struct sbpf_origin *origin, int proxied)
{
	if (!proxied)
		return !!ep->proxy_port;
	return bpf_htons(ep->proxy_port) != origin->proxy_port_be || ep->proxy_be[0] != origin->proxy_be[0] ||
	       ep->proxy_be[1] != origin->proxy_be[1];
}

static __always_inline int judge_message(struct sbpf_sandbox *sandbox, const struct send_ask *ask, struct socket *sock,
					 struct msghdr *msg)
{
	struct denial d = DENIAL(socket_sendmsg, SBPF_REASON_NO_RULE);
	enum address_result named;
	struct sock *sk = sock_of(sock);
	struct endpoint ep;
	int own, reason, proxied = 0;

	endpoint_init(&ep, SBPF_RULE_CONNECT, 0, 0, 0);
	if (is_canary(SBPF_HOOK_socket_sendmsg))
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_CANARY);
	if (!sk)
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_BAD_ADDRESS);
	own = sock_in_sandbox(sk, sandbox);
	endpoint_of_sock(&ep, SBPF_RULE_CONNECT, sk);

	if (ep.family != AF_INET && ep.family != AF_INET6) {
		/* Its own sockets passed socket_create; AF_UNIX ones also their peer's hooks. */
		if (own || (ep.family == AF_UNIX && is_handed_stdio(sandbox, sock)))
			return 0;
		if (sandbox_allows_all_network(sandbox) || was_accepted_in(sandbox, sk))
			return 0;
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_FOREIGN_SOCKET);
	}

	if (!is_early(sandbox, own) && cgroup_layer_judges(&ep, own))
		return 0;

	ep.in_own_netns = is_in_own_netns(sk, sandbox);
	named = endpoint_of_name(&ep, sk, msg);
	if (named == ADDRESS_BAD)
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_BAD_ADDRESS);
	if (named == ADDRESS_OK && cgroup_layer_judges(&ep, own))
		return 0;
	if (named == ADDRESS_OK)
		wildcard_to_local(&ep, sk);
	if (named == ADDRESS_NONE) {
		/* Connected: judged when it connected, unless that was before the sandbox was. */
		if (!is_early(sandbox, own))
			return 0;
		endpoint_of_peer(&ep, sk);
		proxied = is_proxied(&ep, &ask->origin);
	}
	reason = decide_endpoint(sandbox->cgroup_id, &ep);
	if (reason == SBPF_REASON_NONE && goes_astray(&ep, &ask->origin, proxied))
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_FOREIGN_SOCKET);
	if (reason == SBPF_REASON_NO_RULE && named == ADDRESS_NONE) {
		/* The reply of a server: its listener's address is the one that a rule must allow. In the place of the
		 * peer, for the sake of the stack. */
		denial_fill_net(&d, &ep);
		endpoint_of_sock(&ep, SBPF_RULE_BIND, sk);
		endpoint_of_local(&ep, sk);
		if (decide_endpoint(sandbox->cgroup_id, &ep) == SBPF_REASON_NONE)
			return 0;
		return refuse(sandbox, &d);
	}
	return refuse_endpoint_if(sandbox, &d, &ep, reason);
}

/* As judge_place(). */
__weak __noinline int judge_send(struct sbpf_sandbox *sandbox, const struct send_ask *ask)
{
	if (!sandbox || !ask || !sbpf_rdonly_cast)
		return 1;
	return judge_message(sandbox, ask, STRUCT_AT(ask->sock, socket), STRUCT_AT(ask->msg, msghdr));
}

static __noinline int judge_send_before_6_2(struct sbpf_sandbox *sandbox, const struct send_ask *ask,
					    struct socket *sock, struct msghdr *msg)
{
	return judge_message(sandbox, ask, sock, msg);
}

static __always_inline int is_unbound_datagram(struct sock *sk)
{
	return sk->sk_type == SOCK_DGRAM && !sk->__sk_common.skc_num &&
	       (sk->__sk_common.skc_family == AF_INET || sk->__sk_common.skc_family == AF_INET6);
}

/* Before a datagram, the kernel gives the sender's socket a port, and asks the cgroup layer only then: refused there,
 * the socket would receive all the same, from whomever. So the first one is judged here, too; queries that go to the
 * resolver are not. */
static __noinline int judge_first_datagram(struct sbpf_sandbox *sandbox, struct sock *sk, struct msghdr *msg)
{
	struct denial d = DENIAL(socket_sendmsg, SBPF_REASON_NO_RULE);
	struct endpoint ep;

	endpoint_of_sock(&ep, SBPF_RULE_CONNECT, sk);
	if (!cgroup_layer_judges(&ep, sock_in_sandbox(sk, sandbox)) || verdict_of(sandbox) != SBPF_DENY)
		return 0;
	ep.in_own_netns = is_in_own_netns(sk, sandbox);
	/* To what is no address, the kernel would refuse it, when it is bound. */
	if (endpoint_from_sockaddr(&ep, msg->msg_name, msg->msg_namelen, 1) != ADDRESS_OK)
		endpoint_v4(&ep, 0, 0);
	else if (sandbox->flags & SBPF_SANDBOX_HOST_NAMES && ep.port == SBPF_DNS_PORT)
		return 0;
	return refuse_endpoint_if(sandbox, &d, &ep, decide_endpoint(sandbox->cgroup_id, &ep));
}

/* Asked where the cgroup layer does not answer for sends: connections of sandboxes that were attached to. */
static __noinline int find_origin(struct send_ask *ask, struct socket *sock)
{
	struct sbpf_origin *origin;
	struct sock *sk = sock->sk;

	if (!sk)
		return 0;
	origin = bpf_sk_storage_get(&sbpf_origins, sk, 0, 0);
	if (origin)
		ask->origin = *origin;
	return 0;
}

SEC("lsm/socket_sendmsg")
int BPF_PROG(hook_socket_sendmsg, struct socket *sock, struct msghdr *msg, int size)
{
	struct send_ask ask = {.sock = (__u64)sock, .msg = (__u64)msg};
	struct sock *sk;

	LSM_GATE(socket_sendmsg, sandboxes);
	sk = sock_of(sock);
	if (sk && is_unbound_datagram(sk) && !is_canary_task()) {
		if (!msg->msg_name || !msg->msg_namelen)
			return -EDESTADDRREQ; /* the kernel's own answer, before it binds the socket */
		LSM_ASK(EPERM, sandboxes, judge_first_datagram, sk, msg);
	}
	if (sk && is_one_of_several(msg))
		LSM_ASK(ENOSYS, sandboxes, judge_several, sk); /* so that who can sends them one by one */
	if (sk && msg->msg_controllen)
		LSM_ASK(EPERM, sandboxes, judge_control, sk, msg);
	if (sk)
		LSM_ASK(EPERM, sandboxes, judge_route_of_send, sk, msg);
	if (unlikely((sandboxes.outer->flags | sandboxes.inner->flags) & SBPF_SANDBOX_ATTACHED))
		find_origin(&ask, sock);
	if (sbpf_rdonly_cast)
		LSM_JUDGE(sandboxes, judge_send, &ask);
	LSM_JUDGE(sandboxes, judge_send_before_6_2, &ask, sock, msg);
}

/* ---- socket_listen ---- */

static __noinline int judge_listen(struct sbpf_sandbox *sandbox, struct socket *sock)
{
	struct denial d = DENIAL(socket_listen, SBPF_REASON_NO_RULE);
	struct sock *sk = sock_of(sock);
	struct endpoint ep;
	__u16 port;
	int reason;

	endpoint_init(&ep, SBPF_RULE_BIND, 0, 0, 0);
	if (is_canary(SBPF_HOOK_socket_listen))
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_CANARY);
	if (!sk)
		return refuse_endpoint(sandbox, &d, &ep, SBPF_REASON_BAD_ADDRESS);
	endpoint_of_sock(&ep, SBPF_RULE_BIND, sk);
	if (ep.family == AF_UNIX)
		return 0;
	endpoint_of_local(&ep, sk);
	ep.in_own_netns = is_in_own_netns(sk, sandbox);
	port = ep.port;
	reason = decide_endpoint(sandbox->cgroup_id, &ep);
	if (reason == SBPF_REASON_NO_RULE && port) {
		/* A port that the kernel picked, which bind judged as port 0; an explicit one was judged by bind. */
		ep.port = 0;
		reason = decide_endpoint(sandbox->cgroup_id, &ep);
		ep.port = port;
	}
	return refuse_endpoint_if(sandbox, &d, &ep, reason);
}

SEC("lsm/socket_listen")
int BPF_PROG(hook_socket_listen, struct socket *sock, int backlog)
{
	LSM_GATE(socket_listen, sandboxes);
	LSM_JUDGE(sandboxes, judge_listen, sock);
}

/* ---- socket_setsockopt ---- */

static __noinline int judge_option(struct sbpf_sandbox *sandbox, struct socket *sock, int level, int option)
{
	struct denial d = DENIAL(socket_setsockopt, SBPF_REASON_SOCKET_OPTION);
	struct sock *sk = sock_of(sock);
	void *policy;

	d.net.level = level;
	d.net.option = option;
	if (is_canary(SBPF_HOOK_socket_setsockopt)) {
		d.reason = SBPF_REASON_CANARY;
		return refuse(sandbox, &d);
	}
	if (sk) {
		d.net.family = sk->__sk_common.skc_family;
		d.net.type = sk->sk_type;
		d.net.protocol = sk->sk_protocol;
		/* AF_SMC: it has a TCP socket inside, which gets the options. */
		if (d.net.family != AF_INET && d.net.family != AF_INET6 && d.net.family != AF_SMC)
			return 0;
	}
	policy = sandbox_policy(sandbox);
	if (policy && sbpf_decide_sockopt(policy, d.net.type, level, option) == SBPF_ALLOW)
		return 0;
	return refuse(sandbox, &d);
}

SEC("lsm/socket_setsockopt")
int BPF_PROG(hook_socket_setsockopt, struct socket *sock, int level, int option)
{
	/* Whoever sets it: most programs set no others. */
	if (sbpf_is_harmless_option(level, option))
		return 0;
	LSM_GATE(socket_setsockopt, sandboxes);
	LSM_JUDGE(sandboxes, judge_option, sock, level, option);
}
