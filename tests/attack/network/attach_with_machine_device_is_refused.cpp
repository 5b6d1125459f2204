// SPDX-License-Identifier: Apache-2.0
// What is the whole machine's, and was opened before the policy was there. That it is read or written there, the attacker alone sees.
#include <sys/mman.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"

using namespace attack;

// A filesystem section judges devices as files.
static constexpr const char* kDevices = "dangerously_allow_all: true\nfilesystem: {dangerously_allow_all: true}";

static constexpr const char* kReads = "who has it open can read or write it without a trace";

ATTACK(attach_with_raw_disk_is_refused, {.allow = kDevices, .launch = Launch::attach_refused, .root = true, .claims = kReads}) {
  const Fd disk = open_file("/dev/vda", O_RDONLY);
  ctx.join();
  char block[512];
  must(pread(disk.get(), block, sizeof(block), 0), "read");
}

ATTACK(attach_with_mapped_disk_is_refused, {.allow = kDevices, .launch = Launch::attach_refused, .root = true, .claims = kReads}) {
  Fd disk = open_file("/dev/vda", O_RDONLY);
  const void* block = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, disk.get(), 0);
  if (block == MAP_FAILED) throw Failure{errno, "mmap"};
  disk.reset();
  ctx.join();
  volatile char first = *static_cast<const char*>(block);
  (void)first;
}

ATTACK(attach_with_kernel_log_is_refused, {.allow = kDevices, .launch = Launch::attach_refused, .root = true, .claims = kReads}) {
  const Fd log = open_file("/dev/kmsg", O_WRONLY);
  ctx.join();
  must(write(log.get(), "<7>sbpf attack\n", 15), "write");
}
