// SPDX-License-Identifier: Apache-2.0
// `sbpf stage`: a contained copy out of a tree that is not trusted.
#include "agent/stage/stage.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"

namespace sbpf::cli {
namespace {

volatile std::sig_atomic_t last_signal = 0;

void remember_signal(int number) { last_signal = number; }

// A signal ends the copying, not the process: what was copied so far has to be removed first.
void watch_signals() {
  struct sigaction action {};
  action.sa_handler = remember_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // What the caller had ignored (nohup) stays ignored.
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      (void)::sigaction(number, &action, nullptr);
  }
}

// To the caller the process ended by the signal, as it would have without watch_signals().
void end_by_signal() {
  if (last_signal == 0) return;
  (void)std::signal(last_signal, SIG_DFL);
  (void)::raise(last_signal);
}

std::string counted(std::uint64_t number, const char* one, const char* many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

Result<int> stage(agent::StageOptions options, const Session& session) {
  watch_signals();
  options.interrupted = [] { return last_signal != 0; };
  auto staged = agent::stage(options);
  if (!staged) {
    end_by_signal();
    return tl::unexpected<Error>(staged.error());
  }
  if (!staged->left_over.empty())
    tell(fmt::format("warning: not all of what was replaced could be removed; the rest is {}",
                     printable(staged->left_over)));
  std::string text = fmt::format("staged {} as {}: {}, {}\n", printable(options.source), printable(options.destination),
                                 counted(staged->files, "file", "files"), counted(staged->bytes, "byte", "bytes"));
  if (session.json)
    text = pretty({{"source", options.source},
                   {"destination", options.destination},
                   {"files", staged->files},
                   {"directories", staged->directories},
                   {"links", staged->links},
                   {"bytes", staged->bytes},
                   {"left_over", staged->left_over}});
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

}  // namespace

void add_stage(CLI::App& app, Session& session) {
  auto options = std::make_shared<agent::StageOptions>();
  CLI::App* sub = app.add_subcommand("stage", "Copy from an untrusted tree, and nothing from outside it");
  sub->add_option("--root", options->root, "The tree that contains SRC")->type_name("DIR")->required();
  sub->add_option("SRC", options->source, "File or directory to copy: a path relative to the root")->required();
  sub->add_option("DST", options->destination, "Path of the copy; its directory must exist")->required();
  sub->add_flag("--replace", options->replace, "Replace DST, in one step, if it exists");
  sub->add_flag("--one-file-system", options->one_file_system, "Refuse to enter file systems mounted in the tree");
  sub->add_option("--max-bytes", options->max_bytes, "Refuse to copy more than this (4GiB)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
  sub->add_option("--max-files", options->max_entries,
                  "Refuse to copy more files, directories and links than this (100000)")
      ->type_name("N");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer(
      "Examples:\n"
      "  sbpf stage --root ./task app ./build/app           a directory, with all in it\n"
      "  sbpf stage --root ./task Dockerfile ./build/Dockerfile          a file\n"
      "  sbpf stage --root ./task --replace . /srv/task     all of it, not the last one\n"
      "  sbpf stage --root ./task ../secret ./build/x       exit 2: nothing is written\n\n"
      "SRC may pass through symbolic links. Neither SRC nor these links can lead out of the root, however fast\n"
      "somebody changes them during the copy. A link inside a copied directory must lead to something in that\n"
      "directory. Pipes, sockets and devices are refused; set-user-id bits and extended attributes are not copied.\n"
      "Afterwards DST is either complete or absent. This command does not need root. See docs/STAGE.md.");
  sub->callback([options, &session] { session.action = [options, &session] { return stage(*options, session); }; });
}

}  // namespace sbpf::cli
