// SPDX-License-Identifier: GPL-2.0-only
/* Network domain, records: attached to each sandbox's cgroup whose policy has record_flows. Refuses nothing.
 *
 * hook      kernel                               tells                                  does not see
 * sock_ops  tcp_rcv_state_process, tcp_set_state  TCP connections that come in, and the  who of the sandbox accepts or closes it;
 *           of sockets of the cgroup              end of each, with its bytes            sockets that were connected before
 * What goes out is recorded where it is allowed (network_cgroup.bpf.c).
 */
#include "flows.h"

#define TCP_CLOSED 7 /* BPF_TCP_CLOSE */

static __always_inline void endpoint_of_peer_of(struct endpoint *ep, struct bpf_sock_ops *ctx)
{
	/* All of it, before there is a branch: the compiler makes one load of two, at an address that the verifier does
	 * not take. */
	__u32 v4 = ctx->remote_ip4, family = ctx->family;
	__u16 port = bpf_ntohl(ctx->remote_port);
	__u32 words[4];

	words[0] = ctx->remote_ip6[0];
	words[1] = ctx->remote_ip6[1];
	words[2] = ctx->remote_ip6[2];
	words[3] = ctx->remote_ip6[3];
	asm volatile("" : "+r"(v4), "+r"(words[0]), "+r"(words[1]), "+r"(words[2]), "+r"(words[3]));
	endpoint_init(ep, SBPF_RULE_CONNECT, family, SOCK_STREAM, SBPF_PROTO_TCP);
	if (family == AF_INET)
		endpoint_v4(ep, v4, port);
	else
		endpoint_v6(ep, words, port);
}

/* The kernel's timers and peers bring this about: the current task says nothing. */
static __noinline int record_tcp(struct bpf_sock_ops *ctx, __u64 cgroup_id, __u32 reason)
{
	struct sbpf_sandbox *sandbox = bpf_map_lookup_elem(&sbpf_sandboxes, &cgroup_id);
	struct denial d = {.hook = SBPF_HOOK_sock_ops, .domain = SBPF_DOMAIN_NETWORK, .reason = reason};
	const struct sbpf_policy_header *header;
	__u64 now = bpf_ktime_get_boot_ns();
	struct sbpf_origin *origin = NULL;
	struct sbpf_flow_event *flow;
	struct bpf_sock *sk = ctx->sk;
	struct endpoint ep;

	if (!sandbox)
		return 0;
	endpoint_of_peer_of(&ep, ctx);
	/* ProxiedConnection to a proxy: whom it is for is what counts. */
	if (sk)
		origin = bpf_sk_storage_get(&sbpf_origins, sk, 0, 0);
	if (origin && origin->proxy_port_be == bpf_htons(ep.port)) {
		__builtin_memcpy(ep.addr_be, origin->address_be, sizeof(ep.addr_be));
		ep.port = bpf_ntohs(origin->port_be);
	}
	flow = may_tell_allowed(sandbox) ? reserve_event(sandbox, sizeof(*flow)) : NULL;
	if (!flow)
		return 0;
	denial_fill_net(&d, &ep);
	header = sandbox_header(sandbox);
	flow->event = (struct sbpf_event){.ts_ns = now,
					  .cgroup_id = cgroup_id,
					  .generation = header ? header->generation : 0,
					  .hook = d.hook,
					  .domain = d.domain,
					  .verdict = SBPF_ALLOW,
					  .reason = reason,
					  .net = d.net,
					  .times = 1};
	flow->cookie = bpf_get_socket_cookie(ctx);
	flow->sent = ctx->bytes_acked;
	flow->received = ctx->bytes_received;
	flow->local_port = ctx->local_port;
	flow->pad = 0;
	copy_name(flow->name, cgroup_id, &ep);
	bpf_ringbuf_submit(flow, 0);
	__sync_fetch_and_add(&sandbox->events, 1);
	return 0;
}

SEC("sockops")
int hook_sock_ops(struct bpf_sock_ops *ctx)
{
	struct sbpf_cgroup_ref *ref = bpf_get_local_storage(&sbpf_cgroup_refs, 0);
	__u32 op = ctx->op;
	int ended = op == BPF_SOCK_OPS_STATE_CB && ctx->args[1] == TCP_CLOSED;

	ctx->reply = -1; /* as without a program */
	if (!(ref->flags & SBPF_REF_RECORD))
		return 1;
	if (op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB || op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_STATE_CB_FLAG);
	if (op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		record_tcp(ctx, ref->cgroup_id, SBPF_REASON_FLOW_ACCEPTED);
	if (ended)
		record_tcp(ctx, ref->cgroup_id, SBPF_REASON_FLOW_ENDED);
	return 1;
}
