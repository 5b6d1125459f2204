// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/ops.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace sbpf::bench {
namespace {

// Nobody listens there on TCP; the policies of tests/bench/guest allow it. The other port they do not name.
constexpr std::uint16_t kAllowedPort = 8080;
constexpr std::uint16_t kDeniedPort = 9999;

constexpr const char* kShallow = "/tmp/file";  // depth 2
constexpr const char* kDeepDir = "/tmp/a/b/c/d/e/f/g/h";
constexpr const char* kDeep = "/tmp/a/b/c/d/e/f/g/h/file";  // depth 10

int file = -1, udp = -1;
std::array<int, 2> ends{-1, -1}, stream{-1, -1};

void need(bool good, const char* what) {
  if (!good) die(std::string(what) + ": " + std::strerror(errno));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

const sockaddr_in allowed = loopback(kAllowedPort);
const sockaddr_in denied = loopback(kDeniedPort);

const sockaddr* generic(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

void make_file(const char* path) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  need(fd >= 0 && ::write(fd, "x", 1) == 1, path);
  ::close(fd);
}

// ---- files ----

void make_files() {
  make_file(kShallow);
  for (const char* end = std::strchr(kDeepDir + 5, '/');; end = std::strchr(end + 1, '/')) {
    const std::string dir = end == nullptr ? kDeepDir : std::string(kDeepDir, end);
    need(::mkdir(dir.c_str(), 0755) == 0 || errno == EEXIST, "mkdir");
    if (end == nullptr) break;
  }
  make_file(kDeep);
}

void open_file() {
  make_files();
  if (file < 0) file = ::open(kShallow, O_RDONLY | O_CLOEXEC);
  need(file >= 0, kShallow);
}

void open_pipe() {
  if (ends[0] < 0) need(::pipe2(ends.data(), O_CLOEXEC) == 0, "pipe");
}

void op_stat() {
  struct stat info {};
  need(::stat(kShallow, &info) == 0, "stat");
}

void op_pread() {
  char byte = 0;
  need(::pread(file, &byte, 1, 0) == 1, "pread");
}

void op_pipe() {
  char byte = 0;
  need(::write(ends[1], &byte, 1) == 1 && ::read(ends[0], &byte, 1) == 1, "pipe");
}

void open_close(const char* path) {
  const int fd = ::open(path, O_RDONLY);
  need(fd >= 0, path);
  ::close(fd);
}

void rename_file() {
  const std::string other = std::string(kShallow) + "2";
  need(::rename(kShallow, other.c_str()) == 0 && ::rename(other.c_str(), kShallow) == 0, "rename");
}

// ---- sockets ----

void tcp_connect(const sockaddr_in& to, int wanted) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  need(fd >= 0, "socket");
  const int result = ::connect(fd, generic(to), sizeof to);
  need(result != 0 && errno == wanted, "connect: not the errno that it should have");
  ::close(fd);
}

// Sends to itself: one sendto and one recvfrom, without a second process.
void open_udp() {
  release();
  udp = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  need(udp >= 0, "socket");
}

void bind_udp() {
  open_udp();
  need(::bind(udp, generic(allowed), sizeof allowed) == 0, "bind");
}

void op_setsockopt() {
  const int ttl = 64;
  need(::setsockopt(udp, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl) == 0, "setsockopt");
}

void op_udp_connect() { need(::connect(udp, generic(allowed), sizeof allowed) == 0, "connect"); }

void op_udp_pair() {
  char byte = 0;
  need(::sendto(udp, &byte, 1, 0, generic(allowed), sizeof allowed) == 1, "sendto");
  need(::recvfrom(udp, &byte, 1, 0, nullptr, nullptr) == 1, "recvfrom");
}

// Both ends of a connection, in this process. The listener is gone again: the port refuses other connections.
void open_stream() {
  for (int& end : stream)
    if (end >= 0) ::close(std::exchange(end, -1));
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  need(listener >= 0 && ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "socket");
  need(::bind(listener, generic(allowed), sizeof allowed) == 0 && ::listen(listener, 1) == 0, "listen");
  stream[0] = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  need(stream[0] >= 0 && ::connect(stream[0], generic(allowed), sizeof allowed) == 0, "connect");
  stream[1] = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  need(stream[1] >= 0, "accept");
  ::close(listener);
}

void op_tcp_stream() {
  static std::array<char, 65536> block;
  need(::send(stream[0], block.data(), block.size(), 0) == static_cast<ssize_t>(block.size()), "send");
  need(::recv(stream[1], block.data(), block.size(), MSG_WAITALL) == static_cast<ssize_t>(block.size()), "recv");
}

// A window of the limit on events per second begins, so that each denial has its event.
void rest() { ::sleep(2); }

// Somebody answers there: tests/bench/guest.
void open_query() {
  open_udp();
  sockaddr_in server = loopback(53);
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 52);  // 127.0.0.53
  need(::connect(udp, generic(server), sizeof server) == 0, "connect");
}

// An A record of the name a.example.
void op_dns_query() {
  static std::uint16_t number = 0;
  std::array<char, 27> query{0, 0,   1,   0,   0,   1,   0,   0,   0, 0, 0, 0, 1, 'a',
                             7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1};
  std::array<char, 512> reply{};
  ++number;
  std::memcpy(query.data(), &number, sizeof number);
  need(::send(udp, query.data(), query.size(), 0) == static_cast<ssize_t>(query.size()), "send");
  const ssize_t size = ::recv(udp, reply.data(), reply.size(), 0);
  need(size > static_cast<ssize_t>(query.size()), "recv");
  if (std::memcmp(reply.data(), query.data(), sizeof number) != 0 || (reply[3] & 15) != 0 || reply[7] != 1)
    die("dns_query: no answer");
}

// ---- processes ----

void reap(pid_t pid) {
  int status = 0;
  need(::waitpid(pid, &status, 0) == pid && status == 0, "child");
}

void op_fork() {
  const pid_t pid = ::fork();
  need(pid >= 0, "fork");
  if (pid == 0) ::_exit(0);
  reap(pid);
}

void op_exec() {
  static const std::string path = nothing_path();
  std::array<char*, 2> argv{const_cast<char*>(path.c_str()), nullptr};
  std::array<char*, 1> env{nullptr};
  // NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork): it is what is measured
  char* const program = argv[0];
  const pid_t pid = ::vfork();
  if (pid == 0) {
    ::execve(program, argv.data(), env.data());
    ::_exit(127);
  }
  // NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork)
  need(pid > 0, "vfork");
  reap(pid);
}

}  // namespace

void die(const std::string& what) {
  std::fprintf(stderr, "bench: %s\n", what.c_str());
  std::_Exit(1);
}

std::string nothing_path() {
  std::array<char, 4096> own{};
  const ssize_t length = ::readlink("/proc/self/exe", own.data(), own.size());
  need(length > 0, "/proc/self/exe");
  const std::string path(own.data(), static_cast<std::size_t>(length));
  return path.substr(0, path.rfind('/')) + "/nothing";
}

void release() {
  if (udp >= 0) ::close(udp);
  udp = -1;
}

const std::vector<Op>& ops() {
  static const std::vector<Op> all = {
      {"getppid", 1000, nullptr, [] { (void)!::getppid(); }},
      {"stat", 500, make_files, op_stat},
      {"pread", 500, open_file, op_pread},
      {"pipe", 500, open_pipe, op_pipe},
      {"open_2", 200, make_files, [] { open_close(kShallow); }},
      {"open_10", 100, make_files, [] { open_close(kDeep); }},
      // A rename anywhere makes sbpf look anew.
      {"rename", 100, make_files, rename_file},
      {"rename_open_10", 80, make_files,
       [] {
         rename_file();
         open_close(kDeep);
       }},
      {"tcp", 40, nullptr, [] { tcp_connect(allowed, ECONNREFUSED); }},
      {"tcp_stream", 8, open_stream, op_tcp_stream},
      {"udp_connect", 200, open_udp, op_udp_connect},
      {"udp_pair", 100, bind_udp, op_udp_pair},
      {"setsockopt", 500, open_udp, op_setsockopt},
      {"fork", 10, nullptr, op_fork},
      {"exec", 8, nullptr, op_exec},
      // At most as many as there can be events in a second: 24 rounds.
      {"tcp_denied", 16, rest, [] { tcp_connect(denied, EPERM); }, true},
      // Not more than a sandbox may ask at once: 24 rounds.
      {"dns_query", 8, open_query, op_dns_query, true},
  };
  return all;
}

}  // namespace sbpf::bench
