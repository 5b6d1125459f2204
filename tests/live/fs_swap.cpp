// SPDX-License-Identifier: Apache-2.0
// I2 for files: policies are swapped a thousand times under a loop of opens. What both allow is never denied, what both
// deny is never allowed. Speaks the contract of tests/vm/README.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/live/fs_box.h"

namespace {

using namespace sbpf;
using namespace sbpf::live;

constexpr const char* kFiles[] = {"both", "neither", "only-a", "only-b"};
constexpr std::size_t kBoth = 0, kNeither = 1, kOnlyA = 2, kOnlyB = 3, kCount = 4;
constexpr int kSwaps = 1000, kSwapsToNone = 250;

// Shared with the worker, which alone writes the counts.
struct Counts {
  std::array<volatile long, kCount> allowed, denied, other;
  volatile bool stop;
};

policy::Policy reads(const std::string& name, const std::string& base, std::initializer_list<std::size_t> files) {
  policy::Policy policy;
  policy.name = name;
  policy.filesystem.requested = true;
  for (std::size_t i : files) policy.filesystem.rules.push_back({base + "/" + kFiles[i], policy::FsAccess::read, {}});
  return policy;
}

[[noreturn]] void open_all(Counts& counts, const std::string& base) {
  std::array<std::string, kCount> paths;
  for (std::size_t i = 0; i < kCount; i++) paths[i] = base + "/" + kFiles[i];
  while (!counts.stop)
    for (std::size_t i = 0; i < kCount; i++) {
      const int fd = ::open(paths[i].c_str(), O_RDONLY | O_CLOEXEC);
      auto& count = fd >= 0 ? counts.allowed : errno == EACCES ? counts.denied : counts.other;
      count[i] = count[i] + 1;
      if (fd >= 0) ::close(fd);
    }
  ::_exit(0);
}

std::string text_of(const Counts& counts, int swaps) {
  std::string text = std::to_string(swaps) + " swaps";
  for (std::size_t i = 0; i < kCount; i++)
    text += std::string("; ") + kFiles[i] + " " + std::to_string(counts.allowed[i]) + " allowed, " +
            std::to_string(counts.denied[i]) + " denied, " + std::to_string(counts.other[i]) + " else";
  return text;
}

bool check(const std::string& name, bool good, const std::string& why) {
  std::printf(good ? "ok %s\n" : "not ok %s: %s\n", name.c_str(), why.c_str());
  std::fflush(stdout);
  return good;
}

// Swaps `a` and `b` under the loop. What must hold of the counts is the caller's.
std::string swap_under_load(Box& box, const std::string& base, const policy::Policy& a, const policy::Policy& b,
                            Counts& counts, int wanted, int& swaps) {
  swaps = 0;
  auto image_a = box.compile(a), image_b = box.compile(b);
  if (!image_a) return image_a.error().message;
  if (!image_b) return image_b.error().message;
  if (auto published = box.publish(*image_a); !published) return published.error().message;
  counts = Counts{};
  Fd pidfd;
  auto pid = box.clone(pidfd);
  if (!pid) return pid.error().message;
  if (*pid == 0) open_all(counts, base);
  for (; swaps < wanted; swaps++)
    if (auto published = box.publish(swaps % 2 == 0 ? *image_b : *image_a); !published)
      return published.error().message;
  counts.stop = true;
  return "";
}

int compare(Box& box, const std::string& name, const std::string& base, Counts& counts, int& failed) {
  std::error_code ec;
  std::filesystem::create_directories(base, ec);
  for (const char* file : kFiles) Fd(::open((base + "/" + file).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  const policy::Policy a = reads("a", base, {kBoth, kOnlyA}), b = reads("b", base, {kBoth, kOnlyB});
  policy::Policy without;
  without.name = "without";
  int swaps = 0;
  std::string error = swap_under_load(box, base, a, b, counts, kSwaps, swaps);
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
  error = swap_under_load(box, base, a, without, counts, kSwapsToNone, swaps);
  all = error + " " + text_of(counts, swaps);
  std::printf("%s, without a section: %s\n", name.c_str(), all.c_str());
  failed += !check("swap/" + name + "/section-or-none/never-denied-by-both",
                   error.empty() && denied[kBoth] == 0 && denied[kOnlyA] == 0 && allowed[kBoth] > 0, all);
  failed += !check("swap/" + name + "/section-or-none/both-policies-were-seen",
                   allowed[kNeither] > 0 && denied[kNeither] > 0 && allowed[kOnlyB] > 0 && denied[kOnlyB] > 0, all);
  std::filesystem::remove_all(base, ec);
  return 6;
}

}  // namespace

int main() {
  auto* counts =
      static_cast<Counts*>(::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  auto box = Box::make("swapped", reads("closed", "/srv", {}));
  if (counts == MAP_FAILED || !box) {
    std::printf("not ok swap/sandbox: %s\ndone 1\n", box ? "no memory" : box.error().message.c_str());
    return 1;
  }
  int cases = 0, failed = 0;
  cases += compare(*box, "ext4", "/srv/swapped", *counts, failed);
  cases += compare(*box, "tmpfs", "/run/swapped", *counts, failed);
  box->remove();
  std::printf("done %d\n", cases);
  return failed == 0 ? 0 : 1;
}
