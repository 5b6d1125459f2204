// SPDX-License-Identifier: Apache-2.0
// One call of `sbpf … --json`, and its answer.
#pragma once

#include "base/fd.h"
#include "service/asio.h"
#include "service/child.h"
#include "service/json.h"

namespace sbpf::service {

// The policy's text as a file that has no name: nothing is left of it, whoever dies. Errors: "spawn".
Result<Fd> text_file(const std::string& content);
// Where `sbpf` finds it.
inline constexpr const char* kTextFile = "/proc/self/fd/3";
// An error of a command that was given such a file, for the caller who sent a text.
Error for_caller(Error error);

// What `sbpf preflight --json` found missing first.
std::optional<Error> failed_check(const Json& preflight);

// Is what came of it less than what was asked for? An audit policy blocks nothing, and is asked for as such.
bool less_than_asked(const Json& status);

// What an object with "error" says; "sbpf" where it says nothing, "unknown" where a newer sbpf says what this one does
// not know.
Error error_in(const Json& answer);

// Gives the object that the program printed, whatever its exit code. Errors: what it says in "error"; "sbpf" where it
// printed no object; those of run().
Result<Json> answer_of(const Finished& finished, const std::string& what);
asio::awaitable<Result<Json>> ask(asio::io_context& context, Command command, std::chrono::milliseconds limit);

}  // namespace sbpf::service
