// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD shim that ends sbpf as `kill -9` would, just before one of the calls by which it changes what outlives it:
 * bpf(2) but for commands that only read, mkdir, rename, rmdir, unlinkat, and writes to files of cgroups.
 *   SBPF_KILL_AT=N      before the N-th of them
 *   SBPF_STOP_AT=N      stops it there, as `kill -STOP` would
 *   SBPF_KILL_COUNT=F   never; writes their number to file F when the process ends */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int seen;
static pid_t whose; /* a child that mends what its killed parent left is not killed, too */

__attribute__((constructor)) static void begin(void) { whose = getpid(); }

static void point(void) {
  const char *at = getenv("SBPF_KILL_AT"), *stop = getenv("SBPF_STOP_AT");

  if (getpid() != whose) return;
  seen++;
  if (at && atoi(at) == seen) kill(getpid(), SIGKILL);
  if (stop && atoi(stop) == seen) kill(getpid(), SIGSTOP);
}

__attribute__((destructor)) static void tell(void) {
  const char* file = getenv("SBPF_KILL_COUNT");
  FILE* to = file && getpid() == whose ? fopen(file, "w") : NULL;

  if (!to) return;
  fprintf(to, "%d\n", seen);
  fclose(to);
}

static int changes(long command) {
  switch (command) {
    case BPF_MAP_CREATE:
    case BPF_MAP_UPDATE_ELEM:
    case BPF_MAP_DELETE_ELEM:
    case BPF_PROG_LOAD:
    case BPF_OBJ_PIN:
    case BPF_MAP_FREEZE:
    case BPF_MAP_UPDATE_BATCH:
    case BPF_MAP_DELETE_BATCH:
    case BPF_LINK_CREATE:
    case BPF_LINK_UPDATE:
    case BPF_LINK_DETACH:
      return 1;
    default:
      return 0;
  }
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  long a[6];
  va_list args;

  if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_start(args, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
  va_end(args);
  if (number == SYS_bpf && changes(a[0])) point();
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define POINT(type, name, parameters, arguments)                   \
  type name parameters {                                           \
    static type(*real) parameters;                                 \
                                                                   \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    point();                                                       \
    return real arguments;                                         \
  }

POINT(int, mkdir, (const char* path, mode_t mode), (path, mode))
POINT(int, rename, (const char* from, const char* to), (from, to))
POINT(int, rmdir, (const char* path), (path))
POINT(int, unlinkat, (int at, const char* path, int flags), (at, path, flags))

ssize_t write(int fd, const void* data, size_t size) {
  static ssize_t (*real)(int, const void*, size_t);
  char link[32], path[256];
  ssize_t n;

  if (!real) real = (ssize_t(*)(int, const void*, size_t))dlsym(RTLD_NEXT, "write");
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  n = readlink(link, path, sizeof(path) - 1);
  path[n > 0 ? n : 0] = 0;
  if (n > 14 && !__builtin_strncmp(path, "/sys/fs/cgroup", 14)) point();
  return real(fd, data, size);
}
