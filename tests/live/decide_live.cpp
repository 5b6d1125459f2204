// SPDX-License-Identifier: Apache-2.0
// The decision table (tests/decide/table.h) put to the kernel: for each of its policies one `sbpf run`, in which this
// program makes the system calls of the policy's rows and prints each errno. Speaks the contract of tests/vm/README.
//   decide_live            the test
//   decide_live rows N     inside the sandbox: the rows that share row N's policy
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include "base/fd.h"
#include "tests/decide/table.h"

namespace {

using namespace sbpf;
using decide_table::Op;
using decide_table::Proto;
using decide_table::Row;

// 0 if the socket is bound to where the row says, EADDRNOTAVAIL if elsewhere.
int check_place(const Fd& fd, const Row& row, const sockaddr_storage& asked) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return errno;
  sockaddr_storage wanted = asked;
  const bool v4 = asked.ss_family == AF_INET;
  void* at = v4 ? static_cast<void*>(&reinterpret_cast<sockaddr_in*>(&wanted)->sin_addr)
                : static_cast<void*>(&reinterpret_cast<sockaddr_in6*>(&wanted)->sin6_addr);
  if (row.narrowed != nullptr && ::inet_pton(v4 ? AF_INET : AF_INET6, row.narrowed, at) != 1) return EINVAL;
  const bool same = v4 ? std::memcmp(&reinterpret_cast<sockaddr_in*>(&bound)->sin_addr, at, sizeof(in_addr)) == 0
                       : std::memcmp(&reinterpret_cast<sockaddr_in6*>(&bound)->sin6_addr, at, sizeof(in6_addr)) == 0;
  return same ? 0 : EADDRNOTAVAIL;
}

int try_row(const Row& row) {
  sockaddr_storage storage{};
  auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
  socklen_t size = sizeof *v4;
  if (::inet_pton(AF_INET, row.address, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(row.port);
  } else if (::inet_pton(AF_INET6, row.address, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(row.port);
    size = sizeof *v6;
  } else {
    return EDESTADDRREQ;
  }
  // Non-blocking: an allowed connect to nowhere must not wait for an answer.
  Fd fd(::socket(storage.ss_family, (row.proto == Proto::tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC,
                 0));
  if (!fd) return errno;
  const auto* address = reinterpret_cast<const sockaddr*>(&storage);
  const int result = row.op == Op::bind ? ::bind(fd.get(), address, size) : ::connect(fd.get(), address, size);
  if (result == 0) return row.op == Op::bind ? check_place(fd, row, storage) : 0;
  if (row.op == Op::bind || row.proto == Proto::tcp || errno == EPERM) return errno;
  return 0;
}

int print_rows(std::size_t first) {
  const std::string policy = decide_table::kRows[first].policy;
  for (std::size_t i = 0; i < std::size(decide_table::kRows); i++)
    if (policy == decide_table::kRows[i].policy) std::printf("%zu %d\n", i, try_row(decide_table::kRows[i]));
  return 0;
}

std::map<std::size_t, int> run_policy(std::size_t first, const std::string& self) {
  const std::string file = "/tmp/decide_live.yaml";
  // Raw sockets and low ports are root's; the table is about the policy alone.
  std::ofstream(file) << decide_table::kRows[first].policy << "\nprocess: {capabilities: dangerously_all}\n";
  const std::string command =
      "sbpf run -q --policy " + file + " -- " + self + " rows " + std::to_string(first) + " 2>/dev/null";
  std::map<std::size_t, int> results;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return results;
  std::size_t row = 0;
  int error = 0;
  while (std::fscanf(pipe, "%zu %d", &row, &error) == 2) results[row] = error;
  ::pclose(pipe);
  return results;
}

bool judge(std::size_t i, const std::map<std::size_t, int>& results) {
  const Row& row = decide_table::kRows[i];
  const auto found = results.find(i);
  // The table has the verdict; in mode audit a denial is reported and blocks nothing.
  const bool refused = !row.allowed && std::strstr(row.policy, "mode: audit") == nullptr;
  const char* why = nullptr;
  if (found == results.end())
    why = "no result";
  else if (!refused && found->second == EPERM)
    why = "refused";
  else if (refused && found->second != EPERM)
    why = "not refused";
  else if (row.narrowed != nullptr && found->second != 0)
    why = "bound elsewhere";
  if (why == nullptr)
    std::printf("ok decide/%s\n", row.name);
  else
    std::printf("not ok decide/%s: %s (errno %d)\n", row.name, why, found == results.end() ? -1 : found->second);
  return why == nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "rows") == 0) return print_rows(std::strtoul(argv[2], nullptr, 10));
  char self[4096] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 2;
  std::map<std::string, std::map<std::size_t, int>> by_policy;
  std::size_t bad = 0;
  for (std::size_t i = 0; i < std::size(decide_table::kRows); i++) {
    const std::string policy = decide_table::kRows[i].policy;
    if (!by_policy.contains(policy)) by_policy[policy] = run_policy(i, self);
    if (!judge(i, by_policy[policy])) bad++;
  }
  std::printf("done %zu\n", std::size(decide_table::kRows));
  return bad == 0 ? 0 : 1;
}
