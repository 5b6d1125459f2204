// SPDX-License-Identifier: Apache-2.0
// What a program's supervisor says while the program runs, and at its end.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/launch/run_options.h"
#include "agent/sandbox/status.h"
#include "cli/common.h"
#include "cli/denial_summary.h"
#include "cli/format.h"
#include "cli/outlet.h"

namespace sbpf::cli {

// Where a run is told: stderr, and the status descriptor if there is one. Neither is waited for while the program runs.
class Voice {
 public:
  explicit Voice(int status_fd)
      : error_(
            STDERR_FILENO,
            [](std::uint64_t n) { return fmt::format("sbpf: warning: {} lines of sbpf's own found no room here", n); }),
        status_(status_fd, [](std::uint64_t n) {
          return dump(Json::object({{"untold", n}}));
        }) {}

  void say(const std::string& text, Outlet::Weight weight = Outlet::Weight::important) {
    plain(fmt::format("sbpf: {}", text), weight);
  }
  void plain(const std::string& text, Outlet::Weight weight = Outlet::Weight::important) {
    (void)error_.line(text, weight);
  }
  // One line of JSON, made only if someone asked for it. A reader that went away does not end the program.
  template <typename Make>
  void status(const Make& make, Outlet::Weight weight = Outlet::Weight::important) {
    if (status_.is_open()) warn(status_.line(dump(Json(make())), weight));
  }
  bool has_status() const { return status_.is_open(); }
  // What was said is there before the program says anything, if its readers are no slower than that.
  void settle() {
    warn(status_.settle(kPatienceToBegin));
    (void)error_.settle(kPatienceToBegin);
  }
  void go_on() {
    (void)error_.flush();
    warn(status_.flush());
  }
  void finish() {
    warn(status_.finish(kPatience));
    (void)error_.finish(kPatience);
  }

 private:
  static constexpr std::chrono::seconds kPatience{5};                // for who reads slowly, once all is over
  static constexpr std::chrono::milliseconds kPatienceToBegin{500};  // with the host lock held
  void warn(const Result<void>& written) {
    if (!written) say(fmt::format("warning: {}", written.error().message));
  }
  Outlet error_, status_;
};

// That isolation was lost: a line for the sandbox and for each part, and the status.
void tell_loss(const agent::Status& status, const std::vector<std::string>& lost, Voice& voice);

// How a run ended: the object of "exit"; and, unless it is to be quiet, why, and what was denied. Of a program that was
// not executed only that. Gives the exit code. Errors: why the program was not executed.
Result<int> tell_result(const agent::RunResult& result, const DenialSummary& denials, bool quiet, Voice& voice);

}  // namespace sbpf::cli
