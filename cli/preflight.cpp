// SPDX-License-Identifier: Apache-2.0
// `sbpf preflight`: what this host can enforce, found out by doing it; and the change of the boot loader's
// configuration that hosts need whose kernel does not list bpf.
#include <sys/utsname.h>
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "agent/agent.h"
#include "agent/host/boot_loader.h"
#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

Result<int> preflight(const Session& session) {
  const agent::Preflight found = agent::preflight();
  const std::string text = session.json ? pretty(preflight_json(found)) : preflight_text(found);
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return found.ok() ? kExitOk : kExitLess;
}

// What is going to be done, before anything is.
std::string plan_text(const agent::BootChange& change) {
  const bool written = change.before == change.after;  // by an earlier try, which may not have come to an end
  std::string text = fmt::format("{} {}:\n",
                                 written                 ? "file as it should be"
                                 : change.before.empty() ? "new file"
                                                         : "changed file",
                                 change.file);
  for (const auto& [sign, contents] : {std::pair{'-', change.before}, std::pair{'+', change.after}}) {
    std::istringstream lines(contents);
    for (std::string line; std::getline(lines, line);) text += fmt::format("  {} {}\n", sign, line);
  }
  text += fmt::format("then: {}\nto revert it:\n", change.apply);
  for (const std::string& command : change.revert) text += fmt::format("    {}\n", command);
  return text;
}

Result<int> done(const std::string& text) {
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

Result<int> fix(bool yes) {
  const std::string list = agent::lsm_list();
  if (agent::bpf_lsm_seen() == Seen::there)
    return done("bpf is in the kernel's LSM list: nothing is to be fixed here\n");
  if (list.empty())
    return fail("missing_lsm", "/sys/kernel/security/lsm cannot be read: which LSMs are to be kept is not known",
                "mount -t securityfs securityfs /sys/kernel/security");
  utsname name{};
  ::uname(&name);
  const auto change = agent::add_bpf_at_boot("", name.release, list);
  if (!change) return tl::unexpected<Error>(change.error());
  if (auto printed = print(plan_text(*change)); !printed) return tl::unexpected<Error>(printed.error());
  if (!yes && ::isatty(STDIN_FILENO) == 0)
    return fail("usage", "nobody is there to ask, and nothing was changed", "--yes changes it without asking");
  if (!yes && !agrees("Change it? [y/N] ")) return fail("usage", "nothing was changed");
  if (auto written = agent::write_change(*change); !written) return tl::unexpected<Error>(written.error());
  // A constant of boot_loader.cpp, looked up in root's own PATH. NOLINTNEXTLINE(cert-env33-c)
  if (std::system(change->apply.c_str()) != 0) {
    const auto back = agent::take_back(*change);
    return fail("boot_loader_failed", fmt::format("`{}` failed", change->apply),
                back ? fmt::format("{} is as it was; mend what the command says, and try again", change->file)
                     : fmt::format("revert the change as shown above: {}", back.error().message));
  }
  return done("changed; it takes effect at the next boot: reboot, then run `sbpf preflight`\n");
}

struct PreflightArgs {
  bool fix = false;
  bool yes = false;
};

}  // namespace

void add_preflight(CLI::App& app, Session& session) {
  auto args = std::make_shared<PreflightArgs>();
  CLI::App* sub = app.add_subcommand("preflight", "Find out what this host can enforce, and how to mend the rest");
  auto* json = sub->add_flag("--json", session.json, "Print JSON");
  auto* fix_flag = sub->add_flag("--fix", args->fix,
                                 "Have the boot loader add bpf to the kernel's LSMs: show the change, ask, make it")
                       ->excludes(json);
  sub->add_flag("--yes", args->yes, "Do not ask")->needs(fix_flag);
  sub->footer(
      "Examples:\n  sbpf preflight --json | jq .domains.network\n  sbpf preflight --fix\n\n"
      "Loads all programs, attaches them to a cgroup of its own, and runs a canary that each hook must deny. Then it\n"
      "removes everything again. The exit code is 3 if `sbpf run` would refuse to start. --fix keeps the kernel's list of\n"
      "LSMs and adds bpf, prints how to revert it, and changes nothing on a host that has bpf. See docs/HOSTS.md.");
  sub->callback([args, &session] {
    session.action = [args, &session] { return args->fix ? fix(args->yes) : preflight(session); };
  });
}

}  // namespace sbpf::cli
