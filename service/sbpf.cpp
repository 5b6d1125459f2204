// SPDX-License-Identifier: Apache-2.0
#include "service/sbpf.h"

#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstring>

#include "base/memory_file.h"

namespace sbpf::service {
Result<Fd> text_file(const std::string& content) {
  if (Fd file = memory_file("policy_text", content)) return file;
  return fail("spawn", SystemError{errno}, "cannot hand the policy over");
}

Error for_caller(Error error) {
  constexpr std::string_view kFile = kTextFile;
  for (std::size_t at = error.message.find(kFile); at != std::string::npos; at = error.message.find(kFile))
    error.message.replace(at, kFile.size(), "policy_text");
  return error;
}

bool less_than_asked(const Json& status) {
  return !status.value("isolation_active", false) &&
         !(status.value("mode", "") == "audit" && status.value("hooks_attached", 0) == status.value("hooks_total", -1));
}

std::optional<Error> failed_check(const Json& preflight) {
  if (preflight.value("ok", false)) return std::nullopt;
  for (const Json& check : preflight.value("checks", Json::array()))
    if (check.is_object() && !check.value("ok", false))
      return Error{ErrorCode::relayed(fmt::format("missing_{}", text_in(check, "name"))),
                   text_in(check, "reason"),
                   text_in(check, "fix"),
                   0,
                   "",
                   false};
  return Error{"preflight", "preflight failed without saying why", "run `sbpf preflight` by hand", 0, "", false};
}

Error error_in(const Json& answer) {
  const auto found = answer.find("error");
  if (found == answer.end() || !found->is_object() || text_in(*found, "code").empty())
    return Error{"sbpf", "sbpf failed without saying why", "see the service's log", 0, "", false};
  return Error{
      ErrorCode::relayed(text_in(*found, "code")), text_in(*found, "message"), text_in(*found, "hint"), 0, "", false};
}

Result<Json> answer_of(const Finished& finished, const std::string& what) {
  Json answer = Json::parse(finished.out, nullptr, false);
  if (answer.is_object() && !answer.contains("error")) return answer;
  if (answer.is_object()) return tl::unexpected<Error>(error_in(answer));
  return fail("sbpf",
              fmt::format("`sbpf {}` ended with exit code {} and no answer: {}", what, finished.exit_code,
                          finished.err.empty() ? "it said nothing" : finished.err.substr(0, 2000)),
              finished.exit_code == 127 ? "set `sbpf` in sbpfd.yaml to the path of the executable"
                                        : "run it by hand to see more");
}

asio::awaitable<Result<Json>> ask(asio::io_context& context, Command command, std::chrono::milliseconds limit) {
  const std::string what = command.arguments.at(1);
  Result<Finished> finished = co_await run(context, std::move(command), limit);
  if (!finished) co_return tl::unexpected<Error>(finished.error());
  co_return answer_of(*finished, what);
}

}  // namespace sbpf::service
