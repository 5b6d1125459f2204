// SPDX-License-Identifier: Apache-2.0
// What the agent answers -> text for people, JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"

namespace sbpf::cli {

using Json = nlohmann::ordered_json;

// One line; bytes that are not UTF-8 are replaced, never thrown over (a process chooses its own name).
std::string dump(const Json& json);
// The same over several lines, for people's eyes, with a newline at the end.
std::string pretty(const Json& json);

// Control characters as \xNN, so that a sandboxed program cannot write to the operator's terminal through its name.
std::string printable(std::string_view text, bool keep_newlines = false);

// ---- status ----

// Enforced in full: what "active" means. An audit policy blocks nothing and never is.
bool is_active(const agent::Status& status);

// The same in a word, for a column: "active", "DEGRADED", "AUDIT ONLY", "INACTIVE".
std::string isolation_word(const agent::Status& status);

// "29/29": hooks that hold, of those that it has.
std::string hook_count(const agent::Status& status);

// Operations denied since the sandbox began.
std::uint64_t denials(const agent::Status& status);

// "isolation active (29/29 hooks) policy=… cgroup=…", or AUDIT ONLY, or DEGRADED, or INACTIVE.
std::string headline(const agent::Status& status);

// What attach and swap answer with: prints the headline or the JSON; the exit code is 3 if isolation is less than the
// policy's mode says, unless `accept_degraded`. Errors: "write_failed".
Result<int> print_change(const agent::Status& status, bool json, bool accept_degraded);

// The object of `status --json`.
Json status_json(const agent::Status& status);

// A table with one row each, and beneath it what is missing and why.
std::string status_table(std::span<const agent::Status> statuses);

// One screen of `sbpf top`: what is not active first, then those of which most was denied in the `seconds` since
// `before`. At most `lines` lines of `columns` characters; 0 lines: all.
std::string top_text(std::span<const agent::Status> now, std::span<const agent::Status> before, double seconds,
                     const std::string& time, std::size_t lines, std::size_t columns);

// ---- preflight ----
Json preflight_json(const agent::Preflight& preflight);
std::string preflight_text(const agent::Preflight& preflight);

// ---- events ----

const char* to_string(sbpf_verdict verdict);  // "allowed", "denied", "audit"
const char* to_string(sbpf_reason reason);    // "no_rule", …

// `boot_epoch_ns`: the time of day at CLOCK_BOOTTIME 0, in ns since 1970.
Json event_json(const agent::Event& event, std::int64_t boot_epoch_ns);

// The same in a class of OCSF 1.5: 1001 files, 1003 kernel, 1007 processes, 2004 what a person should look at, 4001
// network, 4003 DNS; "unmapped" has the whole of event_json. `version` is sbpf's.
Json event_ocsf(const agent::Event& event, std::int64_t boot_epoch_ns, const std::string& version);
// One line with time and sandbox, and a second one with what would allow it; no newline at the end.
std::string event_text(const agent::Event& event, std::int64_t boot_epoch_ns);
// "denied TEXT", in audit mode "would deny TEXT", and TEXT alone where nothing was to be denied.
std::string verdict_text(const agent::Event& event);

// "2025-01-31T12:00:00.123456Z"
std::string format_time(std::int64_t epoch_ns);

// Denials of a run, each kind once.
class DenialSummary {
 public:
  void add(const agent::Event& event);
  std::uint64_t denied() const { return denied_; }
  std::uint64_t would_deny() const { return would_deny_; }
  // "sbpf: denied TEXT" and "  allow with: YAML", for at most `limit` kinds.
  std::string text(std::size_t limit) const;

 private:
  struct Kind {
    std::string line;
    std::string allow;
    std::uint64_t times = 0;
  };
  // Bounds what a hostile program can make us remember; past it, kinds are counted only.
  static constexpr std::size_t kMaxKinds = 4096;

  std::vector<Kind> kinds_;
  std::map<std::string, std::size_t> index_;
  std::uint64_t denied_ = 0, would_deny_ = 0, beyond_ = 0;
};

}  // namespace sbpf::cli
