// SPDX-License-Identifier: Apache-2.0
#include "service/world.h"

namespace sbpf::service {
namespace {

const Json* object_in(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_object() ? &*found : nullptr;
}

}  // namespace

void World::restarted() {
  seen_.clear();
  current_ = false;
}

Result<void> World::take(std::string_view line, Clock::time_point now) {
  const Json said = Json::parse(line, nullptr, false);
  if (!said.is_object() || said.empty()) return fail("bad_line", "a line of the watch is not a JSON object");
  if (const Json* pass = object_in(said, "pass")) {
    if (!current_)
      for (auto at = sandboxes_.begin(); at != sandboxes_.end();) {
        if (seen_.contains(at->first)) {
          ++at;
          continue;
        }
        const auto last = sandboxes_.extract(at++);
        observer_.gone(last.key(), last.mapped());
      }
    current_ = true;
    passed_ = now;
    pass_ = *pass;
    observer_.pass(*pass);
    return {};
  }
  if (const Json* sandbox = object_in(said, "sandbox")) {
    const std::string name = text_in(*sandbox, "name");
    if (name.empty() || text_in(*sandbox, "isolation").empty())
      return fail("bad_line", "the watch names a sandbox without name or isolation");
    const Json before = std::exchange(sandboxes_[name], *sandbox);
    seen_[name] = true;
    observer_.sandbox(*sandbox, before);
    return {};
  }
  if (const Json* gone = object_in(said, "gone")) {
    const std::string name = text_in(*gone, "name");
    if (const auto last = sandboxes_.extract(name)) observer_.gone(name, last.mapped());
    seen_.erase(name);
    return {};
  }
  if (const Json* loss = object_in(said, "loss")) return observer_.loss(*loss), Result<void>{};
  if (const Json* restored = object_in(said, "restored")) return observer_.restored(*restored), Result<void>{};
  if (const Json* error = object_in(said, "error")) return observer_.trouble(*error), Result<void>{};
  if (said.contains("untold")) return fail("untold", "lines of the watch are missing: they were not read for too long");
  return fail("bad_line", fmt::format("a line of the watch is of no known kind: {}", said.begin().key()));
}

std::optional<Clock::duration> World::age(Clock::time_point now) const {
  if (!passed_) return std::nullopt;
  return now - *passed_;
}

}  // namespace sbpf::service
