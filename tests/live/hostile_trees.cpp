// SPDX-License-Identifier: Apache-2.0
// A model of filesystem rules (tests/live/tree_model.h) against the kernel, in trees that do not stand still: a worker
// inside the sandbox and the host move, exchange, link, remove, make anew and mount, at random, while policies are
// swapped and dentries are dropped. Some changes of the host's and some swaps come while the worker's call is under
// way: then either state may decide.
//   hostile_trees STEPS SEED NAME:BASE[:LOWER:UPPER]…
// BASE: a directory that the tree is made in; with LOWER and UPPER an overlay of the two is mounted there, and the tree
// begins in LOWER. A NAME that ends in "@" may number its directories anew, as FUSE does. Speaks the contract of
// tests/vm/README.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/live/hostile_world.h"
#include "tests/live/test_sandbox.h"
#include "tests/live/worker.h"

namespace {

using namespace sbpf;
using namespace sbpf::live;

constexpr int kStepsPerPolicy = 50;  // in the mean
// Of so many calls one is under way while the policy is swapped (which takes as long as five calls), and so many while
// a directory moves.
constexpr std::size_t kCallsPerSwap = 48, kMovesPerSwap = 4;

// One call at a time.
[[noreturn]] void work(Op& op, int orders, int reports) {
  char byte = 0;
  while (::read(orders, &byte, 1) == 1) {
    op.error = attempt(op);
    if (::write(reports, &byte, 1) != 1) break;
  }
  ::_exit(0);
}

// Moves files elsewhere in the filesystem, so that what is remembered is void again and again, and has dentries
// dropped.
class Noise {
 public:
  explicit Noise(const std::string& base) : pid_(::fork()) {
    if (pid_ != 0) return;
    const std::string a = base + "/noise-a", b = base + "/noise-b";
    const Fd made(::open(a.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (int i = 0;; i++) {
      if (::getppid() == 1 || ::rename((i % 2 == 0 ? a : b).c_str(), (i % 2 == 0 ? b : a).c_str()) != 0) ::_exit(1);
      if (i % 200 == 0) drop_dentries();
      ::usleep(2000);
    }
  }
  // False: it had ended by itself.
  bool stop() const {
    return ::waitpid(pid_, nullptr, WNOHANG) == 0 && ::kill(pid_, SIGKILL) == 0 && ::waitpid(pid_, nullptr, 0) == pid_;
  }

 private:
  pid_t pid_;
};

struct Tally {
  long steps = 0, untold = 0, changes = 0, meanwhile = 0, swaps = 0;
  std::array<long, kKinds> denied{}, allowed{};
  std::string first;  // the first disagreement, or what went wrong
};

class Run {
 public:
  Run(TestSandbox& sandbox, Worker<Op>& worker, HostileWorld& world, Random& random)
      : sandbox_(sandbox), worker_(worker), world_(world), random_(random) {}

  Tally all(long steps) {
    swap(nullptr);
    while (tally_.first.empty() && tally_.steps < steps) {
      if (roll(kStepsPerPolicy) == 0)
        swap(nullptr);
      else if (roll(4) == 0)
        tally_.changes += world_.change();
      else
        step();
      if (!worker_.alive) tally_.first = "the worker died";
    }
    return tally_;
  }

 private:
  std::size_t roll(std::size_t n) { return random_() % n; }

  // A call from inside; while it is under way perhaps a swap, or a directory is moved.
  void step() {
    const Op op = world_.random_call();
    // To be run takes three: open, mapped, and mapped as code.
    const bool one_verdict = !changes(op.kind) && op.kind != Kind::run;
    const std::size_t dice = one_verdict ? roll(kCallsPerSwap) : kCallsPerSwap;
    Outcomes may = world_.outcomes(op);
    if (dice == 0) {
      swap(&op);
      may = either(may, world_.outcomes(op));
    } else if (dice <= kMovesPerSwap) {
      begin(op);
      const Outcomes after = world_.move_while(op);
      tally_.meanwhile++;
      may = either(may, after);
    } else {
      begin(op);
    }
    const int error = end();
    tally_.steps++;
    judge(op, may, error, dice <= kMovesPerSwap);
    if (error == 0) world_.apply(op);
  }

  void begin(const Op& op) {
    *worker_.shared = op;
    worker_.order();
  }
  // The errno that it got.
  int end() {
    char byte = 0;
    worker_.report(byte);
    return worker_.shared->error;
  }

  void judge(const Op& op, const Outcomes& may, int error, bool moving) {
    const bool denied = error == EACCES;
    const bool nowhere = moving && (error == ENOENT || error == ENOTDIR || error == EISDIR || error == ELOOP);
    (denied ? tally_.denied : tally_.allowed)[static_cast<std::size_t>(op.kind)]++;
    if (may.denied && may.allowed) tally_.untold++;
    if (nowhere || (denied ? may.denied : may.allowed)) return;
    tally_.first = "step " + std::to_string(tally_.steps) + (moving ? " with a change meanwhile" : "") + ": " +
                   to_string(op.kind) + " " + op.a + " " + op.b + ": the model " + (denied ? "allows" : "denies") +
                   ", the kernel gave errno " + std::to_string(error) + ", and outside " + std::to_string(attempt(op)) +
                   "; " + world_.text();
  }

  // `meanwhile`: a call that begins right before.
  void swap(const Op* meanwhile) {
    const Rules rules = world_.random_rules();
    auto image = sandbox_.compile(rules.policy());
    if (!image) {
      tally_.first = "compile: " + image.error().message + "; " + world_.text();
    } else {
      if (meanwhile) begin(*meanwhile);
      if (auto published = sandbox_.publish(*image); !published) tally_.first = "publish: " + published.error().message;
    }
    world_.use(rules);
    tally_.swaps++;
  }

  TestSandbox& sandbox_;
  Worker<Op>& worker_;
  HostileWorld& world_;
  Random& random_;
  Tally tally_;
};

bool check(const std::string& name, bool good, const std::string& why) {
  std::printf(good ? "ok %s\n" : "not ok %s: %s\n", name.c_str(), why.c_str());
  std::fflush(stdout);
  return good;
}

// The number of cases that failed.
int tell(const Tally& tally, const std::string& name, long steps, std::uint64_t seed) {
  std::printf(
      "%s: %ld calls, %ld swaps, %ld changes of the host's, %ld during a call, %ld calls of which both could come\n",
      name.c_str(), tally.steps, tally.swaps, tally.changes, tally.meanwhile, tally.untold);
  std::string missing;
  for (std::size_t kind = 0; kind < kKinds; kind++) {
    const std::string text = to_string(static_cast<Kind>(kind));
    std::printf("%s: %ld denied, %ld not\n", text.c_str(), tally.denied[kind], tally.allowed[kind]);
    if (static_cast<Kind>(kind) != Kind::stat && tally.denied[kind] == 0) missing += " " + text + " denied";
    if (tally.allowed[kind] == 0) missing += " " + text + " allowed";
  }
  const bool agrees = check("hostile/" + name + "/agrees", tally.first.empty() && tally.steps == steps,
                            "seed " + std::to_string(seed) + ", " + tally.first);
  const bool both = check("hostile/" + name + "/both-verdicts-of-all-kinds", missing.empty(), "never" + missing);
  const bool told = check("hostile/" + name + "/most-can-be-told", tally.untold * 5 < tally.steps,
                          std::to_string(tally.untold) + " of " + std::to_string(tally.steps));
  return 3 - agrees - both - told;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

int run(TestSandbox& sandbox, const std::string& what, long steps, std::uint64_t seed) {
  std::vector<std::string> parts = split(what);
  std::string& name = parts[0];
  Ground ground{parts.at(1), "", "", {}};
  if (name.ends_with('@')) {
    name.pop_back();
    ground.identity.lasting = false;
  }
  struct statfs base {};
  must(::statfs(ground.base.c_str(), &base) == 0, "statfs", ground.base);
  if (base.f_type == FUSE_SUPER_MAGIC) ground.identity = {false, false};
  if (parts.size() == 4) {
    ground.lower = parts[2];
    ground.upper = parts[3];
    ground.identity.files = false;
  }
  Random random(seed);
  Worker<Op> worker(sandbox, work);
  HostileWorld world(ground, random);
  const Noise noise(ground.base);
  Tally tally = Run(sandbox, worker, world, random).all(steps);
  if (!noise.stop() && tally.first.empty()) tally.first = "the noise ended";
  return tell(tally, name, steps, seed);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const long steps = std::strtol(argv[1], nullptr, 10);
  const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // the worker must not print it again
  policy::Policy closed;
  closed.name = "closed";
  closed.filesystem.requested = true;
  auto sandbox = TestSandbox::make("hostile", closed);
  if (!sandbox) {
    std::printf("not ok hostile/sandbox: %s\ndone 1\n", sandbox.error().message.c_str());
    return 1;
  }
  int failed = 0;
  for (int i = 3; i < argc; i++) failed += run(*sandbox, argv[i], steps, seed);
  sandbox->remove();
  std::printf("done %d\n", 3 * (argc - 3));
  return failed == 0 ? 0 : 1;
}
