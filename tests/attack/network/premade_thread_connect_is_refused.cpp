// SPDX-License-Identifier: Apache-2.0
// A thread that was running when the process joined.
#include <future>
#include <thread>

#include "tests/attack/lib/net.h"
#include "tests/attack/lib/process.h"

using namespace attack;

ATTACK(premade_thread_connect_is_refused,
       {.victim = Victim::tcp4, .allow = kAllowTcp4, .at = "connect", .launch = Launch::attach}) {
  std::promise<void> joined;
  std::jthread first;  // joins last, whatever happens
  in_thread([&] {
    first = std::jthread([&] {
      ctx.join();
      joined.set_value();
    });
    joined.get_future().wait();
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", ctx.port));
    send_text(fd, ctx.token);
  });
}
