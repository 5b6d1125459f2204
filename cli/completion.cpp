// SPDX-License-Identifier: Apache-2.0
// `sbpf completion`: the files of deploy/completions, compiled in.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/completion_scripts.h"

namespace sbpf::cli {
namespace {

Result<int> completion(const std::string& shell) {
  const std::string_view script = shell == "bash" ? kBashCompletion : shell == "zsh" ? kZshCompletion : kFishCompletion;
  if (auto printed = print(script); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

}  // namespace

void add_completion(CLI::App& app, Session& session) {
  auto shell = std::make_shared<std::string>();
  CLI::App* sub = app.add_subcommand("completion", "Print a completion script for a shell");
  sub->add_option("SHELL", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  sub->footer(
      "Examples:\n  sbpf completion bash > /etc/bash_completion.d/sbpf\n"
      "  sbpf completion zsh > /usr/local/share/zsh/site-functions/_sbpf\n"
      "  sbpf completion fish > ~/.config/fish/completions/sbpf.fish");
  sub->callback([shell, &session] { session.action = [shell] { return completion(*shell); }; });
}

}  // namespace sbpf::cli
