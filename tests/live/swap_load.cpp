// SPDX-License-Identifier: Apache-2.0
// I2: policies are swapped a thousand times under a loop of opens, of connects, and of sends. What both allow is never
// denied, what both deny is never allowed. Speaks the contract of tests/vm/README.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "tests/live/test_sandbox.h"

namespace {

using namespace sbpf;
using namespace sbpf::live;

constexpr const char* kTargets[] = {"both", "neither", "only-a", "only-b"};
constexpr std::size_t kBoth = 0, kNeither = 1, kOnlyA = 2, kOnlyB = 3, kCount = 4;
constexpr int kSwaps = 1000, kSwapsToNone = 250;
constexpr std::uint16_t kFirstPort = 7301;

// Shared with the worker, which alone writes the counts.
struct Counts {
  std::array<volatile long, kCount> allowed, denied, other;
  volatile bool stop;
};

// What is tried on each target.
struct Kind {
  std::string name;
  int denial;                               // errno
  std::function<int(std::size_t)> attempt;  // 0 or the errno
  std::function<policy::Policy(const std::string&, std::initializer_list<std::size_t>)> allowing;
};

Kind files(const std::string& name, const std::string& base) {
  const auto path = [base](std::size_t i) { return base + "/" + kTargets[i]; };
  std::error_code ec;
  std::filesystem::create_directories(base, ec);
  for (std::size_t i = 0; i < kCount; i++) Fd(::open(path(i).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const auto attempt = [path](std::size_t i) {
    const Fd fd(::open(path(i).c_str(), O_RDONLY | O_CLOEXEC));
    return fd ? 0 : errno;
  };
  const auto allowing = [path](const std::string& of, std::initializer_list<std::size_t> targets) {
    policy::Policy policy;
    policy.name = of;
    policy.filesystem.requested = true;
    for (const std::size_t i : targets) policy.filesystem.rules.push_back({path(i), policy::FsAccess::read, {}});
    return policy;
  };
  return {name, EACCES, attempt, allowing};
}

// Datagrams: nobody has to be there.
Kind endpoints(const std::string& name, bool connects) {
  const auto attempt = [connects](std::size_t i) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons(static_cast<std::uint16_t>(kFirstPort + i));
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto* address = reinterpret_cast<const sockaddr*>(&to);
    const bool done = connects ? ::connect(socket.get(), address, sizeof to) == 0
                               : ::sendto(socket.get(), "x", 1, 0, address, sizeof to) == 1;
    return done ? 0 : errno;
  };
  const auto allowing = [](const std::string& of, std::initializer_list<std::size_t> targets) {
    policy::Policy policy;
    policy.name = of;
    for (const std::size_t i : targets) {
      const auto port = static_cast<std::uint16_t>(kFirstPort + i);
      policy.network.connect.push_back(
          {*policy::parse_address("127.0.0.1"), 128, {{port, port}}, policy::Protocol::udp, {}});
    }
    return policy;
  };
  return {name, EPERM, attempt, allowing};
}

[[noreturn]] void attempt_all(Counts& counts, const Kind& kind) {
  while (!counts.stop)
    for (std::size_t i = 0; i < kCount; i++) {
      const int error = kind.attempt(i);
      auto& count = error == 0 ? counts.allowed : error == kind.denial ? counts.denied : counts.other;
      count[i] = count[i] + 1;
    }
  ::_exit(0);
}

std::string text_of(const Counts& counts, int swaps) {
  std::string text = std::to_string(swaps) + " swaps";
  for (std::size_t i = 0; i < kCount; i++)
    text += std::string("; ") + kTargets[i] + " " + std::to_string(counts.allowed[i]) + " allowed, " +
            std::to_string(counts.denied[i]) + " denied, " + std::to_string(counts.other[i]) + " else";
  return text;
}

bool check(const std::string& name, bool good, const std::string& why) {
  std::printf(good ? "ok %s\n" : "not ok %s: %s\n", name.c_str(), why.c_str());
  std::fflush(stdout);
  return good;
}

// Swaps `a` and `b` under the loop. What must hold of the counts is the caller's.
std::string swap_under_load(TestSandbox& sandbox, const Kind& kind, const policy::Policy& a, const policy::Policy& b,
                            Counts& counts, int wanted, int& swaps) {
  swaps = 0;
  auto image_a = sandbox.compile(a), image_b = sandbox.compile(b);
  if (!image_a) return image_a.error().message;
  if (!image_b) return image_b.error().message;
  if (auto published = sandbox.publish(*image_a); !published) return published.error().message;
  counts = Counts{};
  Fd pidfd;
  auto pid = sandbox.clone(pidfd);
  if (!pid) return pid.error().message;
  if (*pid == 0) attempt_all(counts, kind);
  std::string error;
  for (; swaps < wanted && error.empty(); swaps++)
    if (auto published = sandbox.publish(swaps % 2 == 0 ? *image_b : *image_a); !published)
      error = published.error().message;
  counts.stop = true;
  (void)::waitpid(*pid, nullptr, __WALL);  // the next one counts anew, and no policy is compiled for one that is ending
  return error;
}

// Of files a policy may say nothing: then they are all open.
int compare(TestSandbox& sandbox, const Kind& kind, bool or_none, Counts& counts, int& failed) {
  const std::string& name = kind.name;
  const policy::Policy a = kind.allowing("a", {kBoth, kOnlyA}), b = kind.allowing("b", {kBoth, kOnlyB});
  int swaps = 0;
  std::string error = swap_under_load(sandbox, kind, a, b, counts, kSwaps, swaps);
  std::string all = error + " " + text_of(counts, swaps);
  std::printf("%s: %s\n", name.c_str(), all.c_str());
  const auto& allowed = counts.allowed;
  const auto& denied = counts.denied;
  bool other = false;
  for (std::size_t i = 0; i < kCount; i++) other = other || counts.other[i] != 0;
  failed += !check("swap/" + name + "/a-thousand", error.empty() && swaps == kSwaps && !other, all);
  failed += !check("swap/" + name + "/never-denied-by-both", denied[kBoth] == 0 && allowed[kBoth] > 0, all);
  failed += !check("swap/" + name + "/never-allowed-by-neither", allowed[kNeither] == 0 && denied[kNeither] > 0, all);
  failed += !check("swap/" + name + "/both-policies-were-seen",
                   allowed[kOnlyA] > 0 && denied[kOnlyA] > 0 && allowed[kOnlyB] > 0 && denied[kOnlyB] > 0, all);
  if (!or_none) return 4;
  policy::Policy without;
  without.name = "without";
  error = swap_under_load(sandbox, kind, a, without, counts, kSwapsToNone, swaps);
  all = error + " " + text_of(counts, swaps);
  std::printf("%s, without a section: %s\n", name.c_str(), all.c_str());
  failed += !check("swap/" + name + "/section-or-none/never-denied-by-both",
                   error.empty() && denied[kBoth] == 0 && denied[kOnlyA] == 0 && allowed[kBoth] > 0, all);
  failed += !check("swap/" + name + "/section-or-none/both-policies-were-seen",
                   allowed[kNeither] > 0 && denied[kNeither] > 0 && allowed[kOnlyB] > 0 && denied[kOnlyB] > 0, all);
  return 6;
}

}  // namespace

int main() {
  auto* counts =
      static_cast<Counts*>(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto sandbox = TestSandbox::make("swapped", files("closed", "/srv/swapped").allowing("closed", {}));
  if (counts == MAP_FAILED || !sandbox) {
    std::printf("not ok swap/sandbox: %s\ndone 1\n", sandbox ? "no memory" : sandbox.error().message.c_str());
    return 1;
  }
  int cases = 0, failed = 0;
  cases += compare(*sandbox, files("ext4", "/srv/swapped"), true, *counts, failed);
  cases += compare(*sandbox, files("tmpfs", "/run/swapped"), true, *counts, failed);
  cases += compare(*sandbox, endpoints("connect", true), false, *counts, failed);
  cases += compare(*sandbox, endpoints("send", false), false, *counts, failed);
  std::error_code ec;
  for (const char* base : {"/srv/swapped", "/run/swapped"}) std::filesystem::remove_all(base, ec);
  sandbox->remove();
  std::printf("done %d\n", cases);
  return failed == 0 ? 0 : 1;
}
