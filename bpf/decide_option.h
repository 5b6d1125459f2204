/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Which options of a socket, and which ancillary data of a send, a sandbox may use: those that are known to change
 * neither where packets go nor who may send them, and that make the kernel send nothing by itself. Of IP, IPv6, TCP,
 * UDP and sockets as such whatever is not listed is refused: source routes, extension headers and flow labels that
 * carry them, transparent proxying, raw headers, IPsec, multicast routing, netfilter, and what later kernels add. So is
 * every level that is not listed: kernels with UDP-Lite take its level for that of UDP. Joining a multicast group is
 * refused, as the kernel then tells the network of groups and sources that the sandbox chose; leaving one is not. What
 * names an interface is listed apart (sbpf_is_interface_option). The end of decide.h's network part. */
#ifndef SBPF_DECIDE_OPTION_H
#define SBPF_DECIDE_OPTION_H

#define SBPF_BIT(n) (1ull << ((n)&63))

/* Of levels whose numbers are below 64; `high` has those from 64 on. */
SBPF_INLINE int sbpf_is_listed(int number, __u64 low, __u64 high)
{
	if (number < 0 || number >= 128)
		return 0;
	return !!((number < 64 ? low : high) & SBPF_BIT(number));
}

/* TOS, TTL, RECVOPTS, PKTINFO (to receive it), PKTOPTIONS, MTU_DISCOVER, RECVERR, RECVTTL, RECVTOS, MTU, FREEBIND,
 * PASSSEC, RECVORIGDSTADDR, MINTTL, NODEFRAG, CHECKSUM, BIND_ADDRESS_NO_PORT, RECVFRAGSIZE, RECVERR_RFC4884; multicast:
 * TTL, LOOP, leaving (36, 40, 45, 47), ALL. */
#define SBPF_IP_OPTIONS                                                                                                \
	(SBPF_BIT(1) | SBPF_BIT(2) | SBPF_BIT(6) | SBPF_BIT(8) | SBPF_BIT(9) | SBPF_BIT(10) | SBPF_BIT(11) |           \
	 SBPF_BIT(12) | SBPF_BIT(13) | SBPF_BIT(14) | SBPF_BIT(15) | SBPF_BIT(18) | SBPF_BIT(20) | SBPF_BIT(21) |      \
	 SBPF_BIT(22) | SBPF_BIT(23) | SBPF_BIT(24) | SBPF_BIT(25) | SBPF_BIT(26) | SBPF_BIT(33) | SBPF_BIT(34) |      \
	 SBPF_BIT(36) | SBPF_BIT(40) | SBPF_BIT(45) | SBPF_BIT(47) | SBPF_BIT(49))

/* ADDRFORM, 2292PKTINFO (to receive it), CHECKSUM, 2292HOPLIMIT, FLOWINFO (to receive it); unicast and multicast: hops,
 * LOOP, leaving (21, 28, 45, 47), ALL; MTU_DISCOVER, MTU, RECVERR, V6ONLY, RECVERR_RFC4884; RECVPKTINFO, RECVHOPLIMIT,
 * HOPLIMIT, RECVHOPOPTS, RECVRTHDR, RECVDSTOPTS, RECVPATHMTU, PATHMTU, DONTFRAG. */
#define SBPF_IPV6_OPTIONS_LOW                                                                                          \
	(SBPF_BIT(1) | SBPF_BIT(2) | SBPF_BIT(7) | SBPF_BIT(8) | SBPF_BIT(11) | SBPF_BIT(16) | SBPF_BIT(18) |          \
	 SBPF_BIT(19) | SBPF_BIT(21) | SBPF_BIT(23) | SBPF_BIT(24) | SBPF_BIT(25) | SBPF_BIT(26) | SBPF_BIT(28) |      \
	 SBPF_BIT(29) | SBPF_BIT(31) | SBPF_BIT(45) | SBPF_BIT(47) | SBPF_BIT(49) | SBPF_BIT(51) | SBPF_BIT(52) |      \
	 SBPF_BIT(53) | SBPF_BIT(56) | SBPF_BIT(58) | SBPF_BIT(60) | SBPF_BIT(61) | SBPF_BIT(62))
/* RECVTCLASS, TCLASS, AUTOFLOWLABEL, ADDR_PREFERENCES, MINHOPCOUNT, RECVORIGDSTADDR, RECVFRAGSIZE, FREEBIND. */
#define SBPF_IPV6_OPTIONS_HIGH                                                                                         \
	(SBPF_BIT(66) | SBPF_BIT(67) | SBPF_BIT(70) | SBPF_BIT(72) | SBPF_BIT(73) | SBPF_BIT(74) | SBPF_BIT(77) |      \
	 SBPF_BIT(78))

#define SBPF_LAST_SO  84 /* SO_INQ: those that are known by number */
#define SBPF_LAST_TCP 46 /* TCP_DELACK_MAX_US */

/* By which interface packets leave: an allowed address may then mean another network's host. Refused also where a
 * policy has network.interfaces: the hook does not see which one is named, and what a socket has sent already goes by
 * it, too. Packet info and scopes, which name one for what they come with, are judged by its name (interface.h). */
SBPF_INLINE int sbpf_is_interface_option(int level, int option)
{
	switch (level) {
	case 1: /* SO_BINDTODEVICE, SO_BINDTOIFINDEX */
		return option == 25 || option == 62;
	case 0: /* MULTICAST_IF, UNICAST_IF */
		return option == 32 || option == 50;
	case 41: /* MULTICAST_IF, PKTINFO, UNICAST_IF */
		return option == 17 || option == 50 || option == 76;
	}
	return 0;
}

/* CORK, NO_CHECK6_TX and _RX, SEGMENT, GRO; not ENCAP, which hands packets to IPsec and L2TP. */
SBPF_INLINE int sbpf_is_udp_option(int option)
{
	return option == 1 || (option >= 101 && option <= 104);
}

/* No policy refuses one, of whatever socket. */
SBPF_INLINE int sbpf_is_harmless_option(int level, int option)
{
	switch (level) {
	case 1: /* SOL_SOCKET. SO_DONTROUTE: past the gateways; SO_MARK: policy routing */
		return option >= 0 && option <= SBPF_LAST_SO && option != 5 && option != 36 &&
		       !sbpf_is_interface_option(level, option);
	case 0: /* IPPROTO_IP */
		return sbpf_is_listed(option, SBPF_IP_OPTIONS, 0);
	case 41: /* IPPROTO_IPV6 */
		return sbpf_is_listed(option, SBPF_IPV6_OPTIONS_LOW, SBPF_IPV6_OPTIONS_HIGH);
	case 6: /* TCP; REPAIR, and what it is for; ULP, which makes it another kind of socket */
		return option >= 0 && option <= SBPF_LAST_TCP && !(option >= 19 && option <= 22) && option != 29 &&
		       option != 31;
	case 17:
		return sbpf_is_udp_option(option);
	case 136: /* UDP-Lite: SEND_CSCOV, RECV_CSCOV; and UDP's, of its sockets, too */
		return option == 10 || option == 11 || sbpf_is_udp_option(option);
	case 132: /* SCTP: bindx, connectx, peeloff carry addresses past the address hooks */
		return option != 100 && option != 101 && option != 107 && option != 110 && option != 111;
	case 58:	  /* ICMPv6 */
	case 255:	  /* raw */
	case 284:	  /* MPTCP */
	case 286:	  /* SMC */
		return 1; /* only sockets of classes that a policy opens by name have any */
	}
	return 0;
}

/* LOCAL_PORT_RANGE, which has the kernel pick a port that only a rule of `bind` could name. A stream gets none that
 * another has; datagram sockets share theirs by SO_REUSEADDR, and the newest hears what is sent to it. */
SBPF_INLINE int sbpf_picks_own_port(int type, int level, int option)
{
	return type == 1 && level == 0 && option == 51;
}

/* `type`: SOCK_STREAM and so on. */
SBPF_INLINE int sbpf_decide_sockopt(void *policy, int type, int level, int option)
{
	const struct sbpf_policy_header *header;

	if (sbpf_is_harmless_option(level, option) || sbpf_picks_own_port(type, level, option))
		return SBPF_ALLOW;
	header = sbpf_header_of(policy);
	return header && header->flags & SBPF_POLICY_NET_ALLOW_ALL ? SBPF_ALLOW : SBPF_DENY;
}

/* Ancillary data of a send: the same by another door. An interface that PKTINFO names is looked at by the caller. */
SBPF_INLINE int sbpf_risky_cmsg(int level, int type)
{
	switch (level) {
	case 0: /* TOS, TTL, PKTINFO */
		return !sbpf_is_listed(type, SBPF_BIT(1) | SBPF_BIT(2) | SBPF_BIT(8), 0);
	case 41: /* 2292PKTINFO, 2292HOPLIMIT, PKTINFO, HOPLIMIT, DONTFRAG, TCLASS */
		return !sbpf_is_listed(type, SBPF_BIT(2) | SBPF_BIT(8) | SBPF_BIT(50) | SBPF_BIT(52) | SBPF_BIT(62),
				       SBPF_BIT(67));
	case 1: /* SO_MARK */
		return type < 0 || type > SBPF_LAST_SO || type == 36;
	case 17: /* UDP_SEGMENT */
		return type != 103;
	case 132: /* SCTP_DSTADDRV4 and 6: more destinations for the association */
		return type == 7 || type == 8;
	}
	return 0;
}

SBPF_INLINE int sbpf_is_packet_info(int level, int type)
{
	return (level == 0 && type == 8) || (level == 41 && (type == 50 || type == 2));
}

/* Numbers of sendmmsg: of x86-64, of i386, and of i386's socketcall with its first argument. Of those two, x86-64 has
 * none that sends. The system calls of x32 are all taken for it. */
#define SBPF_NR_SENDMMSG	 307
#define SBPF_NR_I386_SENDMMSG	 345
#define SBPF_NR_I386_SOCKETCALL	 102
#define SBPF_SOCKETCALL_SENDMMSG 20
#define SBPF_X32_BIT		 30 /* the highest of theirs; what is no system call has -1 */

/* May this system call send several messages? `first` and `third`: its arguments as i386 and x86-64 pass them, in bx
 * and dx. */
SBPF_INLINE int sbpf_sends_several(__u64 number, __u64 first, __u64 third)
{
	if (number >> SBPF_X32_BIT == 1)
		return 1;
	if (number == SBPF_NR_I386_SOCKETCALL)
		return (__u32)first == SBPF_SOCKETCALL_SENDMMSG;
	return (number == SBPF_NR_SENDMMSG || number == SBPF_NR_I386_SENDMMSG) && (__u32)third > 1;
}

/* Groups and broadcasts: what is sent to them leaves by the interface that has its source. */
SBPF_INLINE int sbpf_is_group(const __u64 addr_be[2])
{
	if (!addr_be[0] && (__u32)addr_be[1] == 0xffff0000u)
		return (addr_be[1] >> 32 & 0xff) >= 224;
	return (addr_be[0] & 0xff) == 0xff;
}

/* Does the kernel take the scope of such an address for an interface? Link-local ones, and groups of a link or an
 * interface. */
SBPF_INLINE int sbpf_has_scope(const __u64 addr_be[2])
{
	__u8 first = addr_be[0] & 0xff, second = addr_be[0] >> 8 & 0xff;

	return (first == 0xfe && (second & 0xc0) == 0x80) ||
	       (first == 0xff && ((second & 0xf) == 1 || (second & 0xf) == 2));
}

/* By name, as many as its value has bytes (IFNAMSIZ), the rest zeros. */
SBPF_INLINE int sbpf_lists_interface(void *policy, const char name[16])
{
	struct sbpf_rule_key key = {};

	key.kind = SBPF_RULE_INTERFACE;
	__builtin_memcpy(key.addr, name, sizeof(key.addr));
	return !!sbpf_policy_lookup(policy, &key);
}

#endif
