// SPDX-License-Identifier: Apache-2.0
// One call of `sbpf … --json`, and its answer.
#pragma once

#include <nlohmann/json.hpp>

#include "service/asio.h"
#include "service/child.h"

namespace sbpf::service {

using Json = nlohmann::ordered_json;

// What an object with "error" says; "sbpf" where it says nothing.
Error error_in(const Json& answer);

// Gives the object that the program printed, whatever its exit code. Errors: what it says in "error"; "sbpf" where it
// printed no object; those of run().
Result<Json> answer_of(const Finished& finished, const std::string& what);
asio::awaitable<Result<Json>> ask(asio::io_context& context, Command command, std::chrono::milliseconds limit);

}  // namespace sbpf::service
