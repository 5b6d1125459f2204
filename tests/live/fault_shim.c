// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD shim for fault injection: makes one bpf(2) call of libbpf fail, chosen by what it does.
 *   SBPF_FAULT=load:HOOK     BPF_PROG_LOAD of hook_HOOK
 *   SBPF_FAULT=attach:HOOK   BPF_LINK_CREATE of the program loaded or opened as HOOK
 *   SBPF_FAULT=command:N     every call of bpf command N (BPF_MAP_FREEZE is 22, BPF_OBJ_PIN 6…)
 *   SBPF_FAULT=lie:HOOK      BPF_LINK_CREATE succeeds with a link that is detached again: only verification can tell
 * The errno is EACCES, or $SBPF_FAULT_ERRNO. (On EINVAL libbpf tries the attach of older kernels, and succeeds.) Says on stderr that it struck, so that a test knows it did. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long (*syscall_fn)(long, ...);

static syscall_fn real_syscall(void)
{
	static syscall_fn fn;

	if (!fn)
		fn = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
	return fn;
}

static int is_program(unsigned fd, const char *hook)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	char want[BPF_OBJ_NAME_LEN];

	memset(&info, 0, sizeof(info));
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (unsigned long)&info;
	if (real_syscall()(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)))
		return 0;
	/* The kernel keeps 15 characters: unlink and rename share none of them, sb_mount and sb_umount neither. */
	snprintf(want, sizeof(want), "hook_%s", hook);
	return !strncmp(info.name, want, sizeof(want) - 1);
}

static int strikes(int command, const union bpf_attr *attr, const char *fault)
{
	char want[BPF_OBJ_NAME_LEN];

	if (!strncmp(fault, "load:", 5)) {
		snprintf(want, sizeof(want), "hook_%s", fault + 5);
		return command == BPF_PROG_LOAD && !strncmp(attr->prog_name, want, sizeof(want) - 1);
	}
	if (!strncmp(fault, "attach:", 7))
		return command == BPF_LINK_CREATE && is_program(attr->link_create.prog_fd, fault + 7);
	if (!strncmp(fault, "lie:", 4))
		return command == BPF_LINK_CREATE && is_program(attr->link_create.prog_fd, fault + 4);
	if (!strncmp(fault, "command:", 8))
		return command == atoi(fault + 8);
	return 0;
}

long syscall(long number, ...)
{
	const char *fault = getenv("SBPF_FAULT");
	long a[6];
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && fault && strikes((int)a[0], (const union bpf_attr *)a[1], fault)) {
		const char *code = getenv("SBPF_FAULT_ERRNO");

		if (!strncmp(fault, "lie:", 4)) {
			union bpf_attr detach;
			long fd = real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);

			memset(&detach, 0, sizeof(detach));
			detach.link_detach.link_fd = (unsigned)fd;
			real_syscall()(SYS_bpf, BPF_LINK_DETACH, &detach, sizeof(detach));
			dprintf(2, "fault struck: %s\n", fault);
			return fd;
		}
		dprintf(2, "fault struck: %s\n", fault);
		errno = code ? atoi(code) : EACCES;
		return -1;
	}
	return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
