/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* What of the kernel is open to a sandbox's processes. As decide.h, which includes this: one map lookup, no helpers. */
#ifndef SBPF_DECIDE_PROCESS_H
#define SBPF_DECIDE_PROCESS_H

#include "abi.h"
#include "capabilities.h"

#define SBPF_CAPS_OF_RAW_SOCKETS (1u << SBPF_SOCKET_RAW | 1u << SBPF_SOCKET_PACKET)

SBPF_INLINE const struct sbpf_policy_process *sbpf_process_slot(void *policy)
{
	return (const struct sbpf_policy_process *)sbpf_header_slot(policy, SBPF_SLOT_PROCESS);
}

/* May it be used over the host's user namespace? 1: yes. A policy that opens raw or packet sockets allows NET_RAW, too;
 * one with dangerously_allow_all also NET_ADMIN. */
SBPF_INLINE int sbpf_decide_capability(void *policy, __u32 capability)
{
	const struct sbpf_policy_process *process;
	const struct sbpf_policy_header *header;

	if (capability >= 64)
		return 0;
	if (SBPF_CAPS_OPEN >> capability & 1)
		return 1;
	process = sbpf_process_slot(policy);
	if (process && process->capabilities >> capability & 1)
		return 1;
	if (capability != SBPF_CAP_NET_ADMIN && capability != SBPF_CAP_NET_RAW)
		return 0;
	header = sbpf_header_of(policy);
	if (!header)
		return 0;
	if (header->flags & SBPF_POLICY_NET_ALLOW_ALL)
		return 1;
	if (capability == SBPF_CAP_NET_RAW && header->sockets & SBPF_CAPS_OF_RAW_SOCKETS)
		return 1;
	return 0;
}

/* Is the interface open? 1: yes. */
SBPF_INLINE int sbpf_decide_interface(void *policy, __u32 interface)
{
	const struct sbpf_policy_process *process = sbpf_process_slot(policy);

	if (process && interface < SBPF_KERNEL_MAX && process->kernel >> interface & 1)
		return 1;
	return 0;
}

#endif
