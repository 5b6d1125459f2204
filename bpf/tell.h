/* SPDX-License-Identifier: GPL-2.0-only */
/* How a denial becomes an event. A sandbox decides what it tries, and a reader may be late: so equal denials are told
 * once a second, with their number, what is new has room that they leave, and the first of a kind has room that nothing
 * else takes. */
#ifndef SBPF_TELL_H
#define SBPF_TELL_H

#define NS_PER_SECOND 1000000000ull

/* How full, in eighths, the ring may be for another event to go in. */
enum ring_share {
	/* What was allowed leaves the other half to what was denied: it may be long until someone reads. */
	SHARE_ALLOWED = 4,
	SHARE_AGAIN = 4,
	SHARE_NEW = 6,
};

/* What tells an event from its equals, and for how many it stands. */
struct telling {
	__u64 object; /* of a denial, beside what it says itself: which file */
	__u64 key;
	__u32 times;
	__u32 first;
};

static __always_inline int ring_has_room(const struct sbpf_sandbox *sandbox, __u32 share)
{
	__u64 id = sandbox->cgroup_id;
	void *ring = bpf_map_lookup_elem(&sbpf_rings, &id);

	return ring && bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) <= SBPF_RING_BYTES / 8 * share;
}

/* One more in this second; 1: that is too many. */
static __always_inline int is_over_rate(struct sbpf_sandbox *sandbox, __u64 now)
{
	if (now - sandbox->window_start_ns > NS_PER_SECOND) {
		sandbox->window_start_ns = now;
		sandbox->window_events = 0;
	}
	return __sync_fetch_and_add(&sandbox->window_events, 1) >= SBPF_EVENTS_PER_SECOND;
}

/* Without the seed, which the sandbox does not know, no two denials can be made whose keys are equal. */
static __always_inline __u64 mix(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static __always_inline __u64 key_of(const struct denial *denial, __u32 verdict, __u64 seed, __u64 object)
{
	const struct sbpf_event_net *net = &denial->net;
	__u64 addr[2];

	__builtin_memcpy(addr, net->addr, sizeof(addr));
	seed = mix(seed, denial->hook | denial->reason << 8 | denial->domain << 16 | (__u64)verdict << 24);
	seed = mix(seed, net->family | (__u64)net->type << 16 | (__u64)net->protocol << 32 | (__u64)net->port << 48);
	seed = mix(seed, net->level | (__u64)net->option << 32);
	seed = mix(seed, addr[0]);
	seed = mix(seed, addr[1]);
	return mix(seed, object) | 1; /* 0: an empty place */
}

/* The kinds of this hook's denials that were told, and this one's bit among them. */
static __always_inline __u64 *kinds_told(struct sbpf_told *told, const struct denial *denial)
{
	return &told->kinds[denial->hook < SBPF_MAX_HOOKS ? denial->hook : SBPF_MAX_HOOKS - 1];
}

static __always_inline __u64 kind_of(const struct denial *denial)
{
	return 1ull << (denial->reason & 63);
}

/* Where the key stands; or the place that was not used for longest, which it gets. */
static __always_inline struct sbpf_told_one *place_of(struct sbpf_told *told, __u64 key)
{
	struct sbpf_told_one *set = told->one[key / 2 % (SBPF_TOLD / SBPF_TOLD_WAYS)], *place = &set[0];

#pragma clang loop unroll(full)
	for (__u32 i = 0; i < SBPF_TOLD_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (set[i].second < place->second)
			place = &set[i];
	}
	return place;
}

/* 1: the event may go to the ring; 0: it is counted, as one more of its equals or as lost. Global: verified once. */
__weak __noinline int may_tell(struct sbpf_sandbox *sandbox, const struct denial *denial, __u32 verdict,
			       struct telling *telling)
{
	__u64 now = bpf_ktime_get_boot_ns(), id, kind, *kinds;
	__u32 second = now / NS_PER_SECOND;
	struct sbpf_told_one *one;
	struct sbpf_told *told;

	if (!sandbox || !denial || !telling)
		return 0;
	id = sandbox->cgroup_id;
	told = bpf_map_lookup_elem(&sbpf_told, &id);
	if (!told) {
		__sync_fetch_and_add(&sandbox->lost_full, 1);
		return 0;
	}
	telling->key = key_of(denial, verdict, told->seed, telling->object);
	telling->times = 1;
	one = place_of(told, telling->key);
	if (one->key == telling->key) {
		if (one->second == second || !ring_has_room(sandbox, SHARE_AGAIN) || is_over_rate(sandbox, now)) {
			__sync_fetch_and_add(&one->untold, 1);
			__sync_fetch_and_add(&sandbox->repeated, 1);
			return 0;
		}
		telling->times += one->untold;
		one->untold = 0;
		one->second = second;
		return 1;
	}
	kinds = kinds_told(told, denial);
	kind = kind_of(denial);
	telling->first = !(*kinds & kind);
	if (!telling->first && is_over_rate(sandbox, now)) {
		__sync_fetch_and_add(&sandbox->lost_rate, 1);
		return 0;
	}
	if (!telling->first && !ring_has_room(sandbox, SHARE_NEW)) {
		__sync_fetch_and_add(&sandbox->lost_full, 1);
		return 0;
	}
	*kinds |= kind;
	one->key = telling->key;
	one->second = second;
	one->untold = 0;
	return 1;
}

/* What was not denied goes before nothing: the half of the ring and of the rate that is left to it. 1: it may go in. */
static __always_inline int may_tell_allowed(struct sbpf_sandbox *sandbox)
{
	__u64 now = bpf_ktime_get_boot_ns();

	if (!ring_has_room(sandbox, SHARE_ALLOWED)) {
		__sync_fetch_and_add(&sandbox->lost_full, 1);
		return 0;
	}
	if (now - sandbox->window_start_ns <= NS_PER_SECOND && sandbox->window_events >= SBPF_EVENTS_PER_SECOND / 2) {
		__sync_fetch_and_add(&sandbox->lost_rate, 1);
		return 0;
	}
	is_over_rate(sandbox, now);
	return 1;
}

/* There was no room for it after all: the next one of its kind is the first again. Global: verified once. */
__weak __noinline int untell(struct sbpf_sandbox *sandbox, const struct denial *denial, const struct telling *telling)
{
	struct sbpf_told_one *one;
	struct sbpf_told *told;
	__u64 id;

	if (!sandbox || !denial || !telling)
		return 0;
	id = sandbox->cgroup_id;
	told = bpf_map_lookup_elem(&sbpf_told, &id);
	if (!told)
		return 0;
	one = place_of(told, telling->key);
	if (one->key == telling->key)
		one->key = 0;
	if (telling->first)
		*kinds_told(told, denial) &= ~kind_of(denial);
	return 0;
}

/* Room in the sandbox's ring; NULL: the event is lost, and counted. */
static __always_inline void *reserve_event(struct sbpf_sandbox *sandbox, __u64 size)
{
	__u64 id = sandbox->cgroup_id;
	void *ring = bpf_map_lookup_elem(&sbpf_rings, &id);
	void *event = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (!event)
		__sync_fetch_and_add(&sandbox->lost_full, 1);
	return event;
}

static __always_inline void fill_event(struct sbpf_event *event, struct sbpf_sandbox *sandbox,
				       const struct denial *denial, const struct telling *telling, __u32 verdict,
				       int error)
{
	const struct sbpf_policy_header *header = sandbox_header(sandbox);
	__u64 id = bpf_get_current_pid_tgid();

	event->ts_ns = bpf_ktime_get_boot_ns();
	event->cgroup_id = sandbox->cgroup_id;
	event->tgid = id >> 32;
	event->tid = id;
	event->uid = bpf_get_current_uid_gid();
	event->generation = header ? header->generation : 0;
	event->hook = denial->hook;
	event->domain = denial->domain;
	event->verdict = verdict;
	event->reason = denial->reason;
	event->sys_errno = error;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	event->net = denial->net;
	event->key = telling->key;
	event->times = telling->times;
	event->first = telling->first;
	__sync_fetch_and_add(&sandbox->events, 1);
}

static __always_inline int emit(struct sbpf_sandbox *sandbox, const struct denial *denial,
				const struct telling *telling, __u32 verdict, int error)
{
	struct sbpf_event *event = reserve_event(sandbox, sizeof(*event));

	if (!event)
		return untell(sandbox, denial, telling);
	fill_event(event, sandbox, denial, telling, verdict, error);
	bpf_ringbuf_submit(event, 0);
	return 1;
}

/* What sbpf itself has to say of a sandbox, which is rare. 1: it is in the ring. */
static __always_inline int announce(struct sbpf_sandbox *sandbox, const struct denial *denial)
{
	struct telling telling = {.times = 1, .first = 1};

	return emit(sandbox, denial, &telling, SBPF_ALLOW, 0);
}

#endif
