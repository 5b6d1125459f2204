/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What a character device is, by its numbers and by its driver's name. As decide.h: what is opened is judged by this in
 * the kernel, and what was open before, by the agent. */
#ifndef SBPF_DECIDE_DEVICE_H
#define SBPF_DECIDE_DEVICE_H

#include "abi.h"

#ifndef SBPF_INLINE
#define SBPF_INLINE static inline __attribute__((always_inline))
#endif

#define MISC_MAJOR	    10
#define TUN_MINOR	    200
#define VHOST_NET_MINOR	    238
#define VHOST_VSOCK_MINOR   241
#define PPP_MAJOR	    108
#define INFINIBAND_MAJOR    231
#define FIRST_PTS_MAJOR	    136
#define LAST_PTS_MAJOR	    143
#define FIRST_DRIVERS_MAJOR (LAST_PTS_MAJOR + 1) /* of those that are looked up by name */

enum device_kind {
	DEVICE_OTHER = 0,
	DEVICE_NETWORK = 1,
	DEVICE_ACCELERATOR = 2,
	DEVICE_BY_NAME = 3 /* kind_of_driver() tells */
};

#define NAME8(a, b, c, d, e, f, g, h)                                                                                  \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | (__u64)(f) << 40 |    \
	 (__u64)(g) << 48 | (__u64)(h) << 56)
#define FIRST_BYTES(name, n) ((name) & ((1ull << 8 * (n)) - 1))

SBPF_INLINE int kind_of_number(__u32 major, __u32 minor)
{
	switch (major) {
	case MISC_MAJOR:
		return minor == TUN_MINOR || minor == VHOST_NET_MINOR || minor == VHOST_VSOCK_MINOR ? DEVICE_NETWORK
												    : DEVICE_OTHER;
	case PPP_MAJOR:
	case INFINIBAND_MAJOR:
		return DEVICE_NETWORK;
	}
	return major < FIRST_DRIVERS_MAJOR ? DEVICE_OTHER : DEVICE_BY_NAME;
}

/* By the first bytes of the driver's name. */
SBPF_INLINE int kind_of_driver(__u64 name)
{
	switch (name) {
	case NAME8('m', 'a', 'c', 'v', 't', 'a', 'p', 0):
	case NAME8('i', 'p', 'v', 't', 'a', 'p', 0, 0):
	case NAME8('v', 'h', 'o', 's', 't', '-', 'v', 'd'): /* vhost-vdpa */
		return DEVICE_NETWORK;
	case NAME8('k', 'f', 'd', 0, 0, 0, 0, 0):
	case NAME8('d', 'r', 'm', 0, 0, 0, 0, 0):
	case NAME8('a', 'c', 'c', 'e', 'l', 0, 0, 0):
		return DEVICE_ACCELERATOR;
	}
	return FIRST_BYTES(name, 6) == NAME8('n', 'v', 'i', 'd', 'i', 'a', 0, 0) ? DEVICE_ACCELERATOR : DEVICE_OTHER;
}

/* userfaultfd, which a hook of its own judges, and ntsync. Their numbers are given as they come. */
SBPF_INLINE int is_everyones_misc_name(__u64 name)
{
	return name == NAME8('u', 's', 'e', 'r', 'f', 'a', 'u', 'l') ||
	       name == NAME8('n', 't', 's', 'y', 'n', 'c', 0, 0);
}

/* mem and port: to open them takes a capability, and to use one that is open does not. */
SBPF_INLINE int is_memory_of_machine(__u32 major, __u32 minor)
{
	return major == 1 && (minor == 1 || minor == 4);
}

SBPF_INLINE int is_pseudo_terminal(__u32 major)
{
	return major >= FIRST_PTS_MAJOR && major <= LAST_PTS_MAJOR;
}

/* Character devices that any program may need, and that end at itself: memory's (null, zero, full, random, urandom;
 * kmsg to read; mem and port take a capability), the terminal that it has, pseudo-terminals, FUSE, virtual machines.
 * With these go accelerators, the terminal by its own number, and what is_everyones_misc_name() has. All others are the
 * whole machine's, or what is attached to it: consoles, input, disks by another name (sg, bsg, nvme-generic),
 * watchdogs, what drivers of later kernels bring. */
SBPF_INLINE int is_everyones_number(__u32 major, __u32 minor, int writes)
{
	switch (major) {
	case 1:
		return minor == 1 || (minor >= 3 && minor <= 5) || (minor >= 7 && minor <= 9) ||
		       (minor == 11 && !writes);
	case 5:
		return minor == 0 || minor == 2;
	case MISC_MAJOR:
		return minor == 229 || minor == 232; /* fuse, kvm */
	}
	return is_pseudo_terminal(major);
}

#endif
