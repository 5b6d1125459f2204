// SPDX-License-Identifier: Apache-2.0
// What the live tests run inside and outside of sandboxes. Prints facts; the scripts judge them.
//   probe connect tcp|udp ADDRESS PORT      prints the errno of the connect (0: through)
//   probe scan LAST                         LC-1: ports 1 to LAST of five loopback addresses, TCP and UDP; prints what is
//                                           not refused with EPERM as "PROTO ADDRESS PORT", then "scanned N"
//   probe listen tcp|udp ADDRESS PORT FILE  serves until killed; appends a line to FILE per connection or datagram
//   probe storm N COMMAND…                  runs COMMAND N times, one after another; prints "exit 0: N, exit 1: N, other: N"
//   probe hammer ADDRESS A B                connects to ports A and B in turn until its standard input ends; prints
//                                           "a N b N both N neither N other N"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/fd.h"

namespace {

using sbpf::Fd;

struct Endpoint {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

Endpoint parse(const char* text, int port) {
  Endpoint e;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&e.storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&e.storage);
  if (::inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(static_cast<std::uint16_t>(port));
    e.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(static_cast<std::uint16_t>(port));
    e.size = sizeof *v6;
  } else {
    std::fprintf(stderr, "probe: bad address %s\n", text);
    std::exit(2);
  }
  return e;
}

int type_of(const char* protocol) { return std::strcmp(protocol, "udp") == 0 ? SOCK_DGRAM : SOCK_STREAM; }

// TCP: the connect itself. UDP: connect, send, and (on loopback) the answer of a closed port counts as through.
int try_connect(int type, const Endpoint& to) {
  Fd fd(::socket(to.family(), type | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  if (::connect(fd.get(), to.get(), to.size) != 0) return errno;
  if (type == SOCK_DGRAM && ::send(fd.get(), "x", 1, 0) < 0) return errno;
  return 0;
}

int scan(int last) {
  long scanned = 0;
  for (const char* address : {"127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1", "0.0.0.0"})
    for (const char* protocol : {"tcp", "udp"})
      for (int port = 1; port <= last; port++, scanned++) {
        const int error = try_connect(type_of(protocol), parse(address, port));
        if (error != EPERM)
          std::printf("%s %s %d %s\n", protocol, address, port, error == 0 ? "open" : std::strerror(error));
      }
  std::printf("scanned %ld\n", scanned);
  return 0;
}

int listen_on(int type, const Endpoint& on, const char* file) {
  Fd fd(::socket(on.family(), type | SOCK_CLOEXEC, 0));
  const int yes = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd.get(), on.get(), on.size) != 0 || (type == SOCK_STREAM && ::listen(fd.get(), 128) != 0)) {
    std::perror("probe: listen");
    return 1;
  }
  Fd log(::open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    char byte = 0;
    if (type == SOCK_STREAM) {
      Fd client(::accept4(fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) continue;
    } else if (::recv(fd.get(), &byte, 1, 0) < 0) {
      continue;
    }
    (void)!::write(log.get(), "hit\n", 4);
  }
}

// Its exit code; 127 if it did not run, 128 if it ended otherwise.
int run_once(char** command) {
  pid_t pid = 0;
  int status = 0;
  if (::posix_spawn(&pid, command[0], nullptr, nullptr, command, environ) != 0) return 127;
  return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int storm(int runs, char** command) {
  int zero = 0, one = 0;
  for (int i = 0; i < runs; i++) {
    const int code = run_once(command);
    zero += code == 0 ? 1 : 0;
    one += code == 1 ? 1 : 0;
  }
  std::printf("exit 0: %d, exit 1: %d, other: %d\n", zero, one, runs - zero - one);
  return 0;
}

int hammer(const char* address, int a, int b) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const Endpoint to_a = parse(address, a), to_b = parse(address, b);
  long only_a = 0, only_b = 0, both = 0, neither = 0, other = 0;
  // With a pause: on one processor a task that wakes each millisecond sees a short gap, a busy one waits for its next
  // slice.
  while (::poll(&input, 1, 1) == 0) {
    const int error_a = try_connect(SOCK_DGRAM, to_a), error_b = try_connect(SOCK_DGRAM, to_b);
    if ((error_a != 0 && error_a != EPERM && error_a != ECONNREFUSED) ||
        (error_b != 0 && error_b != EPERM && error_b != ECONNREFUSED))
      other++;
    else if (error_a != EPERM && error_b != EPERM)
      both++;
    else if (error_a == EPERM && error_b == EPERM)
      neither++;
    else
      (error_a != EPERM ? only_a : only_b)++;
  }
  std::printf("a %ld b %ld both %ld neither %ld other %ld\n", only_a, only_b, both, neither, other);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const auto is = [&](const char* name, std::size_t n) { return !args.empty() && args[0] == name && args.size() >= n; };
  if (is("connect", 4)) {
    const int error = try_connect(type_of(argv[2]), parse(argv[3], std::atoi(argv[4])));
    std::printf("%d\n", error);
    return error == 0 ? 0 : 1;
  }
  if (is("scan", 2)) return scan(std::atoi(argv[2]));
  if (is("listen", 5)) return listen_on(type_of(argv[2]), parse(argv[3], std::atoi(argv[4])), argv[5]);
  if (is("storm", 3)) return storm(std::atoi(argv[2]), argv + 3);
  if (is("hammer", 4)) return hammer(argv[2], std::atoi(argv[3]), std::atoi(argv[4]));
  std::fputs("probe: see the head of probe.cpp\n", stderr);
  return 2;
}
