// SPDX-License-Identifier: Apache-2.0
// A program that does nothing. With an argument it writes the time of its first instruction (rdtsc) to stdout first.
#include <sys/syscall.h>

static long call(long number, long a, const void* b, long c) {
  long result;

  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
  return result;
}

__attribute__((noreturn, used)) void begin(const long* stack) {
  unsigned low, high;
  unsigned long now;

  __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
  now = (unsigned long)high << 32 | low;
  if (stack[0] > 1) call(SYS_write, 1, &now, sizeof(now));
  for (;;) call(SYS_exit_group, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
