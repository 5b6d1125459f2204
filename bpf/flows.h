/* SPDX-License-Identifier: GPL-2.0-only */
/* What is recorded of flows, for sandboxes whose policy has record_flows: docs/DESIGN.md, Records of flows. */
#ifndef SBPF_FLOWS_H
#define SBPF_FLOWS_H

#include "network.h"

static __always_inline int is_sent_to_again(struct bpf_sock *sk, const struct endpoint *ep)
{
	struct sbpf_last_sent *last =
	    sk ? bpf_sk_storage_get(&sbpf_last_sent, sk, 0, BPF_SK_STORAGE_GET_F_CREATE) : NULL;

	if (!last)
		return 0;
	if (last->addr_be[0] == ep->addr_be[0] && last->addr_be[1] == ep->addr_be[1] && last->port == ep->port)
		return 1;
	last->addr_be[0] = ep->addr_be[0];
	last->addr_be[1] = ep->addr_be[1];
	last->port = ep->port;
	return 0;
}

static __always_inline void copy_name(char to[SBPF_FLOW_NAME], __u64 cgroup_id, const struct endpoint *ep)
{
	void *names = bpf_map_lookup_elem(&sbpf_host_names, &cgroup_id);
	struct sbpf_net_query q = {.kind = SBPF_RULE_CONNECT, .port = ep->port};
	struct sbpf_opened *opened;
	struct sbpf_rule_key key;

	__builtin_memset(to, 0, SBPF_FLOW_NAME);
	if (!names)
		return;
	q.proto = ep->type == 1 ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;
	q.addr_be[0] = ep->addr_be[0];
	q.addr_be[1] = ep->addr_be[1];
	sbpf_rule_key_init(&key, &q, 128);
	key.match = SBPF_PORT_EXACT;
	key.port = q.port;
	opened = bpf_map_lookup_elem(names, &key);
	if (!opened) {
		key.match = SBPF_PORT_RANGES;
		key.port = 0;
		opened = bpf_map_lookup_elem(names, &key);
	}
	if (opened)
		__builtin_memcpy(to, opened->name, SBPF_FLOW_NAME);
}

/* A connect or a send that was allowed. */
static __noinline int record_flow(struct bpf_sock_addr *ctx, __u64 cgroup_id, __u32 hook, const struct endpoint *ep)
{
	struct sbpf_sandbox *sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &cgroup_id);
	struct denial d = {.hook = hook, .domain = SBPF_DOMAIN_NETWORK, .reason = SBPF_REASON_FLOW};
	struct telling telling = {.times = 1};
	struct sbpf_flow_event *flow;

	if (!sandbox || is_canary_task())
		return 0;
	if ((hook == SBPF_HOOK_sendmsg4 || hook == SBPF_HOOK_sendmsg6) && is_sent_to_again(ctx->sk, ep))
		return 0;
	flow = may_tell_allowed(sandbox) ? reserve_event(sandbox, sizeof(*flow)) : NULL;
	if (!flow)
		return 0;
	denial_fill_net(&d, ep);
	fill_event(&flow->event, sandbox, &d, &telling, SBPF_ALLOW, 0);
	flow->cookie = bpf_get_socket_cookie(ctx);
	flow->sent = 0;
	flow->received = 0;
	flow->local_port = ctx->sk ? ctx->sk->src_port : 0;
	flow->pad = 0;
	copy_name(flow->name, cgroup_id, ep);
	bpf_ringbuf_submit(flow, 0);
	return 0;
}

#endif
