// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/preflight.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <optional>

#include "agent/dns/sandbox_resolver.h"
#include "agent/files/fs_view.h"
#include "agent/launch/bring_up.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/sandbox.h"
#include "agent/verify/canary.h"
#include "agent/verify/host_checks.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace {

// As for any policy that has rules for files: openat2(2), and the kernel's own word for what was found.
Result<void> try_paths(const Kernel& kernel) {
  policy::Policy files;
  files.filesystem.requested = true;
  files.filesystem.rules.push_back({});
  files.filesystem.rules.back().path = "/usr";
  auto mount_view = own_mount_view();
  if (!mount_view) return tl::unexpected<Error>(mount_view.error());
  auto view = look_up(kernel, files, *mount_view);
  if (view) return {};
  return fail(std::move(view.error()), "the paths of a policy");
}

// Every hook attached in a cgroup of its own, and a canary denied by each. `programs`: it did not come so far.
struct Tried {
  std::optional<Error> programs, canary;
};

Tried try_hooks() {
  auto begun = BringUp::begin_unpinned();
  if (!begun) return {begun.error(), {}};
  BringUp& up = **begun;
  SandboxSpec spec;
  spec.name = "preflight-" + std::to_string(::getpid());
  if (auto made = up.make_cgroup(spec.name, {}); !made) return {made.error(), {}};
  if (auto looked_up = try_paths(up.kernel()); !looked_up) return {looked_up.error(), {}};
  policy::Policy nothing;
  nothing.name = "preflight";
  auto image = policy::compile(nothing, 1, policy::empty_view(nothing));
  if (!image) return {image.error(), {}};
  SandboxResolver resolver;  // no resolver, but the hooks that go with one
  resolver.port4 = SBPF_DNS_PORT;
  spec.resolver = &resolver;
  spec.flags |= SBPF_SANDBOX_FLOWS;  // likewise
  // Its links are pinned nowhere: the watch takes that for no loss, and whoever comes after a killed one takes it down.
  const JournalEntry changing(up.kernel(), JournalEntry::set_up, up.cgroup().id(), spec.name);
  if (auto set_up = up.set_up(up.cgroup(), spec, *image); !set_up) return {set_up.error(), {}};
  auto report = run_canary(up.kernel(), up.cgroup(), *image, SBPF_SANDBOX_HOST_NAMES);
  up.take_down();
  if (!report) return {{}, report.error()};
  if (!report->ok())
    return {{},
            Error{"canary", report->detail,
                  "run sbpf where bpf is in the kernel's LSM list and no tool detaches programs", 0, "", false}};
  return {};
}

void check_by_doing(std::vector<Check>& checks) {
  Check programs = check("programs", "all", "load and attach every hook, unpinned");
  Check canary = check("canary", "all", "have each hook deny a canary in a cgroup of its own");
  const Tried tried = try_hooks();
  if (tried.programs) {
    broken(programs, tried.programs->message, tried.programs->hint);
    broken(canary, "not run: the programs are not in force", programs.fix);
  }
  if (tried.canary) broken(canary, tried.canary->message, tried.canary->hint);
  checks.push_back(programs);
  checks.push_back(canary);
}

}  // namespace

Preflight preflight() {
  Preflight result;
  utsname name{};
  ::uname(&name);
  result.kernel = name.release;
  result.checks = check_host();
  bool plausible = true;
  for (const Check& c : result.checks) plausible = plausible && c.ok;
  if (plausible) {
    check_by_doing(result.checks);
  } else {
    for (const char* what : {"programs", "canary"}) {
      Check c = check(what, "all", "");
      broken(c, "not run: see the checks above", "mend what is named above first");
      result.checks.push_back(c);
    }
  }
  return result;
}

bool Preflight::ok() const {
  for (const Check& check : checks)
    if (!check.ok) return false;
  return !checks.empty();
}

}  // namespace sbpf::agent
