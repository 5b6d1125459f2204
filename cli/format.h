// SPDX-License-Identifier: Apache-2.0
// What the agent answers -> text for people, JSON for programs.
#pragma once

#include <cstddef>
#include <cstdint>
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

// The text by this key; "" where there is none, or a value of another kind.
std::string text_in(const Json& object, const char* key);
// The same for numbers, 0, and for the verdict of an event, SBPF_ALLOW.
std::uint64_t number_in(const Json& event, const char* key);
sbpf_verdict verdict_in(const Json& event);

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
// How many denials there were, by the name of the hook that denied; "seccomp": none did.
Json denied_json(const agent::Status& status);
std::string headline(const Json& of_service);  // as sbpfd answers a run with; not for printing as it is

// What attach and swap answer with: prints the headline or the JSON; the exit code is 3 if isolation is less than the
// policy's mode says, unless `accept_degraded`. Errors: "write_failed".
Result<int> print_change(const agent::Status& status, bool json, bool accept_degraded);

// What is said of a sandbox whose status has "loopback": "closed".
inline constexpr const char* kLoopbackClosed =
    "loopback: closed, but for what the policy lists; only `sbpf run` of root makes a private one";

// The object of `status --json`.
Json status_json(const agent::Status& status);

// Only what a script or a dashboard asks first: the level, why it is not active ("reasons"), the policy, the cgroup.
Json short_status_json(const agent::Status& status);
Json short_status_json(const Json& whole);  // as status_json() has it; what is missing is null or ""
// The same as a line: "web active", "web DEGRADED; canary: none for 5 minutes".
std::string short_status(const agent::Status& status);

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
std::string event_text(const Json& event);  // as event_json() has it; what is missing is ""
// "denied TEXT", in audit mode "would deny TEXT", and TEXT alone where nothing was to be denied.
std::string verdict_text(sbpf_verdict verdict, const std::string& text);

// "2025-01-31T12:00:00.123456Z"
std::string format_time(std::int64_t epoch_ns);

// Lines for a terminal, with their ends: by which change of the policy a denial is allowed, or that only one does which
// takes a protection away. "" of two that are empty.
std::string remedy_lines(const std::string& allow, const std::string& relaxation);

}  // namespace sbpf::cli
