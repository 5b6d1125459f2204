// SPDX-License-Identifier: Apache-2.0
#include "cli/format_end.h"

#include <fmt/core.h>

#include "agent/launch/ending.h"

namespace sbpf::cli {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<std::uint64_t>& value) { return value ? Json(*value) : Json(nullptr); }

Json usage_json(const agent::Usage& usage) {
  return {{"memory_peak_bytes", number(usage.memory_peak_bytes)},
          {"oom_kills", usage.oom_kills},
          {"forks_refused", usage.forks_refused},
          {"cpu_us", usage.cpu_us},
          {"cpu_throttled_us", usage.cpu_throttled_us},
          {"cpu_periods", usage.cpu_periods},
          {"cpu_throttled_periods", usage.cpu_throttled_periods}};
}

}  // namespace

Json end_json(const agent::RunResult& result) {
  Json reasons = Json::array();
  for (const agent::EndReason& reason : agent::reasons_of(result))
    reasons.push_back({{"code", reason.code}, {"message", reason.message}, {"hint", reason.hint}});
  return {{"code", result.exit_code},
          {"signal", result.signal == 0 ? Json(nullptr) : Json(agent::signal_name(result.signal))},
          {"timed_out", result.timed_out},
          {"reasons", std::move(reasons)},
          {"usage", usage_json(result.usage)}};
}

std::vector<std::string> end_lines(const agent::RunResult& result) {
  std::vector<std::string> lines;
  for (const agent::EndReason& reason : agent::reasons_of(result))
    lines.push_back(reason.hint.empty() ? reason.message : fmt::format("{}; {}", reason.message, reason.hint));
  return lines;
}

}  // namespace sbpf::cli
