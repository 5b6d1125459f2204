/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices that are more than a file. Character devices that are a network under another name: who has one open sends and receives
 * packets, or talks to servers of the host, without a socket that a hook would see. And devices of the whole machine. */
#ifndef SBPF_DEVICE_H
#define SBPF_DEVICE_H

#include "gate.h"

#define MISC_MAJOR 10
#define TUN_MINOR 200
#define VHOST_NET_MINOR 238
#define VHOST_VSOCK_MINOR 241
#define PPP_MAJOR 108
#define CHRDEV_BUCKETS 255
#define DRIVERS_IN_BUCKET 64

/* Address of the kernel's table of character devices by major number, by the loader; 0 if it is not known. */
extern const volatile __u64 sbpf_chrdevs;

struct driver_search {
	__u64 driver; /* by its address */
	__u32 major;
	int found;
};

static long search_driver(__u64 i, struct driver_search *search)
{
	static const char macvtap[8] = "macvtap", ipvtap[8] = "ipvtap";
	struct char_device_struct *driver = (struct char_device_struct *)search->driver;
	char name[8] = {};

	if (!driver)
		return 1;
	bpf_core_read_str(name, sizeof(name), &driver->name);
	if (BPF_CORE_READ(driver, major) == search->major &&
	    (!__builtin_memcmp(name, macvtap, sizeof(name)) || !__builtin_memcmp(name, ipvtap, sizeof(name)))) {
		search->found = 1;
		return 1;
	}
	search->driver = (__u64)BPF_CORE_READ(driver, next);
	return 0;
}

/* Majors that drivers are given as they come: which one is it? */
static __always_inline int is_dynamic_major(__u32 major)
{
	return (major >= 234 && major <= 254) || (major >= 384 && major <= 511);
}

/* Global: verified once. */
__weak __noinline int is_network_device(__u32 rdev)
{
	__u32 major = rdev >> SBPF_MINOR_BITS, minor = rdev & ((1u << SBPF_MINOR_BITS) - 1);
	struct driver_search search = {.major = major};

	if (major == MISC_MAJOR)
		return minor == TUN_MINOR || minor == VHOST_NET_MINOR || minor == VHOST_VSOCK_MINOR;
	if (major == PPP_MAJOR)
		return 1;
	if (!is_dynamic_major(major))
		return 0;
	if (!sbpf_chrdevs)
		return 1; /* it cannot be told */
	bpf_probe_read_kernel(&search.driver, sizeof(search.driver), (void *)(sbpf_chrdevs + major % CHRDEV_BUCKETS * 8));
	SBPF_REPEAT(DRIVERS_IN_BUCKET, search_driver, &search);
	return search.found;
}

static __always_inline int is_device(const struct inode *inode)
{
	int type = inode->i_mode & S_IFMT;

	return type == S_IFCHR || type == S_IFBLK;
}

/* The terminal that the current task has as its own, by its number. */
static __noinline __u32 own_terminal(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tty_struct *tty = BPF_CORE_READ(task, signal, tty);

	if (!tty)
		return 0;
	return (__u32)BPF_CORE_READ(tty, driver, major) << SBPF_MINOR_BITS | (BPF_CORE_READ(tty, driver, minor_start) + BPF_CORE_READ(tty, index));
}

/* Character devices by which root acts on the whole machine, and asks no capability that `capable` would see: its consoles, what
 * is typed and shown there, its log, its disks by SCSI's own commands, its watchdog. */
static __noinline int is_machine_device(__u32 rdev, int writes)
{
	__u32 major = rdev >> SBPF_MINOR_BITS, minor = rdev & ((1u << SBPF_MINOR_BITS) - 1);

	switch (major) {
	case 1: /* kmsg */
		return minor == 11 && writes;
	case 4: /* virtual consoles, serial lines */
	case 5: /* console */
		return (major == 4 || minor == 1) && rdev != own_terminal();
	case 7: /* what virtual consoles show */
	case 13: /* keyboards and mice */
	case 21: /* SCSI disks, as sg */
		return 1;
	case MISC_MAJOR: /* watchdog, uinput, uhid */
		return minor == 130 || minor == 223 || minor == 239;
	}
	return 0;
}

/* Why the policy does not let this device be opened; SBPF_REASON_NONE: it does, or it is none. With a filesystem section rules say
 * which devices may be used. */
static __noinline int refusal_of_device(const struct sbpf_sandbox *box, struct inode *inode, int writes)
{
	int block = (inode->i_mode & S_IFMT) == S_IFBLK;
	const struct sbpf_policy_header *header;
	void *policy;

	if (!is_device(inode))
		return SBPF_REASON_NONE;
	policy = box_policy(box);
	if (!policy)
		return SBPF_REASON_NO_POLICY;
	if (!block && is_network_device(inode->i_rdev))
		return sbpf_decide_socket(policy, SBPF_SOCKET_TUN) == SBPF_ALLOW ? SBPF_REASON_NONE : SBPF_REASON_NETWORK_DEVICE;
	header = sbpf_header_slot(policy, SBPF_SLOT_HEADER);
	if (header && header->flags & SBPF_POLICY_DEVICES)
		return SBPF_REASON_NONE;
	return block || is_machine_device(inode->i_rdev, writes) ? SBPF_REASON_MACHINE_DEVICE : SBPF_REASON_NONE;
}

#endif
