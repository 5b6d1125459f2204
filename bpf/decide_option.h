/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Which options of a socket, and which ancillary data of a send, a sandbox may use: those that are known to change neither where
 * packets go nor who may send them. Of IP, IPv6, TCP, UDP and sockets as such whatever is not listed is refused: source routes,
 * extension headers and flow labels that carry them, transparent proxying, raw headers, IPsec, multicast routing, netfilter, and
 * what later kernels add. The end of decide.h's network part. */
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

/* TOS, TTL, RECVOPTS, PKTINFO, PKTOPTIONS, MTU_DISCOVER, RECVERR, RECVTTL, RECVTOS, MTU, FREEBIND, PASSSEC, RECVORIGDSTADDR,
 * MINTTL, NODEFRAG, CHECKSUM, BIND_ADDRESS_NO_PORT, RECVFRAGSIZE, RECVERR_RFC4884; multicast (32 to 49): IF, TTL, LOOP,
 * membership, ALL; UNICAST_IF, LOCAL_PORT_RANGE. */
#define SBPF_IP_OPTIONS \
	(SBPF_BIT(1) | SBPF_BIT(2) | SBPF_BIT(6) | SBPF_BIT(8) | SBPF_BIT(9) | SBPF_BIT(10) | SBPF_BIT(11) | SBPF_BIT(12) | SBPF_BIT(13) | \
	 SBPF_BIT(14) | SBPF_BIT(15) | SBPF_BIT(18) | SBPF_BIT(20) | SBPF_BIT(21) | SBPF_BIT(22) | SBPF_BIT(23) | SBPF_BIT(24) | \
	 SBPF_BIT(25) | SBPF_BIT(26) | SBPF_BIT(32) | SBPF_BIT(33) | SBPF_BIT(34) | SBPF_BIT(35) | SBPF_BIT(36) | SBPF_BIT(37) | \
	 SBPF_BIT(38) | SBPF_BIT(39) | SBPF_BIT(40) | SBPF_BIT(41) | SBPF_BIT(42) | SBPF_BIT(43) | SBPF_BIT(44) | SBPF_BIT(45) | \
	 SBPF_BIT(46) | SBPF_BIT(47) | SBPF_BIT(48) | SBPF_BIT(49) | SBPF_BIT(50) | SBPF_BIT(51))

/* ADDRFORM, 2292PKTINFO, CHECKSUM, 2292HOPLIMIT, FLOWINFO (to receive it); unicast and multicast (16 to 21): hops, IF, LOOP,
 * membership; MTU_DISCOVER, MTU, RECVERR, V6ONLY, anycast membership, MULTICAST_ALL, RECVERR_RFC4884; membership by group (42 to
 * 48); RECVPKTINFO, PKTINFO, RECVHOPLIMIT, HOPLIMIT, RECVHOPOPTS, RECVRTHDR, RECVDSTOPTS, RECVPATHMTU, PATHMTU, DONTFRAG. */
#define SBPF_IPV6_OPTIONS_LOW \
	(SBPF_BIT(1) | SBPF_BIT(2) | SBPF_BIT(7) | SBPF_BIT(8) | SBPF_BIT(11) | SBPF_BIT(16) | SBPF_BIT(17) | SBPF_BIT(18) | SBPF_BIT(19) | \
	 SBPF_BIT(20) | SBPF_BIT(21) | SBPF_BIT(23) | SBPF_BIT(24) | SBPF_BIT(25) | SBPF_BIT(26) | SBPF_BIT(27) | SBPF_BIT(28) | \
	 SBPF_BIT(29) | SBPF_BIT(31) | SBPF_BIT(42) | SBPF_BIT(43) | SBPF_BIT(44) | SBPF_BIT(45) | SBPF_BIT(46) | SBPF_BIT(47) | \
	 SBPF_BIT(48) | SBPF_BIT(49) | SBPF_BIT(50) | SBPF_BIT(51) | SBPF_BIT(52) | SBPF_BIT(53) | SBPF_BIT(56) | SBPF_BIT(58) | \
	 SBPF_BIT(60) | SBPF_BIT(61) | SBPF_BIT(62))
/* RECVTCLASS, TCLASS, AUTOFLOWLABEL, ADDR_PREFERENCES, MINHOPCOUNT, RECVORIGDSTADDR, UNICAST_IF, RECVFRAGSIZE, FREEBIND. */
#define SBPF_IPV6_OPTIONS_HIGH \
	(SBPF_BIT(66) | SBPF_BIT(67) | SBPF_BIT(70) | SBPF_BIT(72) | SBPF_BIT(73) | SBPF_BIT(74) | SBPF_BIT(76) | SBPF_BIT(77) | SBPF_BIT(78))

#define SBPF_LAST_SO 84  /* SO_INQ: those that are known by number */
#define SBPF_LAST_TCP 46 /* TCP_DELACK_MAX_US */

SBPF_INLINE int sbpf_is_harmless_option(int level, int option)
{
	switch (level) {
	case 1: /* SOL_SOCKET; SO_MARK: policy routing */
		return option >= 0 && option <= SBPF_LAST_SO && option != 36;
	case 0: /* IPPROTO_IP */
		return sbpf_is_listed(option, SBPF_IP_OPTIONS, 0);
	case 41: /* IPPROTO_IPV6 */
		return sbpf_is_listed(option, SBPF_IPV6_OPTIONS_LOW, SBPF_IPV6_OPTIONS_HIGH);
	case 6: /* TCP; REPAIR, and what it is for */
		return option >= 0 && option <= SBPF_LAST_TCP && !(option >= 19 && option <= 22) && option != 29;
	case 17: /* UDP: CORK, NO_CHECK6_TX and _RX, SEGMENT, GRO; not ENCAP, which hands packets to IPsec and L2TP */
		return option == 1 || (option >= 101 && option <= 104);
	case 132: /* SCTP: bindx, connectx, peeloff carry addresses past the address hooks */
		return option != 100 && option != 101 && option != 107 && option != 110 && option != 111;
	}
	return 1; /* of classes of sockets that a policy opens by name */
}

SBPF_INLINE int sbpf_decide_sockopt(void *policy, int level, int option)
{
	const struct sbpf_policy_header *header;

	if (sbpf_is_harmless_option(level, option))
		return SBPF_ALLOW;
	header = (const struct sbpf_policy_header *)sbpf_header_slot(policy, SBPF_SLOT_HEADER);
	return header && header->flags & SBPF_POLICY_NET_ALLOW_ALL ? SBPF_ALLOW : SBPF_DENY;
}

/* Ancillary data of a send: the same by another door. */
SBPF_INLINE int sbpf_risky_cmsg(int level, int type)
{
	switch (level) {
	case 0: /* TOS, TTL, PKTINFO */
		return !sbpf_is_listed(type, SBPF_BIT(1) | SBPF_BIT(2) | SBPF_BIT(8), 0);
	case 41: /* 2292PKTINFO, 2292HOPLIMIT, PKTINFO, HOPLIMIT, DONTFRAG, TCLASS */
		return !sbpf_is_listed(type, SBPF_BIT(2) | SBPF_BIT(8) | SBPF_BIT(50) | SBPF_BIT(52) | SBPF_BIT(62), SBPF_BIT(67));
	case 1: /* SO_MARK */
		return type < 0 || type > SBPF_LAST_SO || type == 36;
	case 17: /* UDP_SEGMENT */
		return type != 103;
	case 132: /* SCTP_DSTADDRV4 and 6: more destinations for the association */
		return type == 7 || type == 8;
	}
	return 0;
}

#endif
