// SPDX-License-Identifier: Apache-2.0
// The lists of paths of `filesystem`.
#include <algorithm>

#include "policy/entry_text.h"
#include "policy/rules_reader.h"
#include "policy/values.h"

namespace sbpf::policy::internal {
namespace {

// What the kernel, sbpf and others that run keep there would be hidden.
bool may_be_private(const std::string& path) {
  constexpr std::string_view kKept[] = {"/proc", "/sys", "/dev", "/run"};
  if (path == "/dev/shm") return true;
  return path != "/" && std::ranges::none_of(kKept, [&](std::string_view kept) { return within(path, kept); });
}

}  // namespace

void read_fs_paths(const YamlNode& node, const std::string& key, FsAccess access, Reader& reader, Draft& draft) {
  RulesReader<FsRule, FsAccess>{reader,
                                draft.filesystem,
                                &FsRule::access,
                                "a list of paths, as in [/usr, /lib]",
                                ", with another access",
                                "keep one: write includes read, and protect is read that nobody changes"}
      .read_list(node, key, access);
}

void check_private_places(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const auto error = [&](const Location& where, const std::string& key, std::string message, std::string hint) {
    report(diagnostics, Diagnostic{where, "contradiction", key, std::move(message), std::move(hint)});
  };
  const auto check_below = [&](const std::string& place, const std::string& path, const Location& where,
                               const std::string& key) {
    if (path != place && within(path, place))
      error(where, key,
            fmt::format("{} lies in {}, which is private: nothing of the host is there", shown(path), shown(place)),
            fmt::format("name a directory outside of it, or share the host's by filesystem: {{write: [{}]}}",
                        path_text(place)));
  };
  const auto& rules = draft.filesystem.by_path;
  for (const auto& [place, owner] : rules) {
    if (owner.access != FsAccess::private_place) continue;
    if (!may_be_private(place))
      error(owner.where, "filesystem.private",
            fmt::format("{} is where the kernel and services have their files", shown(place)),
            "name a directory of files, such as /tmp");
    for (const auto& [path, rule] : rules)
      if (rule.access != FsAccess::deny && rule.access != FsAccess::protect)
        check_below(place, path, rule.where, fmt::format("filesystem.{}", to_string(rule.access)));
    for (const auto& [peer, rule] : draft.unix_peers) check_below(place, peer, rule.where, "network.unix");
  }
}

}  // namespace sbpf::policy::internal
