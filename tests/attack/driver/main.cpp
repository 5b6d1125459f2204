// SPDX-License-Identifier: Apache-2.0
// attack_test [--controls-only] [--only SUBSTRING] [--shard I/N] [--turns N] [--share-controls] [--nested] [--list]
//             [--uid N] [--profile NAME] [--on-host]
// Runs every attack three times: without a sandbox, allowed, denied; or denied by a profile. Exit code 1 if any run was
// not as it must be. With --nested: those of driver/nested.cpp, in a sandbox within a sandbox, of which both or one
// allow the attack.
// `--only network/`, `--only filesystem/`, `--only process/` and `--only exec/` take one corpus.
#include <sys/utsname.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "tests/attack/driver/nested.h"
#include "tests/attack/driver/phases.h"
#include "tests/attack/driver/shard.h"
#include "tests/attack/lib/files.h"

using namespace attack;
using namespace attack::driver;

namespace {

struct Options {
  bool controls_only = false;  // needs no sbpf
  bool nested = false;
  bool list = false;
  bool on_host = false;  // leave out what changes the machine for everyone
  std::string only;
  Shard shard;  // of what the other options select
  unsigned turns = 1;
  bool share_controls = false;
  int uid = 0;
  std::string profile;
};

int usage() {
  std::fputs(
      "usage: attack_test [--controls-only] [--only SUBSTRING] [--shard I/N] [--turns N] [--share-controls]\n"
      "                   [--nested] [--list] [--uid N] [--profile NAME] [--on-host]\n"
      "  --controls-only  only the runs without a sandbox\n"
      "  --shard I/N      of the attacks that the other options select, those whose index modulo N is I\n"
      "  --turns N        N kernels share the runs under a policy that allows the attack: 6.1, newer ones, 6.12\n"
      "  --share-controls with --turns: they share those without a sandbox, too\n"
      "  --nested         some attacks from a sandbox within a sandbox, in place of the three runs\n"
      "  --profile NAME   under this profile, as uid 0 and as uid 1000, in place of the three runs: any refusal will do\n"
      "  --uid N          attackers run as this user; attacks that need root are left out\n"
      "  --on-host        leave out attacks whose control changes the machine for everyone\n",
      stderr);
  return 2;
}

bool selected(const Attack& attack, const Options& options) {
  if (options.on_host && attack.spec.machine_wide) return false;
  if (options.uid != 0 && attack.spec.root) return false;
  return attack.full_name().find(options.only) != std::string::npos;
}

std::vector<const Attack*> selection(const Options& options) {
  std::vector<const Attack*> all;
  for (const Attack& attack : attacks())
    if (selected(attack, options)) all.push_back(&attack);
  return share_of(all, options.shard);
}

std::vector<NestedAttack> nested_selection(const Options& options) {
  std::vector<NestedAttack> all;
  for (const NestedAttack& nested : nested_attacks())
    if (selected(*nested.attack, options)) all.push_back(nested);
  return share_of(all, options.shard);
}

// Whether an attack gets through where it is allowed is the policy's doing more than the kernel's, and without a policy
// not ours at all. One that some kernels lack has its turn on each: it might be that of a kernel that lacks it.
bool takes_turn(const Attack& attack, const Options& options) {
  if (attack.spec.lacking.any()) return true;
  utsname kernel{};
  uname(&kernel);
  const std::string release = kernel.release;
  const unsigned own = release.starts_with("6.1.") ? 0 : release.starts_with("6.12.") ? 2 : 1;
  unsigned sum = 0;
  for (const char c : attack.full_name()) sum += static_cast<unsigned char>(c);
  return sum % options.turns == own % options.turns;
}

class Report {
 public:
  void operator()(const Attack& attack, const char* phase, const Verdict& verdict) {
    count_++;
    const char* word = "not ok";
    if (verdict.kind == Verdict::Kind::ok) word = "ok";
    if (verdict.kind == Verdict::Kind::skip) word = "skip";
    failed_ += verdict.kind == Verdict::Kind::not_ok;
    std::printf("%s %s/%s%s%s\n", word, attack.full_name().c_str(), phase, verdict.why.empty() ? "" : ": ",
                verdict.why.c_str());
    std::fflush(stdout);
  }
  int finish() const {
    std::printf("done %d\n", count_);
    return failed_ != 0;
  }

 private:
  int count_ = 0, failed_ = 0;
};

// That each gets through without a sandbox is what the three runs tell; here it is asked of those alone that the kernel
// may lack.
void run_under_profile(Host host, const Attack& attack, const std::string& profile, Report& report) {
  if (attack.spec.lacking.any() && control(host, attack).kind == Verdict::Kind::skip) return;
  host.profile = profile;
  for (const int uid : {0, 1000}) {
    host.uid = uid;
    report(attack, (profile + "-" + std::to_string(uid)).c_str(), denied(host, attack));
  }
}

void run_all(const Host& host, const Attack& attack, const Options& options, Report& report) {
  load_modules(attack.spec.modules);
  if (attack.spec.files && attack.spec.files->ground == Ground::overlay) load_modules("overlay");
  if (!options.profile.empty()) return run_under_profile(host, attack, options.profile, report);
  const bool turn = takes_turn(attack, options);
  Verdict open{Verdict::Kind::ok, ""};
  if (turn || !options.share_controls) {
    open = control(host, attack);
    report(attack, "control-open", open);
  }
  if (options.controls_only) return;
  const bool skip = open.kind == Verdict::Kind::skip;
  if (turn) report(attack, "allowed", skip ? open : allowed(host, attack));
  report(attack, "denied", skip ? open : denied(host, attack));
}

void run_nested(const Host& host, const NestedAttack& chosen, const Options& options, Report& report) {
  load_modules(chosen.attack->spec.modules);
  const Verdict open = control(host, *chosen.attack);
  report(*chosen.attack, "nested-control-open", open);
  if (options.controls_only) return;
  for (const NestedCase& each : nested_cases(chosen))
    report(*chosen.attack, each.name,
           open.kind == Verdict::Kind::skip ? open : nested(host, *chosen.attack, each.nesting));
}

void list(const Options& options) {
  if (options.nested)
    for (const NestedAttack& each : nested_selection(options)) std::puts(each.attack->full_name().c_str());
  else
    for (const Attack* attack : selection(options)) std::puts(attack->full_name().c_str());
}

// Nothing if the command line is wrong.
std::optional<Options> parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--controls-only") {
      options.controls_only = true;
    } else if (word == "--nested") {
      options.nested = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--on-host") {
      options.on_host = true;
    } else if (word == "--only" && i + 1 < argc) {
      options.only = argv[++i];
    } else if (word == "--shard" && i + 1 < argc) {
      const auto shard = parse_shard(argv[++i]);
      if (!shard) return std::nullopt;
      options.shard = *shard;
    } else if (word == "--profile" && i + 1 < argc) {
      options.profile = argv[++i];
    } else if (word == "--share-controls") {
      options.share_controls = true;
    } else if (word == "--turns" && i + 1 < argc) {
      options.turns = static_cast<unsigned>(std::max(std::atoi(argv[++i]), 1));
    } else if (word == "--uid" && i + 1 < argc) {
      options.uid = std::atoi(argv[++i]);
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = parse(argc, argv);
  if (!parsed) return usage();
  const Options& options = *parsed;
  std::signal(SIGPIPE, SIG_IGN);
  Report report;
  try {
    if (options.list) {
      list(options);
      return 0;
    }
    const Host host = find_host(options.uid);
    if (options.nested)
      for (const NestedAttack& each : nested_selection(options)) run_nested(host, each, options, report);
    else
      for (const Attack* attack : selection(options)) run_all(host, *attack, options, report);
    clean_up(host);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "attack_test: %s: %s\n", failure.step.c_str(), std::strerror(failure.error));
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "attack_test: %s\n", error.what());
    return 1;
  }
  return report.finish();
}
