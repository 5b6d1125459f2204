// SPDX-License-Identifier: Apache-2.0
// What is the whole machine's, and was opened before the policy was there. That it is read or written there, the
// attacker alone sees.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

// A filesystem section judges devices as files.
static constexpr const char* kDevices = "dangerously_allow_all: true\nfilesystem: {dangerously_allow_all: true}";

static constexpr const char* kReads = "who has it open can read or write it without a trace";

ATTACK(attach_with_raw_disk_is_refused,
       {.allow = kDevices, .launch = Launch::attach_refused, .root = true, .claims = kReads}) {
  const Fd disk = open_file("/dev/vda", O_RDONLY);
  ctx.join();
  char block[512];
  must(pread(disk.get(), block, sizeof(block), 0), "read");
}

ATTACK(attach_with_mapped_disk_is_refused,
       {.allow = kDevices, .launch = Launch::attach_refused, .root = true, .claims = kReads}) {
  Fd disk = open_file("/dev/vda", O_RDONLY);
  const void* block = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, disk.get(), 0);
  if (block == MAP_FAILED) throw Failure{errno, "mmap"};
  disk.reset();
  ctx.join();
  volatile char first = *static_cast<const char*>(block);
  (void)first;
}

ATTACK(attach_with_kernel_log_is_refused,
       {.allow = kDevices, .launch = Launch::attach_refused, .root = true, .claims = kReads}) {
  const Fd log = open_file("/dev/kmsg", O_WRONLY);
  ctx.join();
  must(write(log.get(), "<7>sbpf attack\n", 15), "write");
}

// Whatever is not everyone's, as what is opened later.
#define WITH_DEVICE(name, path, flags)                              \
  ATTACK(name, {.allow = kDevices,                                  \
                .launch = Launch::attach_refused,                   \
                .root = true,                                       \
                .claims = "what it drives, all processes share"}) { \
    const Fd device = open_file(path, flags);                       \
    ctx.join();                                                     \
  }

WITH_DEVICE(attach_with_console_is_refused, "/dev/tty1", O_RDWR | O_NOCTTY)
WITH_DEVICE(attach_with_screen_of_console_is_refused, "/dev/vcs1", O_RDONLY)
WITH_DEVICE(attach_with_clock_device_is_refused, "/dev/rtc0", O_RDONLY)
WITH_DEVICE(attach_with_latency_setting_is_refused, "/dev/cpu_dma_latency", O_WRONLY)

// What any program may have open. A terminal of one's own is among it.
ATTACK(attach_with_everyones_devices_is_free,
       {.victim = Victim::bystander_memory, .launch = Launch::attach_inside_refused, .harmless = true}) {
  std::vector<Fd> devices;
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"})
    devices.push_back(open_file(path, O_RDWR));
  for (const char* path : {"/dev/fuse", "/dev/kvm", "/dev/kmsg"})
    if (Fd device(open(path, O_RDONLY | O_CLOEXEC)); device) devices.push_back(std::move(device));
  const auto [terminal, name] = new_terminal();
  signal(SIGHUP, SIG_IGN);  // of the terminal's end
  must(setsid(), "setsid");
  devices.push_back(open_file(name, O_RDWR));
  devices.push_back(open_file("/dev/tty", O_RDWR));
  ctx.join();
}

// The machine's memory, opened outside and handed over.
ATTACK(received_machine_memory_is_refused,
       {.allow = kDevices, .at = "recvmsg", .launch = Launch::attach, .root = true, .claims = kReads}) {
  int ends[2], go[2];  // who waits is told by a pipe, as what is sent is judged
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  must(pipe2(go, O_CLOEXEC), "pipe");
  const Fd ours(ends[0]), theirs(ends[1]), told(go[0]), tell(go[1]);
  const pid_t outside = must(fork(), "fork");
  if (outside == 0) {
    char byte = 0;
    if (read(told.get(), &byte, 1) == 1) send_fd(theirs.get(), open_file("/dev/mem", O_RDONLY));
    _exit(0);
  }
  ctx.join();
  must(write(tell.get(), "x", 1), "write");
  const Fd memory = receive_fd(ours.get());
  char text[16];
  must(pread(memory.get(), text, sizeof text, 0), "pread");
}
