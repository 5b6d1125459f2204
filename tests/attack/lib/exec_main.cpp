// SPDX-License-Identifier: Apache-2.0
// attacker exec NAME KEY=VALUE…  carries one attack out and reports it in one line:
//                                outcome errno=N pid=P served=ADDRESS,PORT loot=WORD namespace=KIND:[N] step=TEXT
//                                (errno 0: it got through; the namespace that it began in, of the kind it attacks)
//                                then stays until stdin ends, so that the driver can look at what it did;
//                                with wait=1 it begins when the driver says so, as if the body called join()
// attacker core PORT TOKEN       what a hijacked core_pattern runs
// attacker /PORT-TOKEN           what a hijacked release_agent runs
// attacker stamp                 prints what the driver wrote into this copy of the program
// attacker list                  names, one a line
#include <grp.h>
#include <netdb.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "tests/attack/lib/attack.h"
#include "tests/attack/lib/files.h"
#include "tests/attack/lib/net.h"

using namespace attack;

namespace {

std::map<std::string, std::string> arguments_of(int argc, char** argv) {
  std::map<std::string, std::string> arguments;
  for (int i = 3; i < argc; i++)
    if (const std::string word = argv[i]; word.find('=') != std::string::npos)
      arguments[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  return arguments;
}

void become(const std::map<std::string, std::string>& arguments) {
  if (const auto it = arguments.find("uid"); it != arguments.end()) {
    const auto id = static_cast<uid_t>(std::stoul(it->second));
    if (geteuid() != id) {
      must(setgroups(0, nullptr), "setgroups");
      must(setresgid(id, id, id), "setresgid");
      must(setresuid(id, id, id), "setresuid");
    }
    prctl(PR_SET_DUMPABLE, 1);
  }
  if (arguments.contains("need_euid_0") && geteuid() != 0) throw Failure{ECHILD, "set-user-ID bit ignored"};
}

// Where the served socket is to be found: "127.0.0.1,4000", "-" if nothing is served.
std::string place_of(int fd) {
  Address address;
  char host[64] = {}, port[16] = {};
  address.length = sizeof(address.storage);
  if (fd < 0 || getsockname(fd, address.raw(), &address.length) != 0) return "-";
  if (getnameinfo(address.raw(), address.length, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "-";
  return std::string(host) + "," + port;
}

// The namespace that this process is in, of the kind that the attack is about; "-" if it is about none.
std::string namespace_of(const Spec& spec) {
  if (spec.victim != Victim::attacker_namespace) return "-";
  std::error_code none;
  const auto name = std::filesystem::read_symlink(std::string("/proc/self/ns/") + spec.shows, none).string();
  return name.empty() ? "-" : name;
}

void report(const Failure& outcome, int served, const std::string& loot, const std::string& began) {
  std::printf("outcome errno=%d pid=%d served=%s loot=%s namespace=%s step=%s\n", outcome.error,
              static_cast<int>(getpid()), place_of(served).c_str(), loot.c_str(), began.c_str(), outcome.step.c_str());
  std::fflush(stdout);
}

// Gives the token to whoever asks.
void serve_once(int fd, const std::string& token) {
  int listening = 0;
  socklen_t size = sizeof(listening);
  getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size);
  if (listening) {
    const Fd peer(accept4(fd, nullptr, nullptr, SOCK_CLOEXEC));
    if (peer) send(peer.get(), token.data(), token.size(), MSG_NOSIGNAL);
    return;
  }
  Address from;
  char buffer[256];
  from.length = sizeof(from.storage);
  if (recvfrom(fd, buffer, sizeof(buffer), 0, from.raw(), &from.length) >= 0)
    sendto(fd, token.data(), token.size(), MSG_NOSIGNAL, from.raw(), from.length);
}

void stay(const Context& ctx) {
  pollfd fds[2] = {{STDIN_FILENO, POLLIN, 0}, {ctx.served().get(), POLLIN, 0}};
  // A datagram socket has no end, and no longer hears the driver once it was turned to another peer; on a network
  // socket is the victim, not the driver.
  int type = 0, family = 0;
  socklen_t size = sizeof type;
  const bool socket = getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                      getsockopt(STDIN_FILENO, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0;
  const bool endless = socket && (type == SOCK_DGRAM || family != AF_UNIX);
  for (;;) {
    const int ready = poll(fds, 2, endless ? 3000 : -1);
    if (ready == 0) return;
    if (ready < 0) continue;
    if (fds[1].revents & POLLIN) serve_once(fds[1].fd, ctx.token);
    if (fds[0].revents) {
      char byte = 0;
      if (read(STDIN_FILENO, &byte, 1) <= 0 || byte == 'q') return;
    }
  }
}

int run(const Attack& attack, const std::map<std::string, std::string>& arguments) {
  Failure outcome{0, "done"};
  const std::string began = namespace_of(attack.spec);
  try {
    become(arguments);
    Context ctx(arguments);
    try {
      if (arguments.contains("wait")) ctx.join();
      attack.body(ctx);
    } catch (const Failure& failure) {
      outcome = failure;
    }
    report(outcome, ctx.served().get(), ctx.loot(), began);
    stay(ctx);
  } catch (const Failure& failure) {
    report(failure, -1, "-", began);
    return 1;
  }
  return 0;
}

int send_from_outside(const char* port, const char* token) {
  try {
    const Fd fd = open_socket(AF_INET, SOCK_STREAM);
    connect_to(fd, v4("127.0.0.1", static_cast<std::uint16_t>(std::stoul(port))));
    send_text(fd, token);
  } catch (const Failure& failure) {
    return 1;
  }
  return 0;
}

}  // namespace

// In the program's data, so that whoever sees it printed has run that very copy.
volatile char stamp[] = ATTACK_STAMP;

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "list") {
    for (const Attack& attack : attacks()) std::puts(attack.name);
    return 0;
  }
  if (command == "stamp") {
    for (const volatile char& c : stamp) std::putchar(c);
    return 0;
  }
  if (command == "core" && argc == 4) return send_from_outside(argv[2], argv[3]);
  if (const auto dash = command.find('-'); argc == 2 && command.starts_with('/') && dash != std::string::npos)
    return send_from_outside(command.substr(1, dash - 1).c_str(), command.substr(dash + 1).c_str());
  const Attack* attack = command == "exec" && argc > 2 ? find(argv[2]) : nullptr;
  if (!attack) {
    std::fputs("usage: attacker exec NAME KEY=VALUE… | attacker list\n", stderr);
    return 2;
  }
  return run(*attack, arguments_of(argc, argv));
}
