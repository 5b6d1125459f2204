// SPDX-License-Identifier: Apache-2.0
// What every command shares: the session, exit codes, how an error is told, how a policy is found.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's
class App;
}

namespace sbpf::cli {

// Exit codes are part of the interface. A program that was run answers with its own.
inline constexpr int kExitOk = 0;
inline constexpr int kExitDenied = 1;  // explain: the policy denies it
inline constexpr int kExitUsage = 2;   // usage, invalid policy, or what must not be staged
inline constexpr int kExitLess = 3;    // less isolation than required
inline constexpr int kExitOwn = 125;   // sbpf's own failure

inline constexpr std::string_view kPolicyDirectory = "/etc/sbpf/policies";

// One call of sbpf. Commands fill it while the arguments are parsed; main carries it out.
struct Session {
  std::vector<std::string> command;     // what follows "--"
  std::function<Result<int>()> action;  // gives the exit code
  bool json = false;                    // errors are wanted on stdout as JSON, too
  int status_fd = -1;                   // errors are wanted there as JSON, too
  std::string less_if;                  // errors of this code ("*": of any) mean less isolation than required
};

// 2, 125, 126 or 127 after the error's code; 3 where the session says so.
int exit_code_of(const Error& error, const Session& session);

// Tells an error to the person (stderr) and to the program that called (status fd, or stdout with --json).
void report(const Error& error, const Session& session);

// {"error":{…}} on one line, without the newline.
std::string error_json(const Error& error);

// Writes text and a newline in full. Errors: "write_failed".
Result<void> write_line(int fd, std::string_view text);

// Prints to stdout. Errors: "write_failed".
Result<void> print(std::string_view text);

// Asks on stdout, and says whether stdin's next line agrees.
bool agrees(std::string_view question);

// The exit code, or kExitOwn in the place of 0 where something that was to go to stdout did not get there, which is
// told: a script that reads an empty answer would take it for one. Of each command, at its end.
int unless_unwritten(int exit_code);

// For what must go on when a reader of ours goes away: to end by SIGPIPE is right for the rest, as for any filter.
void ignore_broken_pipes();

// One whole line to stderr, prefixed with "sbpf: ".
void tell(std::string_view text);

// The time of day at CLOCK_BOOTTIME 0, in ns since 1970: what the kernel's timestamps count from.
std::int64_t boot_epoch_ns();

// A policy that compiles, so that no command starts what `policy check` would refuse.
struct LoadedPolicy {
  policy::Policy policy;
  policy::Image image;
};

// `reference`: a built-in profile's name, the name of an installed policy, or a path (has a '/', or ends in .yaml or
// .yml). Built-in names come first: a file cannot take the place of `no-network`.
// `with_files` false: no other file is read that it names by a path (a seccomp profile stays unread, and `extends` of a
// file is an error), for callers with more rights than the policy's author. Errors: "no_such_policy", "invalid_policy"
// (message: all diagnostics), and those of policy::compile().
Result<LoadedPolicy> load_policy(const std::string& reference, bool with_files = true);

// Reads the seccomp profile that a policy names by its path: from then on the policy is what it was when it was read.
// Errors: "invalid_policy", also where the file is not the one of the digest.
Result<void> read_seccomp_profile(policy::Policy& policy);

// Why a policy was refused: as people read it, and each fault of the text by itself. No faults: it is another error.
struct PolicyError {
  Error error;
  std::vector<policy::Diagnostic> faults;
};
// The same as load_policy(), with each fault by itself.
tl::expected<LoadedPolicy, PolicyError> read_policy(const std::string& reference, bool with_files = true);

// Where load_policy() found or would find it: "built-in" or a path.
std::string policy_origin(const std::string& reference);

// Names in kPolicyDirectory, sorted.
std::vector<std::string> installed_policy_names();

}  // namespace sbpf::cli
