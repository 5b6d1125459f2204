// SPDX-License-Identifier: Apache-2.0
// `sbpf break-glass`: lets the host's root take sbpf's things down by hand, for a while and not in silence.
#include <CLI/CLI.hpp>
#include <memory>

#include "agent/agent.h"
#include "cli/commands.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

constexpr auto kLongest = std::chrono::hours(1);

struct BreakGlassArgs {
  std::string reason;
  std::string window = "60s";
  bool close = false;
};

Result<int> break_glass(const BreakGlassArgs& args) {
  if (args.close == !args.reason.empty())
    return fail("usage", "break-glass takes either --reason or --close",
                "sbpf break-glass --reason 'disk full' --for 60s");
  auto window = parse_timeout(args.window);
  if (!window) return tl::unexpected<Error>(window.error());
  const auto seconds = args.close ? std::chrono::seconds(0) : std::chrono::ceil<std::chrono::seconds>(*window);
  if (!args.close && (seconds.count() < 1 || seconds > kLongest))
    return fail("usage", "--for must be between one second and one hour");
  auto opened = agent::break_glass(args.reason, seconds);
  if (!opened) return tl::unexpected<Error>(opened.error());
  tell(args.close ? "the window is closed"
                  : fmt::format("for {} s, root may take sbpf's things down", seconds.count()));
  return kExitOk;
}

}  // namespace

void add_break_glass(CLI::App& app, Session& session) {
  auto args = std::make_shared<BreakGlassArgs>();
  CLI::App* sub = app.add_subcommand("break-glass", "Let root take down sbpf's objects by hand, for a limited time");
  sub->add_option("--reason", args->reason, "The reason, for the host's log and every sandbox's events")
      ->type_name("TEXT");
  sub->add_option("--for", args->window, "How long the window stays open (default 60s, at most 1h)")->type_name("TIME");
  sub->add_flag("--close", args->close, "Close the window before its time");
  sub->footer(
      "Examples:\n  sbpf break-glass --reason 'upgrade to 2.0' --for 5m\n  sbpf break-glass --close\n\n"
      "Without this window only sbpf itself can detach sbpf's links, open its maps, or remove its pins; root's\n"
      "processes cannot. While the window is open, no sandbox is active. If the window let an operation through, no\n"
      "sandbox is active until `sbpf unload`. Another sbpf executable that is used in that time takes over. See\n"
      "docs/GUARD.md.");
  sub->callback([args, &session] { session.action = [args] { return break_glass(*args); }; });
}

}  // namespace sbpf::cli
