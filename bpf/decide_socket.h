/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Which sockets may be created. Of decide.h's network part. */
#ifndef SBPF_DECIDE_SOCKET_H
#define SBPF_DECIDE_SOCKET_H

/* The class of a socket that is about to be created; anything unknown is OTHER, which only dangerously_allow_all lets
 * through. Numbers are the kernel's, the same on every architecture we build for. */
SBPF_INLINE int sbpf_classify_socket(int family, int type, int protocol)
{
	type &= 0xf; /* SOCK_NONBLOCK and SOCK_CLOEXEC are flags above the type */
	switch (family) {
	case 1: /* AF_UNIX */
		return SBPF_SOCKET_NORMAL;
	case 2:		       /* AF_INET */
	case 10:	       /* AF_INET6 */
		if (type == 3) /* SOCK_RAW */
			return SBPF_SOCKET_RAW;
		if (type == 1 && (protocol == 0 || protocol == 6))
			return SBPF_SOCKET_NORMAL;
		if (type == 2 && (protocol == 0 || protocol == 17))
			return SBPF_SOCKET_NORMAL;
		if (protocol == 262)
			return SBPF_SOCKET_MPTCP;
		if (protocol == 136)
			return SBPF_SOCKET_UDPLITE;
		if (protocol == 132)
			return SBPF_SOCKET_SCTP;
		if (protocol == 256) /* AF_INET may name SMC since 6.11 */
			return SBPF_SOCKET_SMC;
		if (type == 2 && (protocol == 1 || protocol == 58))
			return SBPF_SOCKET_PING;
		return SBPF_SOCKET_OTHER;
	case 16: /* AF_NETLINK */
		return protocol == 0 ? SBPF_SOCKET_NORMAL : SBPF_SOCKET_NETLINK;
	case 17:
		return SBPF_SOCKET_PACKET;
	case 38:
		return SBPF_SOCKET_ALG;
	case 40:
		return SBPF_SOCKET_VSOCK;
	case 43:
		return SBPF_SOCKET_SMC;
	}
	return SBPF_SOCKET_OTHER;
}

SBPF_INLINE int sbpf_decide_socket(void *policy, int socket_class)
{
	const struct sbpf_policy_header *header;

	if (socket_class == SBPF_SOCKET_NORMAL)
		return SBPF_ALLOW;
	header = sbpf_header_of(policy);
	if (!header)
		return SBPF_DENY;
	if (header->flags & SBPF_POLICY_NET_ALLOW_ALL)
		return SBPF_ALLOW;
	if (socket_class > SBPF_SOCKET_NORMAL && socket_class < SBPF_SOCKET_OTHER &&
	    header->sockets & 1u << socket_class)
		return SBPF_ALLOW;
	return SBPF_DENY;
}

#endif
