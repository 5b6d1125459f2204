// SPDX-License-Identifier: Apache-2.0
// The reference model of filesystem rules (tests/decide/fs_model.h) against the kernel: random trees, policies and
// operations; a worker inside the sandbox tries each, and must get EACCES exactly where the model denies.
//   fs_differential [SEED]
// Speaks the contract of tests/vm/README.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tests/live/fs_world.h"
#include "tests/live/test_sandbox.h"
#include "tests/live/worker.h"

namespace {

using namespace sbpf;
using namespace sbpf::live;

constexpr std::uint64_t kSeed = 20240607;
constexpr int kPolicies = 100, kPoliciesPerTree = 10, kOps = 500;  // of each filesystem: 50,000 triples

struct Shared {
  int count;
  Op ops[kOps];
};

// The worker tries the operations in turn; after each success that changes the tree it waits until that is undone.
[[noreturn]] void work(Shared& shared, int orders, int reports) {
  char byte = 0;
  while (::read(orders, &byte, 1) == 1) {
    for (int i = 0; i < shared.count; i++) {
      shared.ops[i].error = attempt(shared.ops[i]);
      if (shared.ops[i].error != 0 || !changes(shared.ops[i].kind)) continue;
      if (::write(reports, &i, sizeof i) != sizeof i || ::read(orders, &byte, 1) != 1) ::_exit(1);
    }
    const int end = -1;
    if (::write(reports, &end, sizeof end) != sizeof end) break;
  }
  ::_exit(0);
}

// All operations, each success undone. False if the worker is gone.
bool run(Worker<Shared>& worker, World& world) {
  int i = 0;
  if (!worker.order()) return false;
  while (worker.report(i)) {
    if (i < 0) return true;
    world.undo(worker.shared->ops[i]);
    if (!worker.order()) return false;
  }
  return false;
}

struct Outcome {
  long triples = 0, wrong = 0;
  std::array<long, kKinds> denied{}, allowed{};
  std::string first;  // the first disagreement, or what went wrong
};

void judge(Outcome& outcome, const Op& op, const policy::Policy& policy, int number) {
  outcome.triples++;
  const bool denied = op.error == EACCES;
  (denied ? outcome.denied : outcome.allowed)[static_cast<std::size_t>(op.kind)]++;
  if (denied == op.denied || outcome.wrong++ != 0) return;
  outcome.first = "policy " + std::to_string(number) + " " + text_of(policy) + "; " + to_string(op.kind) + " " + op.a +
                  (op.b[0] != 0 ? std::string(" ") + op.b : "") + ": the model " + (op.denied ? "denies" : "allows") +
                  ", the kernel gave errno " + std::to_string(op.error);
}

Outcome compare(TestSandbox& sandbox, Worker<Shared>& worker, const std::string& base, Random& random) {
  Outcome outcome;
  std::unique_ptr<World> world;
  for (int number = 0; number < kPolicies; number++) {
    if (number % kPoliciesPerTree == 0) world = std::make_unique<World>(base, random);
    const policy::Policy policy = world->random_policy();
    auto image = sandbox.compile(policy);
    Result<void> published;
    if (image) published = sandbox.publish(*image);
    if (!image || !published) {
      outcome.first = "policy " + std::to_string(number) + " " + text_of(policy) + ": " +
                      (!image ? image.error() : published.error()).message;
      outcome.wrong++;
      return outcome;
    }
    world->meddle(policy);
    worker.shared->count = kOps;
    for (Op& op : worker.shared->ops) op = world->random_op(policy);
    if (!run(worker, *world)) {
      outcome.first = "the worker died";
      outcome.wrong++;
      return outcome;
    }
    for (const Op& op : worker.shared->ops) judge(outcome, op, policy, number);
    world->settle();
  }
  return outcome;
}

// Says what came out; the number of cases.
int tell(const Outcome& outcome, const std::string& name, std::uint64_t seed, int& failed) {
  if (outcome.wrong == 0) {
    std::printf("ok differential/%s/agrees\n", name.c_str());
  } else {
    failed++;
    std::printf("not ok differential/%s/agrees: %ld of %ld differ; seed %llu, %s\n", name.c_str(), outcome.wrong,
                outcome.triples, static_cast<unsigned long long>(seed), outcome.first.c_str());
  }
  // Without both verdicts of a kind, agreement says little.
  std::string missing;
  for (std::size_t kind = 0; kind < kKinds; kind++) {
    std::printf("%s: %ld denied, %ld not\n", to_string(static_cast<Kind>(kind)), outcome.denied[kind],
                outcome.allowed[kind]);
    if (static_cast<Kind>(kind) != Kind::stat && outcome.denied[kind] == 0)
      missing += std::string(" ") + to_string(static_cast<Kind>(kind)) + " denied";
    if (outcome.allowed[kind] == 0) missing += std::string(" ") + to_string(static_cast<Kind>(kind)) + " allowed";
  }
  if (missing.empty() && outcome.triples == kPolicies * kOps) {
    std::printf("ok differential/%s/both-verdicts-of-all-kinds\n", name.c_str());
  } else {
    failed++;
    std::printf("not ok differential/%s/both-verdicts-of-all-kinds: %ld triples, never%s\n", name.c_str(),
                outcome.triples, missing.c_str());
  }
  std::fflush(stdout);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : kSeed;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);  // the worker must not print it again
  policy::Policy closed;
  closed.name = "closed";
  closed.filesystem.requested = true;
  auto sandbox = TestSandbox::make("differential", closed);
  if (!sandbox) {
    std::printf("not ok differential/sandbox: %s\ndone 1\n", sandbox.error().message.c_str());
    return 1;
  }
  int cases = 0, failed = 0;
  {
    Worker<Shared> worker(*sandbox, work);
    Random random(seed);
    const std::pair<const char*, const char*> places[] = {{"ext4", "/srv/differential"},
                                                          {"tmpfs", "/run/differential"}};
    for (const auto& [name, base] : places)
      if (worker.alive) cases += tell(compare(*sandbox, worker, base, random), name, seed, failed);
  }
  sandbox->remove();
  std::printf("done %d\n", cases);
  return failed == 0 && cases > 0 ? 0 : 1;
}
