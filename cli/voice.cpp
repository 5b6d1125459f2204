// SPDX-License-Identifier: Apache-2.0
#include "cli/voice.h"

#include <optional>

#include "cli/format_end.h"

namespace sbpf::cli {
namespace {

constexpr std::size_t kDenialsShown = 10;

void tell_denials(const DenialSummary& denials, Voice& voice) {
  std::string text = denials.text(kDenialsShown);
  if (text.empty()) return;
  text.pop_back();
  voice.plain(text);
}

void tell_end(const agent::RunResult& result, const DenialSummary& denials, bool quiet, Voice& voice) {
  voice.status([&] {
    Json exit = end_json(result);
    exit["denials"] = result.denials_known ? Json(denials.denied()) : Json(nullptr);
    exit["would_deny"] = result.denials_known ? Json(denials.would_deny()) : Json(nullptr);
    exit["lost_events"] = result.lost_events ? Json(*result.lost_events) : Json(nullptr);
    return Json{{"exit", std::move(exit)}};
  });
  if (quiet) return;
  for (const std::string& line : end_lines(result)) voice.say(line);
  tell_denials(denials, voice);
  if (result.lost_events.value_or(0) > 0)
    voice.say(std::to_string(*result.lost_events) +
              " events were lost: these are not all denials (verdicts are unaffected)");
}

}  // namespace

void tell_loss(const agent::Status& status, const std::vector<std::string>& lost, Voice& voice) {
  voice.say(fmt::format("ISOLATION LOST: sandbox {} has {}/{} hooks; on_loss: {}{}", printable(status.sandbox),
                        status.hooks_attached(), agent::hooks_of(status.flags).size(),
                        policy::to_string(status.on_loss), status.frozen ? ", its processes are frozen" : ""));
  for (const std::string& one : lost) voice.say(fmt::format("ISOLATION LOST: {}", printable(one)));
  voice.status([&] { return Json{{"loss", status_json(status)}}; });
}

Result<int> tell_result(const agent::RunResult& result, const DenialSummary& denials, bool quiet, Voice& voice) {
  if (result.not_started) {
    if (!quiet) tell_denials(denials, voice);
    return tl::unexpected<Error>(*result.not_started);
  }
  tell_end(result, denials, quiet, voice);
  return result.exit_code;
}

}  // namespace sbpf::cli
