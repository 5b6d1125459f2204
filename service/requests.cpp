// SPDX-License-Identifier: Apache-2.0
#include "service/requests.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

namespace sbpf::service {
namespace {

struct Path {
  std::string_view pattern;  // "*" stands for a name
  std::string_view method;
  Asks asks;
};

constexpr std::array<Path, 13> kPaths = {{
    {"/v1/preflight", "GET", Asks::preflight},
    {"/v1/sandboxes", "GET", Asks::sandboxes},
    {"/v1/sandboxes", "POST", Asks::attach},
    {"/v1/sandboxes/*", "GET", Asks::sandbox},
    {"/v1/sandboxes/*", "DELETE", Asks::detach},
    {"/v1/sandboxes/*/events", "GET", Asks::events},
    {"/v1/sandboxes/*/policy", "GET", Asks::policy_of},
    {"/v1/sandboxes/*/policy", "PUT", Asks::swap},
    {"/v1/sandboxes/*/processes", "POST", Asks::exec},
    {"/v1/runs", "POST", Asks::run},
    {"/v1/policies", "GET", Asks::policies},
    {"/metrics", "GET", Asks::metrics},
    {"/healthz", "GET", Asks::health},
}};

std::string shown(std::string_view text) {
  std::string safe;
  for (const char c : text.substr(0, 200)) safe += c > 0x20 && c < 0x7f && c != '"' ? c : '?';
  return safe;
}

// Does the path have the pattern's form? `name`: what stands for the star.
bool fits(std::string_view path, std::string_view pattern, std::string_view& name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return path == pattern;
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (!path.starts_with(before) || !path.ends_with(after) || path.size() <= before.size() + after.size()) return false;
  name = path.substr(before.size(), path.size() - before.size() - after.size());
  return name.find('/') == std::string_view::npos;
}

Error bad_body(std::string message, std::string hint) {
  return Error{"bad_body", std::move(message), std::move(hint), 0, "", false};
}

Result<Change::Open> parse_open(const Json& value) {
  static const std::map<std::string, Change::Open> kWords = {
      {"refuse", Change::Open::refuse}, {"evict", Change::Open::evict}, {"keep", Change::Open::keep}};
  const auto word = value.is_string() ? kWords.find(value.get<std::string>()) : kWords.end();
  if (word != kWords.end()) return word->second;
  return tl::unexpected<Error>(
      bad_body("\"already_open\" must be \"refuse\", \"evict\" or \"keep\"", "it is \"refuse\" if it is left out"));
}

Result<Json> parse_object(std::string_view body) {
  std::set<std::string> keys;
  std::string twice;
  Json said = Json::parse(
      body,
      [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (event == Json::parse_event_t::key && depth == 1 && !keys.insert(parsed.get<std::string>()).second)
          twice = parsed.get<std::string>();
        return true;
      },
      false);
  if (!said.is_object())
    return tl::unexpected<Error>(bad_body("the body is not a JSON object", "see docs/openapi.yaml"));
  if (!twice.empty())
    return tl::unexpected<Error>(bad_body(fmt::format("\"{}\" is given twice", shown(twice)), "give it once"));
  return said;
}

// One key of a body.
Result<void> take(Change& change, const std::string& key, const Json& value, Asks asks) {
  const bool attaches = asks == Asks::attach, runs = asks == Asks::run, enters = asks == Asks::exec;
  if ((runs || enters) && key == "pid") {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() == 0 || value.get<std::uint64_t>() > 1 << 22)
      return tl::unexpected<Error>(
          bad_body("\"pid\" must be the number of a process", "as fork(2) gave it to the caller"));
    change.pid = value.get<int>();
    return {};
  }
  if (attaches && key == "keep") {
    if (!value.is_boolean())
      return tl::unexpected<Error>(bad_body("\"keep\" must be true or false", "it is true if it is left out"));
    change.keep = value.get<bool>();
    return {};
  }
  if (!runs && !enters && key == "already_open") {
    const auto open = parse_open(value);
    if (!open) return tl::unexpected<Error>(open.error());
    change.open = *open;
    return {};
  }
  std::string* to = key == "policy"                       ? &change.policy
                    : key == "policy_text"                ? &change.policy_text
                    : attaches && key == "cgroup"         ? &change.cgroup
                    : (attaches || runs) && key == "name" ? &change.name
                                                          : nullptr;
  const char* known = attaches ? "known here: cgroup, name, keep, already_open, policy or policy_text"
                      : runs   ? "known here: pid, name, policy or policy_text"
                      : enters ? "known here: pid, policy or policy_text"
                               : "known here: already_open, policy or policy_text";
  if (!to) return tl::unexpected<Error>(bad_body(fmt::format("unknown key \"{}\"", shown(key)), known));
  if (!value.is_string() || value.get_ref<const std::string&>().empty())
    return tl::unexpected<Error>(
        bad_body(fmt::format("\"{}\" must be a text that is not empty", key), "give a JSON string"));
  *to = value.get<std::string>();
  return {};
}

}  // namespace

bool is_name(std::string_view text) {
  const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 63 && word(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return word(c) || c == '.' || c == '_' || c == '-'; });
}

std::size_t number_of_calls() { return kPaths.size(); }

Result<Route> route(std::string_view method, std::string_view target) {
  const std::size_t mark = target.find('?');
  const std::string_view path = target.substr(0, mark);
  const std::string_view query = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  std::string allowed;
  for (const Path& known : kPaths) {
    std::string_view name;
    if (!fits(path, known.pattern, name)) continue;
    if (method != known.method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(known.method);
      continue;
    }
    if (known.pattern.find('*') != std::string_view::npos && !is_name(name))
      return fail("bad_name", fmt::format("\"{}\" is not the name of a sandbox", shown(name)),
                  "GET /v1/sandboxes lists the names");
    Route found{known.asks, std::string(name), false};
    if (query.empty()) return found;
    if (known.asks == Asks::detach && (query == "kill=true" || query == "kill=false"))
      found.kill = query == "kill=true";
    else if (known.asks == Asks::events && (query == "follow=true" || query == "follow=false"))
      found.follow = query == "follow=true";
    else
      return fail("bad_query", fmt::format("\"?{}\" means nothing here", shown(query)),
                  "DELETE takes ?kill=true, and GET of events ?follow=false");
    return found;
  }
  if (!allowed.empty())
    return fail("wrong_method", fmt::format("{} does not take {}", shown(path), shown(method)),
                fmt::format("use {}", allowed));
  return fail("no_such_path", fmt::format("there is nothing at {}", shown(path)), "docs/openapi.yaml lists the paths");
}

Wants wants(Asks asks) {
  switch (asks) {
    case Asks::attach:
    case Asks::swap:
    case Asks::detach:
      return Wants::change;
    case Asks::run:
    case Asks::exec:
      return Wants::run;
    case Asks::preflight:
    case Asks::sandboxes:
    case Asks::sandbox:
    case Asks::events:
    case Asks::policy_of:
    case Asks::policies:
    case Asks::metrics:
    case Asks::health:
      return Wants::read;
  }
  return Wants::change;
}

bool is_of_owner(Asks asks) { return asks == Asks::events || asks == Asks::policy_of || asks == Asks::exec; }

Result<Change> parse_change(std::string_view body, Asks asks) {
  const auto said = parse_object(body);
  if (!said) return tl::unexpected<Error>(said.error());
  Change change;
  for (const auto& [key, value] : said->items())
    if (auto taken = take(change, key, value, asks); !taken) return tl::unexpected<Error>(taken.error());
  const bool runs = asks == Asks::run, enters = asks == Asks::exec;
  if ((runs || enters) && change.pid == 0)
    return tl::unexpected<Error>(bad_body("\"pid\" is missing", "give the process that waits to be confined"));
  if (enters && change.policy.empty() && change.policy_text.empty()) return change;
  if (change.policy.empty() == change.policy_text.empty())
    return tl::unexpected<Error>(
        bad_body("the policy must be given once", "give either policy (a name) or policy_text (YAML)"));
  if (!change.policy.empty() &&
      (!is_name(change.policy) || change.policy.ends_with(".yaml") || change.policy.ends_with(".yml")))
    return tl::unexpected<Error>(
        bad_body(fmt::format("\"{}\" is not the name of a policy", shown(change.policy)),
                 "a built-in profile, or NAME of an installed NAME.yaml; a text goes into policy_text"));
  constexpr std::size_t kLongestRun = 40;  // with the user's number before it, it is still a name
  if (runs && !change.name.empty() &&
      (!is_name(change.name) || change.name.size() > kLongestRun || change.name.find('.') != std::string::npos))
    return tl::unexpected<Error>(bad_body("\"name\" is not a name", "1 to 40 of a-z A-Z 0-9 _ -, or leave it out"));
  if (asks != Asks::attach) return change;
  if (!is_name(change.name))
    return tl::unexpected<Error>(bad_body("\"name\" is missing, or not a name", "1 to 63 of a-z A-Z 0-9 . _ -"));
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (change.cgroup.empty() || change.cgroup[0] != '/' || change.cgroup.size() > 4095 ||
      std::ranges::any_of(change.cgroup, control))
    return tl::unexpected<Error>(
        bad_body("\"cgroup\" is missing, or not an absolute path", "give the directory of a cgroup, /sys/fs/cgroup/…"));
  return change;
}

std::string run_name(uid_t uid, const std::string& name) { return fmt::format("u{}-{}", uid, name); }

std::string error_body(const Error& error) {
  const Json body = {{"error", {{"code", error.code.text()}, {"message", error.message}, {"hint", error.hint}}}};
  return dump(body) + "\n";
}

}  // namespace sbpf::service
