// SPDX-License-Identifier: Apache-2.0
// The 32-bit door: int 0x80 and socketcall(2) from a 64-bit program.
#include <sys/mman.h>

#include <cstring>

#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

// socketcall(call, arguments); the address, if there is one, becomes the second argument.
long socketcall(long call, const long (&arguments)[3], const Address& address, const char* step) {
#if defined(__x86_64__)
  static void* low = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  if (low == MAP_FAILED) throw Failure{ENOMEM, "mmap"};
  auto* words = static_cast<std::uint32_t*>(low);
  for (int i = 0; i < 3; i++) words[i] = static_cast<std::uint32_t>(arguments[i]);
  if (address.length != 0) {
    std::memcpy(words + 8, address.raw(), address.length);
    words[1] = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(words + 8));
  }
  long result = 102;  // __NR_socketcall of i386
  asm volatile("int $0x80" : "+a"(result) : "b"(call), "c"(words) : "memory", "r8", "r9", "r10", "r11");
  const auto rc = static_cast<std::int32_t>(result);
  if (rc < 0) throw Failure{-rc, step};
  return rc;
#else
  (void)call, (void)arguments, (void)address, (void)step;
  throw Failure{ENOSYS, "no 32-bit calls here"};
#endif
}

}  // namespace

ATTACK(compat_socketcall_connect_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .lacking = {{ENOSYS}}}) {
  const Address to = v4("127.0.0.1", ctx.port);
  const long socket_arguments[] = {AF_INET, SOCK_STREAM, 0};
  const Fd fd(static_cast<int>(socketcall(1, socket_arguments, {}, "socket")));
  const long connect_arguments[] = {fd.get(), 0, static_cast<long>(sizeof(sockaddr_in))};
  socketcall(3, connect_arguments, to, "connect");
  send_text(fd, ctx.token);
}
