// SPDX-License-Identifier: Apache-2.0
// `sbpf allow`: what a live sandbox was denied is allowed to it, by the smallest change of its policy.
#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/file.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/denial_summary.h"
#include "cli/format.h"
#include "policy/advice.h"
#include "policy/filesystem.h"

namespace sbpf::cli {
namespace {

struct AllowArgs {
  std::string name;
  std::vector<std::string> marks;
  std::string output;
  bool all = false;
  bool yes = false;
};

using Remedies = std::vector<DenialSummary::Remedy>;

// What was denied and the policy does not allow by now, in the order in which it first was.
Result<Remedies> read_remedies(const std::string& name, const policy::Policy& policy) {
  DenialSummary denials(&policy);
  auto read = agent::events(name, false, [&](const agent::Event& event) {
    denials.add(event);
    return true;
  });
  if (!read) return tl::unexpected<Error>(read.error());
  Remedies all = denials.remedies();
  const std::string as_it_is = policy::canonical(policy);
  std::erase_if(all, [&](const DenialSummary::Remedy& one) {
    const auto changed = one.change.empty() ? std::nullopt : policy::with_change(policy, one.change);
    return !changed || policy::canonical(*changed) == as_it_is;
  });
  return all;
}

// What a change is called: by what it is, so that it is the same one however many denials come meanwhile.
std::string mark_of(const std::string& change) {
  constexpr std::size_t kDigits = 8;
  Sha256 digest;
  digest.add(change.data(), change.size());
  return policy::hex(digest.finish()).substr(0, kDigits);
}

Result<int> list(const Remedies& remedies, const AllowArgs& args) {
  std::string text;
  for (const DenialSummary::Remedy& one : remedies)
    text += fmt::format("{}  {}\n{}", mark_of(one.change), one.line, remedy_lines(one.change, ""));
  text += remedies.empty() ? "nothing was denied that a change of the policy is known to allow\n"
                           : fmt::format("`sbpf allow {} MARK…` allows them, and `--all` all\n", printable(args.name));
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

// The changes that were chosen.
Result<std::vector<std::string>> chosen(const Remedies& remedies, const AllowArgs& args) {
  std::vector<std::string> changes;
  for (const DenialSummary::Remedy& one : remedies)
    if (args.all) changes.push_back(one.change);
  for (const std::string& mark : args.marks) {
    const auto found =
        std::ranges::find(remedies, mark, [](const DenialSummary::Remedy& one) { return mark_of(one.change); });
    if (found == remedies.end())
      return fail("usage", fmt::format("no change is called {}", printable(mark)),
                  fmt::format("`sbpf allow {}` lists them: more denials may have made it another one", args.name));
    changes.push_back(found->change);
  }
  return changes;
}

// A file that was not there before. Errors: "usage" (it is there), "write_failed".
Result<void> write_new_file(const std::string& path, const std::string& text) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file && errno == EEXIST)
    return fail("usage", fmt::format("{} is there already", path), "name a file that is not there yet");
  if (file && write_all(file.get(), text)) return {};
  const int error = errno;
  if (file) (void)::unlink(path.c_str());
  return fail("write_failed", SystemError{error, ""}, "cannot write {}", path);
}

Result<int> put_in_force(const AllowArgs& args, const policy::Policy& changed, const agent::SwapOptions::Over& over) {
  if (!args.output.empty())
    if (auto written = write_new_file(args.output, policy::canonical(changed)); !written)
      return tl::unexpected<Error>(written.error());
  agent::SwapOptions options;
  options.over = over;
  auto status = agent::swap(args.name, changed, options);
  if (!status) {
    if (!args.output.empty()) (void)::unlink(args.output.c_str());
    return tl::unexpected<Error>(status.error());
  }
  if (args.output.empty()) tell("it holds as long as the sandbox; -o FILE writes the policy, too");
  return print_change(*status, false, false);
}

Result<int> allow(const AllowArgs& args) {
  auto found = agent::policy_in_force(args.name);
  if (!found) return tl::unexpected<Error>(found.error());
  const policy::Policy& policy = found->policy;
  auto remedies = read_remedies(args.name, policy);
  if (!remedies) return tl::unexpected<Error>(remedies.error());
  if (args.marks.empty() && !args.all) return list(*remedies, args);
  auto changes = chosen(*remedies, args);
  if (!changes) return tl::unexpected<Error>(changes.error());
  const policy::Combined all = policy::combine(policy, *changes);
  if (!all.left_out.empty())
    return fail("usage", fmt::format("{} cannot be allowed beside the others", printable(all.left_out.front())),
                "allow it by itself, or change the policy's file");
  const auto changed = policy::with_change(policy, all.change);
  if (!changed || all.change.empty()) return list({}, args);
  const std::string shown = fmt::format("the policy {} of {}, and with it:\n{}", printable(policy.name),
                                        printable(args.name), remedy_lines(all.change, ""));
  if (auto printed = print(shown); !printed) return tl::unexpected<Error>(printed.error());
  if (!args.yes && !agrees("Allow it? [y/N] "))
    return fail("usage", "not agreed to: nothing was changed", "--yes asks nobody");
  return put_in_force(args, *changed, found->over);
}

}  // namespace

void add_allow(CLI::App& app, Session& session) {
  auto args = std::make_shared<AllowArgs>();
  CLI::App* sub = app.add_subcommand("allow", "Allow a live sandbox what it was denied");
  sub->add_option("NAME", args->name, "The sandbox")->required();
  auto* marks = sub->add_option("MARK", args->marks, "Of the changes that are listed without them");
  sub->add_flag("--all", args->all, "All that is listed")->excludes(marks);
  sub->add_option("-o,--output", args->output, "Write the whole policy to this file, too, which must be new")
      ->type_name("FILE");
  sub->add_flag("-y,--yes", args->yes, "Do not ask");
  sub->footer(
      "Examples:\n  sbpf allow task-7             list what was denied and may be allowed\n"
      "  sbpf allow task-7 3f2a81c0 9be04d17 -o task.yaml\n\n"
      "The change is shown before it is put in force, in one step, as by `sbpf swap`. It is known to allow what was\n"
      "denied. What only a key that begins with dangerously_ allows is not listed.");
  sub->callback([args, &session] { session.action = [args] { return allow(*args); }; });
}

}  // namespace sbpf::cli
