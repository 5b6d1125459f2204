// SPDX-License-Identifier: GPL-2.0-only
/* The agent's question which connections a rule sent to a proxy, and whom they are for. An iterator over the
 * sockets that sbpf_origins holds something for; attached to nothing. */
#include "network.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	struct sock *sk;
	void *value;
};

#pragma clang attribute pop

SEC("iter/bpf_sk_storage_map")
int sbpf_proxied(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sbpf_proxied proxied = {};
	struct sbpf_origin *origin = ctx->value;
	struct sock *sk = ctx->sk;

	if (!sk || !origin || !origin->proxy_port_be)
		return 0;
	proxied.origin = *origin;
	proxied.cookie = sk->__sk_common.skc_cookie.counter;
	proxied.netns = sk->__sk_common.skc_net.net->ns.inum;
	proxied.local_port = sk->__sk_common.skc_num;
	proxied.remote_port_be = sk->__sk_common.skc_dport;
	if (sk->__sk_common.skc_family == AF_INET6) {
		__builtin_memcpy(proxied.local_be, sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8,
				 sizeof(proxied.local_be));
		__builtin_memcpy(proxied.remote_be, sk->__sk_common.skc_v6_daddr.in6_u.u6_addr8,
				 sizeof(proxied.remote_be));
	} else {
		sbpf_map_v4(proxied.local_be, sk->__sk_common.skc_rcv_saddr);
		sbpf_map_v4(proxied.remote_be, sk->__sk_common.skc_daddr);
	}
	bpf_seq_write(ctx->meta->seq, &proxied, sizeof(proxied));
	return 0;
}
