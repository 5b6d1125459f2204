/* SPDX-License-Identifier: GPL-2.0-only */
/* Devices that are more than a file. Character devices that are a network under another name: who has one open sends
 * and receives packets, or talks to servers of the host, without a socket that a hook would see. And devices of the
 * whole machine. */
#ifndef SBPF_DEVICE_H
#define SBPF_DEVICE_H

#include "decide_device.h"
#include "gate.h"

#define CHRDEV_BUCKETS	  255
#define DRIVERS_IN_BUCKET 64
#define MISC_DEVICES	  256

/* Address of the kernel's table of character devices by major number, by the loader; 0 if it is not known. */
extern const volatile __u64 sbpf_chrdevs;
/* Likewise of its list of misc devices. */
extern const volatile __u64 sbpf_misc_list;

struct driver_search {
	__u64 driver; /* by its address */
	__u32 major;
	int kind;
};

static long search_driver(__u64 i, struct driver_search *search)
{
	struct char_device_struct *driver = (struct char_device_struct *)search->driver;
	__u64 name = 0;

	if (!driver)
		return 1;
	if (BPF_CORE_READ(driver, major) == search->major) {
		bpf_core_read(&name, sizeof(name), &driver->name);
		search->kind = kind_of_driver(name);
		if (search->kind)
			return 1;
	}
	search->driver = (__u64)BPF_CORE_READ(driver, next);
	return 0;
}

/* Which kind of character device is it, by its driver? Global: verified once. */
__weak __noinline int kind_of_device(__u32 rdev)
{
	__u32 major = rdev >> SBPF_MINOR_BITS, minor = rdev & ((1u << SBPF_MINOR_BITS) - 1);
	struct driver_search search = {.major = major};
	int kind = kind_of_number(major, minor);

	if (kind != DEVICE_BY_NAME)
		return kind;
	if (!sbpf_chrdevs)
		return DEVICE_NETWORK; /* it cannot be told */
	bpf_probe_read_kernel(&search.driver, sizeof(search.driver),
			      (void *)(sbpf_chrdevs + major % CHRDEV_BUCKETS * 8));
	SBPF_REPEAT(DRIVERS_IN_BUCKET, search_driver, &search);
	return search.kind;
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
	return (__u32)BPF_CORE_READ(tty, driver, major) << SBPF_MINOR_BITS |
	       (BPF_CORE_READ(tty, driver, minor_start) + BPF_CORE_READ(tty, index));
}

struct misc_search {
	__u64 node; /* by its address */
	int minor;
	int found;
};

static long search_misc(__u64 i, struct misc_search *search)
{
	struct miscdevice *device = (void *)search->node - bpf_core_field_offset(struct miscdevice, list);
	__u64 name = 0;

	if (BPF_CORE_READ(device, minor) == search->minor) {
		bpf_probe_read_kernel(&name, sizeof(name), BPF_CORE_READ(device, name));
		search->found = is_everyones_misc_name(name);
		return 1;
	}
	search->node = (__u64)BPF_CORE_READ(device, list.next);
	return !search->node || search->node == sbpf_misc_list;
}

/* By its driver's name. Global: verified once. */
__weak __noinline int is_everyones_misc(__u32 minor)
{
	struct misc_search search = {.minor = minor};

	if (!sbpf_misc_list)
		return 0;
	bpf_probe_read_kernel(&search.node, sizeof(search.node), (void *)sbpf_misc_list);
	if (!search.node || search.node == sbpf_misc_list)
		return 0;
	SBPF_REPEAT(MISC_DEVICES, search_misc, &search);
	return search.found;
}

/* By what it is (is_everyones_number() has which), or as the terminal that the current task has. */
static __noinline int is_everyones_device(__u32 rdev, int writes)
{
	__u32 major = rdev >> SBPF_MINOR_BITS, minor = rdev & ((1u << SBPF_MINOR_BITS) - 1);

	if (is_everyones_number(major, minor, writes) || rdev == own_terminal())
		return 1;
	return major == MISC_MAJOR ? is_everyones_misc(minor) : kind_of_device(rdev) == DEVICE_ACCELERATOR;
}

/* With a filesystem section rules say which devices may be used. */
static __noinline int judges_devices_as_files(const struct sbpf_sandbox *sandbox)
{
	void *policy = sandbox_policy(sandbox);
	const struct sbpf_policy_header *header = policy ? sbpf_header_of(policy) : NULL;

	return header && header->flags & SBPF_POLICY_DEVICES;
}

/* Why the policy does not let this device be opened; SBPF_REASON_NONE: it does, or it is none. */
static __noinline int refusal_of_device(const struct sbpf_sandbox *sandbox, struct inode *inode, int writes)
{
	int block = (inode->i_mode & S_IFMT) == S_IFBLK;
	void *policy;

	if (!is_device(inode))
		return SBPF_REASON_NONE;
	policy = sandbox_policy(sandbox);
	if (!policy)
		return SBPF_REASON_NO_POLICY;
	if (!block && kind_of_device(inode->i_rdev) == DEVICE_NETWORK)
		return sbpf_decide_socket(policy, SBPF_SOCKET_TUN) == SBPF_ALLOW ? SBPF_REASON_NONE
										 : SBPF_REASON_NETWORK_DEVICE;
	if (judges_devices_as_files(sandbox))
		return SBPF_REASON_NONE;
	return block || !is_everyones_device(inode->i_rdev, writes) ? SBPF_REASON_MACHINE_DEVICE : SBPF_REASON_NONE;
}

#endif
