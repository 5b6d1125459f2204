// SPDX-License-Identifier: Apache-2.0
// The commands of sbpf: each adds its subcommand, which sets the session's action when it is called.
#pragma once

#include "cli/common.h"

namespace sbpf::cli {

void add_run(CLI::App& app, Session& session);
void add_learn(CLI::App& app, Session& session);
void add_exec(CLI::App& app, Session& session);
void add_env(CLI::App& app, Session& session);
void add_attach(CLI::App& app, Session& session);
void add_reattach(CLI::App& app, Session& session);
void add_adopt(CLI::App& app, Session& session);
void add_begin(CLI::App& app, Session& session);
void add_allow(CLI::App& app, Session& session);
void add_swap(CLI::App& app, Session& session);
void add_detach(CLI::App& app, Session& session);
void add_kill(CLI::App& app, Session& session);
void add_break_glass(CLI::App& app, Session& session);
void add_hand_over(CLI::App& app, Session& session);
void add_upgrade(CLI::App& app, Session& session);
void add_unload(CLI::App& app, Session& session);
void add_status(CLI::App& app, Session& session);
void add_top(CLI::App& app, Session& session);
void add_verify(CLI::App& app, Session& session);
void add_watch(CLI::App& app, Session& session);
void add_list(CLI::App& app, Session& session);
void add_preflight(CLI::App& app, Session& session);
void add_events(CLI::App& app, Session& session);
void add_explain(CLI::App& app, Session& session);
void add_origin(CLI::App& app, Session& session);
void add_stage(CLI::App& app, Session& session);
void add_policy(CLI::App& app, Session& session);
void add_completion(CLI::App& app, Session& session);

}  // namespace sbpf::cli
