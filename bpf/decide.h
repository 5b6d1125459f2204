/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The decision functions. They use nothing but one map lookup, and compile into the BPF programs and natively into user
 * space alike, so that every verdict has a unit test and `explain` cannot disagree with the kernel.
 *
 * The includer defines, before this file:
 *   sbpf_policy_lookup(void *policy, const struct sbpf_rule_key *key)   -> const void *, NULL if absent
 * and may define SBPF_REPEAT(n, step, context): step(i, context) for i from 0 to n - 1, until one returns nonzero. */
#ifndef SBPF_DECIDE_H
#define SBPF_DECIDE_H

#include "abi.h"

#ifndef SBPF_INLINE
#define SBPF_INLINE static inline __attribute__((always_inline))
#endif

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "addresses are masked as byte-swapped words: little endian only"
#endif

#ifndef SBPF_REPEAT
#define SBPF_REPEAT(n, step, context)                                                                                  \
	do {                                                                                                           \
		for (__u64 i = 0; i < (n) && !step(i, context); i++)                                                   \
			continue;                                                                                      \
	} while (0)
#endif

#define SBPF_NO_RULE	  (~0u)
#define SBPF_OWN_LOOPBACK (~1u) /* allowed by no rule, but by the policy as a whole: sbpf_decide_own_loopback() */

struct sbpf_net_query {
	__u8 kind;	     /* SBPF_RULE_CONNECT or SBPF_RULE_BIND */
	__u8 proto;	     /* enum sbpf_proto */
	__u16 port;	     /* host byte order */
	__u32 rule;	     /* out: number of the rule that allowed it, or SBPF_NO_RULE */
	__u64 addr_be[2];    /* the mapped address, as it lies in memory */
	__u32 host_names_id; /* out: policy_header.host_names_id, if what they opened may allow it yet */
	__u32 proxied;	     /* out: that rule leads it elsewhere, sbpf_via_of() says where */
};

/* v4 in network byte order, into the form that every rule has: ::ffff:a.b.c.d. */
SBPF_INLINE void sbpf_map_v4(__u64 addr_be[2], __u32 v4_be)
{
	addr_be[0] = 0;
	addr_be[1] = (__u64)v4_be << 32 | 0xffff0000u;
}

SBPF_INLINE int sbpf_is_canary(const struct sbpf_net_query *q)
{
	if (q->port != SBPF_CANARY_PORT)
		return 0;
	if (q->addr_be[0] == 0)
		return q->addr_be[1] == ((__u64)__builtin_bswap32(SBPF_CANARY_V4) << 32 | 0xffff0000u);
	return q->addr_be[0] == __builtin_bswap64(0x0100000000000000ull) &&
	       q->addr_be[1] == __builtin_bswap64(0x53425046ull);
}

/* Where clouds keep what gives a machine its credentials: denied whatever a policy lists, unless it says
 * dangerously_allow_metadata. All of IPv4's link-local network, in which every cloud has some of it, also as NAT64
 * spells it, and the addresses elsewhere: Alibaba 100.100.100.200, Azure 168.63.129.16, Oracle 192.0.0.192, AWS
 * fd00:ec2::/64, Google fd20:ce::/64, Scaleway fd00:42::/64, OpenStack fe80::a9fe:a9fe. */
SBPF_INLINE int sbpf_is_metadata(const struct sbpf_net_query *q)
{
	__u32 v4 = __builtin_bswap32((__u32)(q->addr_be[1] >> 32));

	if (q->kind != SBPF_RULE_CONNECT)
		return 0;
	if (q->addr_be[0] == 0)
		return (__u32)q->addr_be[1] == 0xffff0000u &&
		       (v4 >> 16 == 0xa9fe || v4 == 0x646464c8 || v4 == 0xa83f8110 || v4 == 0xc00000c0);
	if (q->addr_be[0] == __builtin_bswap64(0x0064ff9b00000000ull))
		return (__u32)q->addr_be[1] == 0 && v4 >> 16 == 0xa9fe;
	if (q->addr_be[0] == __builtin_bswap64(0xfe80000000000000ull))
		return q->addr_be[1] == __builtin_bswap64(0xa9fea9feull);
	return q->addr_be[0] == __builtin_bswap64(0xfd000ec200000000ull) ||
	       q->addr_be[0] == __builtin_bswap64(0xfd2000ce00000000ull) ||
	       q->addr_be[0] == __builtin_bswap64(0xfd00004200000000ull);
}

/* The first `bits` of 64 bits, 0 to 64. In two shifts, as none may be by 64. */
SBPF_INLINE __u64 sbpf_leading_bits(__u64 bits)
{
	__u64 rest = 64 - bits;

	return ~0ull << (rest / 2 & 63) << ((rest + 1) / 2 & 63);
}

/* Without branches, which the verifier would walk for each prefix. */
SBPF_INLINE void sbpf_rule_key_init(struct sbpf_rule_key *key, const struct sbpf_net_query *q, __u8 prefix_len)
{
	__u64 beyond = (__u64)prefix_len - 64;
	__u64 in_low = beyond & ((beyond >> 63) - 1); /* 0 where it is negative */
	__u64 hi = q->addr_be[0] & __builtin_bswap64(sbpf_leading_bits(prefix_len - in_low));
	__u64 lo = q->addr_be[1] & __builtin_bswap64(sbpf_leading_bits(in_low));

	key->kind = q->kind;
	key->proto = q->proto;
	key->prefix_len = prefix_len;
	key->pad = 0;
	__builtin_memcpy(key->addr, &hi, 8);
	__builtin_memcpy(key->addr + 8, &lo, 8);
}

SBPF_INLINE const void *sbpf_header_slot(void *policy, __u16 slot)
{
	struct sbpf_rule_key key;

	__builtin_memset(&key, 0, sizeof(key));
	key.kind = SBPF_RULE_HEADER;
	key.port = slot;
	return sbpf_policy_lookup(policy, &key);
}

/* NULL: the policy has none, and then denies. */
SBPF_INLINE const struct sbpf_policy_header *sbpf_header_of(void *policy)
{
	return (const struct sbpf_policy_header *)sbpf_header_slot(policy, SBPF_SLOT_HEADER);
}

SBPF_INLINE void sbpf_take_rule(struct sbpf_net_query *q, __u32 number)
{
	q->rule = number & ~SBPF_RULE_PROXIED;
	q->proxied = number >> 31;
}

SBPF_INLINE const struct sbpf_via *sbpf_via_of(void *policy, __u32 rule)
{
	struct sbpf_rule_key key = {};

	key.kind = SBPF_RULE_VIA;
	__builtin_memcpy(key.addr, &rule, sizeof(rule));
	return (const struct sbpf_via *)sbpf_policy_lookup(policy, &key);
}

/* Is the port in one of the rule's ranges? Without branches: the verifier would walk each of them for each prefix.
 * Unused ranges are empty (first > last), the others do not overlap, so at most one contributes its number. */
SBPF_INLINE int sbpf_in_ranges(const struct sbpf_rule *rule, struct sbpf_net_query *q)
{
	__u32 number = 0;
	__u64 hit = 0;

	for (__u32 i = 0; i < SBPF_MAX_RANGES; i++) {
		__s64 above = (__s64)q->port - rule->range[i].first;
		__s64 below = (__s64)rule->range[i].last - q->port;
		__u64 inside = ~((__u64)(above | below) >> 63) & 1;

		hit |= inside;
		number |= rule->range[i].rule & (__u32)-inside;
	}
	if (!hit)
		return 0;
	sbpf_take_rule(q, number);
	return 1;
}

/* Does what the resolver entered under this name allow the endpoint now? Goes on with it where its time is nearly over.
 */
SBPF_INLINE int sbpf_decide_opened(struct sbpf_opened *opened, struct sbpf_net_query *q, __u64 now_ns)
{
	__u64 until = opened->until_ns;

	if ((opened->host_names_id != q->host_names_id && opened->also != q->host_names_id) || now_ns > until ||
	    !sbpf_in_ranges(&opened->rule, q))
		return SBPF_DENY;
	if (until - now_ns < SBPF_OPENED_PROLONG_NS && until < opened->last_ns) {
		until = now_ns + SBPF_OPENED_PROLONG_NS;
		opened->until_ns = until < opened->last_ns ? until : opened->last_ns;
	}
	return SBPF_ALLOW;
}

/* Is it no address of its own: 0.0.0.0, :: or ::ffff:0.0.0.0? */
SBPF_INLINE int sbpf_is_wildcard(const __u64 addr_be[2])
{
	return !addr_be[0] && (!addr_be[1] || addr_be[1] == 0xffff0000u);
}

/* The loopback address of a wildcard's family, as the second half of the mapped address. */
SBPF_INLINE __u64 sbpf_loopback_of(const __u64 wildcard_be[2])
{
	return wildcard_be[1] ? (__u64)__builtin_bswap32(0x7f000001) << 32 | 0xffff0000u : __builtin_bswap64(1);
}

/* Is it ::1, or of 127.0.0.0/8? Packets go there by lo, whatever the routes say. */
SBPF_INLINE int sbpf_is_loopback(const __u64 addr_be[2])
{
	if (addr_be[0])
		return 0;
	if (addr_be[1] == __builtin_bswap64(1))
		return 1;
	return (__u32)addr_be[1] == 0xffff0000u && (addr_be[1] >> 32 & 0xff) == 127;
}

/* Asked of what no rule allows, of a socket in a network namespace that was made for the sandbox: does its policy give
 * it the loopback there (loopback: private)? Nobody else listens there. */
SBPF_INLINE int sbpf_decide_own_loopback(void *policy, const struct sbpf_net_query *q)
{
	const struct sbpf_policy_header *header;

	header = sbpf_header_of(policy);
	if (!header || !(header->flags & SBPF_POLICY_OWN_LOOPBACK))
		return SBPF_DENY;
	return sbpf_is_loopback(q->addr_be) || sbpf_is_wildcard(q->addr_be) ? SBPF_ALLOW : SBPF_DENY;
}

/* This very port, with the key of a prefix length. */
SBPF_INLINE int sbpf_match_port(void *policy, struct sbpf_net_query *q, struct sbpf_rule_key *key)
{
	const struct sbpf_rule *rule;

	key->match = SBPF_PORT_EXACT;
	key->port = q->port;
	rule = (const struct sbpf_rule *)sbpf_policy_lookup(policy, key);
	if (rule)
		sbpf_take_rule(q, rule->range[0].rule);
	return !!rule;
}

/* One prefix length: a single-port key first, then the ranges. */
SBPF_INLINE int sbpf_match_prefix(void *policy, struct sbpf_net_query *q, __u8 prefix_len)
{
	struct sbpf_rule_key key;
	const struct sbpf_rule *rule;

	sbpf_rule_key_init(&key, q, prefix_len);
	if (sbpf_match_port(policy, q, &key))
		return 1;
	key.match = SBPF_PORT_RANGES;
	key.port = 0;
	rule = (const struct sbpf_rule *)sbpf_policy_lookup(policy, &key);
	if (!rule)
		return 0;
	return sbpf_in_ranges(rule, q);
}

struct sbpf_prefix_search {
	void *policy;
	struct sbpf_net_query *q;
	const struct sbpf_prefixes *prefixes;
	__u64 longest_network; /* that may match */
	__u64 found;	       /* the length of the one that did, and one; 0: none */
};

/* The kernel leads a connection to 0.0.0.0 to 127.0.0.1, and one to :: to ::1: what allows it is a rule for that very
 * address, or a network that both are in, of which 0.0.0.0/1 and ::/127 are the smallest. */
SBPF_INLINE __u64 sbpf_longest_network(const struct sbpf_net_query *q)
{
	if (q->kind != SBPF_RULE_CONNECT || !sbpf_is_wildcard(q->addr_be))
		return 128;
	return q->addr_be[1] ? 96 + 1 : 127;
}

/* A step of SBPF_REPEAT. */
static long sbpf_search_prefix(__u64 i, struct sbpf_prefix_search *search)
{
	__u8 len;

	if (i >= SBPF_MAX_PREFIXES)
		return 1;
	len = search->prefixes->len[i];
	if (len > search->longest_network && len < 128)
		return 0;
	if (!sbpf_match_prefix(search->policy, search->q, len))
		return 0;
	search->found = len + 1;
	return 1;
}

/* Does the policy list this endpoint? The common case, a single address and port of the list, is one lookup; the number
 * of entries costs nothing, each distinct prefix length of the policy two lookups. SBPF_ALLOW or SBPF_DENY. */
SBPF_INLINE int sbpf_decide_listed(void *policy, struct sbpf_net_query *q)
{
	const struct sbpf_policy_header *header;
	const struct sbpf_prefixes *prefixes;
	struct sbpf_prefix_search search;
	struct sbpf_rule_key key;
	__u32 n;

	sbpf_rule_key_init(&key, q, 128);
	if (sbpf_match_port(policy, q, &key))
		return SBPF_ALLOW;

	header = sbpf_header_of(policy);
	if (!header)
		return SBPF_DENY;
	if (header->flags & SBPF_POLICY_NET_ALLOW_ALL)
		return SBPF_ALLOW;
	if (q->kind == SBPF_RULE_CONNECT)
		q->host_names_id = header->host_names_id;

	n = q->kind == SBPF_RULE_BIND ? header->n_bind_prefixes : header->n_connect_prefixes;
	if (!n)
		return SBPF_DENY;
	prefixes = (const struct sbpf_prefixes *)sbpf_header_slot(
	    policy, q->kind == SBPF_RULE_BIND ? SBPF_SLOT_BIND_PREFIXES : SBPF_SLOT_CONNECT_PREFIXES);
	if (!prefixes)
		return SBPF_DENY;
	search.policy = policy;
	search.q = q;
	search.prefixes = prefixes;
	search.longest_network = sbpf_longest_network(q);
	search.found = 0;
	SBPF_REPEAT(n, sbpf_search_prefix, &search);
	if (!search.found)
		return SBPF_DENY;
	if (search.found - 1 > search.longest_network || search.longest_network == 128)
		return SBPF_ALLOW;
	/* By a network: the rule for where it leads says by which proxy. */
	q->addr_be[1] = sbpf_loopback_of(q->addr_be);
	sbpf_rule_key_init(&key, q, 128);
	if (sbpf_match_port(policy, q, &key))
		return SBPF_ALLOW;
	search.longest_network = 128;
	search.found = 0;
	SBPF_REPEAT(n, sbpf_search_prefix, &search);
	return search.found ? SBPF_ALLOW : SBPF_DENY;
}

/* Is it denied whatever the policy lists? */
SBPF_INLINE int sbpf_is_barred(void *policy, const struct sbpf_net_query *q)
{
	const struct sbpf_policy_header *header;

	if (sbpf_is_canary(q))
		return 1;
	if (!sbpf_is_metadata(q))
		return 0;
	header = sbpf_header_of(policy);
	return !header || !(header->flags & SBPF_POLICY_NET_METADATA);
}

SBPF_INLINE void sbpf_allowed_by_none(struct sbpf_net_query *q)
{
	q->rule = SBPF_NO_RULE;
	q->proxied = 0;
	q->host_names_id = 0;
}

/* May the sandbox connect or send to (kind CONNECT), or bind or listen on (kind BIND), this endpoint? SBPF_ALLOW or
 * SBPF_DENY; whatever is missing denies (I3). What is denied whatever the policy lists is asked last: else the verifier
 * would walk the search of the list once for each address that it compares with. */
SBPF_INLINE int sbpf_decide_net(void *policy, struct sbpf_net_query *q)
{
	int listed;

	sbpf_allowed_by_none(q);
	listed = sbpf_decide_listed(policy, q);
	if (!sbpf_is_barred(policy, q))
		return listed;
	sbpf_allowed_by_none(q);
	return SBPF_DENY;
}

/* The loopback addresses that a bind to a wildcard may be put on where no rule allows more, one by one (turn 0 and 1),
 * as the second half of the mapped address; 0: there is none in this turn. A socket of IPv6 that takes IPv4 as well
 * would hear both and can be put on one only: on 127.0.0.1 first, which clients try that are told "localhost", and
 * which many are told alone. */
SBPF_INLINE __u64 sbpf_narrowed(const __u64 wildcard_be[2], int v6only, int turn)
{
	const __u64 mapped[2] = {0, 0xffff0000u};

	if (turn == 0)
		return v6only ? 0 : sbpf_loopback_of(mapped);
	return wildcard_be[1] ? 0 : __builtin_bswap64(1);
}

#include "decide_option.h"
#include "decide_socket.h"

#include "decide_files.h"
#include "decide_process.h"

#endif
