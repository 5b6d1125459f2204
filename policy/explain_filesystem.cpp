// SPDX-License-Identifier: Apache-2.0
// Why an operation on a path is allowed or not, and what would allow it. Decided on paths: no image, no inodes.
#include <algorithm>

#include "policy/entry_text.h"
#include "policy/filesystem.h"
#include "policy/values.h"

namespace sbpf::policy {
namespace {

// A rule where it lies.
struct Place {
  std::string path;  // no slash at its end: "" is the root
  const FsRule* rule;
};

std::vector<Place> places_of(const Policy& policy, const FsView& view) {
  std::vector<Place> places;
  for (const FsRule& rule : policy.filesystem.rules) {
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

// Is `path` this directory, or below it? Both without a slash at the end.
bool within(std::string_view path, std::string_view directory) {
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

// The rule of the longest path that covers `path`; nullptr if none does.
const Place* nearest(const std::vector<Place>& places, std::string_view path) {
  const Place* best = nullptr;
  for (const Place& place : places)
    if (within(path, place.path) && (!best || place.path.size() > best->path.size())) best = &place;
  return best;
}

bool grants(FsAccess access, bool writing) {
  switch (access) {
    case FsAccess::read:
    case FsAccess::protect:
      return !writing;
    case FsAccess::write:
      return true;
    case FsAccess::deny:
      return false;
  }
  return false;
}

bool grants(FsDefault fallback, bool writing) {
  switch (fallback) {
    case FsDefault::deny:
      return false;
    case FsDefault::read:
      return !writing;
    case FsDefault::write:
      return true;
  }
  return false;
}

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

// "filesystem: {write: [/a, /b]}"; empty if a policy cannot name one of them.
std::string yaml_of(bool writing, const std::vector<std::string>& paths) {
  std::string list;
  for (const std::string& path : paths) {
    const auto spelled = internal::parse_path(path);
    if (!spelled) return "";
    list += (list.empty() ? "" : ", ") + internal::path_text(*spelled);
  }
  return std::string("filesystem: {") + (writing ? "write" : "read") + ": [" + list + "]}";
}

}  // namespace

Explanation explain_path(const Policy& policy, FsOperation operation, std::string_view path) {
  return explain_path(policy, empty_view(policy), operation, path);
}

Explanation explain_path(const Policy& policy, const FsView& view, FsOperation operation, std::string_view path) {
  Explanation answer;
  answer.audit_only = policy.mode == Mode::audit;
  if (!policy.filesystem.requested) {
    answer.allowed = true;
    return answer;
  }
  if (policy.filesystem.dangerously_allow_all) {
    answer.allowed = true;
    answer.rule = "filesystem.dangerously_allow_all";
    return answer;
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  const bool writing = writes(operation);
  const std::vector<Place> places = places_of(policy, view);
  const Place* place = nearest(places, path);
  answer.allowed = place ? grants(place->rule->access, writing) : grants(policy.filesystem.fallback, writing);
  // The rule's own path, where it is the one asked for: only that spelling replaces it.
  const bool exact = place && place->path == path;
  const std::string asked = exact ? place->rule->path : path.empty() ? "/" : std::string(path);
  std::vector<std::string> lacking;
  if (!answer.allowed) lacking.push_back(asked);

  // A directory takes along what is in it: neither may go while a path beneath is not to be written.
  if (operation == FsOperation::remove || operation == FsOperation::rename) {
    for (const Place& held : places) {
      if (held.path.size() <= path.size() || !within(held.path, path) || grants(held.rule->access, true)) continue;
      if (answer.allowed) place = &held;
      answer.allowed = false;
      if (std::find(lacking.begin(), lacking.end(), held.rule->path) == lacking.end())
        lacking.push_back(held.rule->path);
    }
  }

  if (place) {
    answer.rule = internal::entry_text(*place->rule);
    answer.where = place->rule->where;
  } else {
    answer.rule = "filesystem.default: " + std::string(to_string(policy.filesystem.fallback));
  }
  if (!answer.allowed) answer.suggestion = yaml_of(writing, lacking);
  return answer;
}

}  // namespace sbpf::policy
