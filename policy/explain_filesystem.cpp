// SPDX-License-Identifier: Apache-2.0
// Why an operation on a path is allowed or not, and what would allow it. Decided on paths: no image, no inodes.
#include <fmt/core.h>
#include <algorithm>

#include "base/utf8.h"
#include "policy/entry_text.h"
#include "policy/filesystem.h"
#include "policy/fs_rules.h"
#include "policy/values.h"

namespace sbpf::policy {
namespace {

// A rule where it lies.
template <typename Rule>
struct Place {
  std::string path;  // no slash at its end: "" is the root
  const Rule* rule;
};

template <typename Rule>
std::vector<Place<Rule>> places_of(const std::vector<Rule>& rules, const FsView& view) {
  std::vector<Place<Rule>> places;
  for (const Rule& rule : rules) {
    const auto paths = view.paths.find(rule.path);
    if (paths == view.paths.end()) continue;
    for (const FsPath& path : paths->second) {
      std::string text;
      for (std::size_t i = 1; i < path.size(); ++i) text += "/" + path[i].name;
      places.push_back({std::move(text), &rule});
    }
  }
  return places;
}

// The rule of the longest path that covers `path`; nullptr if none does.
template <typename Rule>
const Place<Rule>* nearest(const std::vector<Place<Rule>>& places, std::string_view path) {
  const Place<Rule>* best = nullptr;
  for (const Place<Rule>& place : places)
    if (internal::within(path, place.path) && (!best || place.path.size() > best->path.size())) best = &place;
  return best;
}

// How a policy spells `path`: as the rule that is at that very place does, since only that spelling replaces it.
template <typename Rule>
std::string spelling(const Place<Rule>* place, std::string_view path) {
  return place && place->path == path ? place->rule->path : path.empty() ? "/" : std::string(path);
}

// What rules and defaults let the sandbox do, in rights of files.
bool grants(__u32 rights, bool writing) { return (rights & (writing ? SBPF_FS_WRITE : SBPF_FS_READ)) != 0; }

bool writes(FsOperation operation) {
  switch (operation) {
    case FsOperation::read:
    case FsOperation::exec:
      return false;
    case FsOperation::write:
    case FsOperation::create:
    case FsOperation::remove:
    case FsOperation::rename:
      return true;
  }
  return true;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = utf8_at(text, i).bytes;
    if (bytes == 0) return false;
    i += bytes;
  }
  return true;
}

// "[/a, /b]"; nothing if a policy cannot name one of them.
std::optional<std::string> list_of(const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) {
    const auto spelled = internal::parse_path(escaped_path(path));
    if (!spelled || !is_utf8(path)) return std::nullopt;
    list += (list.empty() ? "" : ", ") + internal::path_text(*spelled);
  }
  return fmt::format("[{}]", list);
}

// "filesystem: {write: [/a, /b]}"; empty if a policy cannot name one of them.
std::string yaml_of(bool writing, const std::vector<std::string>& paths) {
  const auto list = list_of(paths);
  return list ? fmt::format("filesystem: {{{}: {}}}", writing ? "write" : "read", *list) : "";
}

void name_rule(Explanation& answer, const Place<FsRule>* place, const Filesystem& filesystem) {
  if (place) {
    answer.rule = internal::entry_text(*place->rule);
    answer.where = place->rule->where;
  } else {
    answer.rule = "filesystem.default: " + std::string(to_string(filesystem.fallback));
  }
}

Explanation explain_file(const Policy& policy, const FsView& view, FsOperation operation, std::string_view path) {
  Explanation answer;
  answer.allowed = true;
  if (!policy.filesystem.requested) return answer;
  if (policy.filesystem.dangerously_allow_all) {
    answer.rule = "filesystem.dangerously_allow_all";
    return answer;
  }
  const bool writing = writes(operation);
  const auto places = places_of(policy.filesystem.rules, view);
  const auto* place = nearest(places, path);
  answer.allowed = grants(
      place ? internal::rights_of(*place->rule, view) : internal::rights_of(policy.filesystem.fallback), writing);
  std::vector<std::string> lacking;
  // Of a private place that is the host's here: to share it. Nothing is asked of what is in it.
  const bool shared = place && place->rule->access == FsAccess::private_place;
  if (!answer.allowed) lacking.push_back(shared ? place->rule->path : spelling(place, path));

  // A directory takes along what is in it: neither may go while a path beneath is not to be written.
  if (operation == FsOperation::remove || operation == FsOperation::rename) {
    for (const Place<FsRule>& held : places) {
      if (held.path.size() <= path.size() || !internal::within(held.path, path) ||
          (held.rule->access != FsAccess::private_place && grants(internal::rights_of(*held.rule, view), true)))
        continue;
      if (answer.allowed) place = &held;
      answer.allowed = false;
      if (std::find(lacking.begin(), lacking.end(), held.rule->path) == lacking.end())
        lacking.push_back(held.rule->path);
    }
  }
  name_rule(answer, place, policy.filesystem);
  if (!answer.allowed) answer.suggestion = yaml_of(writing || shared, lacking);
  return answer;
}

// What would let the exec rules allow `lacking`, if that is a path, and run what is writable. `rest`: what no rule
// covers is allowed, and a list of what is allowed would deny it.
std::string exec_yaml(bool rest, const std::optional<std::string>& lacking, bool writable) {
  std::string keys;
  if (lacking) {
    std::vector<std::string> allow = {*lacking};
    if (rest && allow[0] != "/") allow.insert(allow.begin(), "/");
    const auto list = list_of(allow);
    if (!list) return "";
    keys = "allow: " + *list;
  }
  if (writable) keys += std::string(keys.empty() ? "" : ", ") + "deny_writable: false";
  return "process: {exec: {" + keys + "}}";
}

// By the exec rules, deny_writable, and `file`: what the filesystem rules say of reading it.
Explanation explain_exec(const Policy& policy, const FsView& view, std::string_view path, const Explanation& file) {
  const Exec& exec = policy.exec;
  const auto places = places_of(exec.rules, view);
  const auto* place = nearest(places, path);
  Explanation answer;
  answer.allowed = place ? place->rule->allow : !exec.allow_listed;
  answer.rule = exec.allow_listed ? "process.exec: not in allow" : "process.exec: not in deny";
  if (place) {
    answer.rule = internal::entry_text(*place->rule);
    answer.where = place->rule->where;
  }
  std::optional<std::string> lacking;
  if (!answer.allowed) lacking = spelling(place, path);
  const bool writable = exec.deny_writable && explain_file(policy, view, FsOperation::write, path).allowed;
  std::vector<std::string> needed;
  // The key itself, and not a rule that it may only be read: what made the program goes on writing it.
  if (lacking || writable) needed.push_back(exec_yaml(!exec.allow_listed && !nearest(places, ""), lacking, writable));
  if (!file.allowed) needed.push_back(file.suggestion);
  if (answer.allowed && writable) {
    answer.rule = "process.exec.deny_writable: true";
    answer.where.reset();
  } else if (answer.allowed && !file.allowed) {
    answer.rule = file.rule;
    answer.where = file.where;
  }
  answer.allowed = needed.empty();
  if (std::find(needed.begin(), needed.end(), "") != needed.end()) return answer;
  for (const std::string& yaml : needed) answer.suggestion += (answer.suggestion.empty() ? "" : "\n") + yaml;
  return answer;
}

}  // namespace

std::string suggestion(PathUse use, std::string_view path) {
  const auto list = list_of({std::string(path)});
  if (!list) return "";
  switch (use) {
    case PathUse::read:
      return "filesystem: {read: " + *list + "}";
    case PathUse::write:
      return "filesystem: {write: " + *list + "}";
    case PathUse::exec:
      return "process: {exec: {allow: " + *list + "}}";
    case PathUse::unix_peer:
      return "network: {unix: " + *list + "}";
  }
  return "";
}

Explanation explain_path(const Policy& policy, FsOperation operation, std::string_view path) {
  return explain_path(policy, empty_view(policy), operation, path);
}

Explanation explain_path(const Policy& policy, const FsView& view, FsOperation operation, std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  Explanation answer = explain_file(policy, view, operation, path);
  if (operation == FsOperation::exec && policy.exec.judged()) answer = explain_exec(policy, view, path, answer);
  answer.audit_only = policy.mode == Mode::audit;
  return answer;
}

}  // namespace sbpf::policy
