// SPDX-License-Identifier: Apache-2.0
// Files in /proc of a process outside, opened by somebody there and sent over stdin.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(received_memory_of_outside_process_is_refused,
       {.victim = Victim::bystander_memory, .allow = kAudit, .at = "recvmsg", .input = Stdin::unix_stream}) {
  const Fd memory = receive_fd(STDIN_FILENO);
  must(pwrite(memory.get(), ctx.token.data(), ctx.token.size(), ctx.number("bystander_memory")), "pwrite");
}

// To read.
ATTACK(received_environment_of_outside_process_is_refused,
       {.victim = Victim::bystander_program_secret, .allow = kAudit, .at = "recvmsg", .input = Stdin::unix_stream}) {
  const Fd environment = receive_fd(STDIN_FILENO);
  char text[512];
  const auto got = must(read(environment.get(), text, sizeof text), "read");
  ctx.loot({text, static_cast<std::size_t>(got)});
}

ATTACK(received_file_of_own_process_is_free, {.victim = Victim::bystander_memory, .harmless = true}) {
  int ends[2];
  must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
  const Fd from(ends[0]), to(ends[1]);
  for (const char* path : {"/proc/self/status", "/proc/thread-self/comm", "/proc/meminfo"}) {
    send_fd(from.get(), open_file(path, O_RDONLY));
    char text[64];
    must(read(receive_fd(to.get()).get(), text, sizeof text), "read");
  }
}
