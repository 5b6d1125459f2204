// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD shim for fault injection: makes one bpf(2) call of libbpf fail, chosen by what it does.
 *   SBPF_FAULT=load:HOOK     BPF_PROG_LOAD of hook_HOOK
 *   SBPF_FAULT=attach:HOOK   BPF_LINK_CREATE of the program loaded or opened as HOOK
 *                            HOOK@N: of the N-th program by that name, of which the kernel keeps 15 characters
 *   SBPF_FAULT=command:N     every call of bpf command N (BPF_MAP_FREEZE is 22, BPF_OBJ_PIN 6…)
 *                            command:N@M: the M-th of them alone
 *   SBPF_FAULT=lie:HOOK      BPF_LINK_CREATE succeeds with a link that is detached again: only verification can tell
 *   SBPF_FAULT=short         BPF_MAP_UPDATE_BATCH succeeds with an entry less: only who reads it back can tell
 *   SBPF_FAULT=dissolve      connect(2) to AF_UNSPEC
 * The errno is EACCES, or $SBPF_FAULT_ERRNO. (On EINVAL libbpf tries the attach of older kernels, and succeeds.) Says
 * on stderr that it struck, so that a test knows it did.
 *   SBPF_STUBS=1             every program of the host's (LSM hooks, tracepoints, sysctl) is replaced by one that allows: what is loaded
 *                            before the fault takes the kernel most of a minute to verify here, and plays no part in
 *                            what the fault shows
 *   SBPF_LIE=CALL            this call of the child that becomes the program does nothing and says that it worked: no_new_privs,
 *                            bounding (of CAP_SYS_TIME), ambient, capset, user, group, groups, limit (of open files)
 *   SBPF_STUB=HOOK,HOOK…     those programs of a cgroup's are replaced by ones that allow and change nothing; a name that begins with
 *                            sbpf_ is a program's own, and no hook's */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef long (*syscall_fn)(long, ...);

static syscall_fn real_syscall(void) {
  static syscall_fn fn;

  if (!fn) fn = (syscall_fn)dlsym(RTLD_NEXT, "syscall");
  return fn;
}

static int lies(const char* call) {
  const char* lie = getenv("SBPF_LIE");

  if (!lie || strcmp(lie, call)) return 0;
  dprintf(2, "lie told: %s\n", call);
  return 1;
}

int prctl(int option, ...) {
  unsigned long a[4];
  va_list args;

  va_start(args, option);
  for (int i = 0; i < 4; i++) a[i] = va_arg(args, unsigned long);
  va_end(args);
  if ((option == PR_SET_NO_NEW_PRIVS && lies("no_new_privs")) ||
      (option == PR_CAPBSET_DROP && a[0] == 25 && lies("bounding")) ||
      (option == PR_CAP_AMBIENT && a[0] == PR_CAP_AMBIENT_RAISE && lies("ambient")))
    return 0;
  return (int)real_syscall()(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

int setresuid(uid_t real, uid_t effective, uid_t saved) {
  return lies("user") ? 0 : (int)real_syscall()(SYS_setresuid, real, effective, saved);
}

int setresgid(gid_t real, gid_t effective, gid_t saved) {
  return lies("group") ? 0 : (int)real_syscall()(SYS_setresgid, real, effective, saved);
}

int setgroups(size_t count, const gid_t* groups) {
  return lies("groups") ? 0 : (int)real_syscall()(SYS_setgroups, count, groups);
}

int setrlimit(__rlimit_resource_t resource, const struct rlimit* limit) {
  return resource == RLIMIT_NOFILE && lies("limit") ? 0 : (int)real_syscall()(SYS_setrlimit, resource, limit);
}

int setrlimit64(__rlimit_resource_t resource, const struct rlimit64* limit) {
  return setrlimit(resource, (const struct rlimit*)limit);
}

/* What every policy allows. It is the canary's, whose stderr is not for us: it says nothing. */
int connect(int fd, const struct sockaddr* address, socklen_t size) {
  const char* fault = getenv("SBPF_FAULT");

  if (fault && !strcmp(fault, "dissolve") && address->sa_family == AF_UNSPEC) {
    errno = EACCES;
    return -1;
  }
  return (int)real_syscall()(SYS_connect, fd, address, size);
}

/* The name that the kernel keeps of hook_HOOK. */
static void kept_name(char* name, const char* hook) {
  snprintf(name, BPF_OBJ_NAME_LEN, "%s%.*s", strncmp(hook, "sbpf_", 5) ? "hook_" : "", (int)strcspn(hook, "@,"), hook);
}

/* Is it the one that is meant, of those that share the name? libbpf tries a failed load once more, for its log. */
static int is_counted(const char* hook, int again) {
  const char* at = strchr(hook, '@');
  static int seen;

  if (!again) seen++;
  return seen == (at ? atoi(at + 1) : 1);
}

static int is_program(unsigned fd, const char* hook) {
  struct bpf_prog_info info;
  union bpf_attr attr;
  char want[BPF_OBJ_NAME_LEN];

  memset(&info, 0, sizeof(info));
  memset(&attr, 0, sizeof(attr));
  attr.info.bpf_fd = fd;
  attr.info.info_len = sizeof(info);
  attr.info.info = (unsigned long)&info;
  if (real_syscall()(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr))) return 0;
  kept_name(want, hook);
  return !strcmp(info.name, want) && is_counted(hook, 0);
}

static int strikes(int command, const union bpf_attr* attr, const char* fault) {
  char want[BPF_OBJ_NAME_LEN];

  if (!strncmp(fault, "load:", 5)) {
    kept_name(want, fault + 5);
    return command == BPF_PROG_LOAD && !strcmp(attr->prog_name, want) && is_counted(fault + 5, attr->log_level != 0);
  }
  if (!strncmp(fault, "attach:", 7))
    return command == BPF_LINK_CREATE && is_program(attr->link_create.prog_fd, fault + 7);
  if (!strncmp(fault, "lie:", 4)) return command == BPF_LINK_CREATE && is_program(attr->link_create.prog_fd, fault + 4);
  if (!strncmp(fault, "command:", 8))
    return command == atoi(fault + 8) && (!strchr(fault, '@') || is_counted(fault, 0));
  return 0;
}

static int is_of_host(const union bpf_attr* attr) {
  return attr->prog_type == BPF_PROG_TYPE_LSM || attr->prog_type == BPF_PROG_TYPE_CGROUP_SYSCTL ||
         (attr->prog_type == BPF_PROG_TYPE_TRACING && attr->expected_attach_type == BPF_TRACE_RAW_TP);
}

/* Is it the program of one of these hooks, which are separated by commas? */
static int is_listed(const char* program, const char* hooks) {
  while (hooks && *hooks) {
    char name[BPF_OBJ_NAME_LEN];

    kept_name(name, hooks);
    if (!strcmp(program, name)) return 1;
    hooks += strcspn(hooks, ",");
    hooks += *hooks == ',';
  }
  return 0;
}

/* A program that returns this number: the operation goes on. */
static long load_stub(const union bpf_attr* attr, unsigned size, int number) {
  struct bpf_insn allow[2];
  union bpf_attr stub;

  memset(allow, 0, sizeof(allow));
  memset(&stub, 0, sizeof(stub));
  memcpy(&stub, attr, size < sizeof(stub) ? size : sizeof(stub));
  allow[0].code = BPF_ALU64 | BPF_MOV | BPF_K;
  allow[0].imm = number;
  allow[1].code = BPF_JMP | BPF_EXIT;
  stub.insns = (unsigned long)allow;
  stub.insn_cnt = 2;
  stub.func_info_cnt = 0;
  stub.line_info_cnt = 0;
  stub.core_relo_cnt = 0;
  return real_syscall()(SYS_bpf, BPF_PROG_LOAD, &stub, sizeof(stub));
}

long syscall(long number, ...) {
  const char* fault = getenv("SBPF_FAULT");
  long a[6];
  va_list args;

  va_start(args, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
  va_end(args);
  if (number == SYS_capset && lies("capset")) return 0;
  if (number == SYS_bpf && a[0] == BPF_MAP_UPDATE_BATCH && fault && !strcmp(fault, "short")) {
    union bpf_attr* attr = (union bpf_attr*)a[1];
    long done;

    attr->batch.count--;
    done = real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    attr->batch.count++;
    dprintf(2, "fault struck: %s\n", fault);
    return done;
  }
  if (number == SYS_bpf && fault && strikes((int)a[0], (const union bpf_attr*)a[1], fault)) {
    const char* code = getenv("SBPF_FAULT_ERRNO");

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
  if (number == SYS_bpf && a[0] == BPF_PROG_LOAD && getenv("SBPF_STUBS") && is_of_host((const union bpf_attr*)a[1]))
    return load_stub((const union bpf_attr*)a[1], (unsigned)a[2],
                     ((const union bpf_attr*)a[1])->prog_type == BPF_PROG_TYPE_CGROUP_SYSCTL);
  if (number == SYS_bpf && a[0] == BPF_PROG_LOAD &&
      is_listed(((const union bpf_attr*)a[1])->prog_name, getenv("SBPF_STUB")))
    return load_stub((const union bpf_attr*)a[1], (unsigned)a[2], 1);
  return real_syscall()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
