// SPDX-License-Identifier: Apache-2.0
// The `filesystem` part of a policy.
#include "policy/rules_reader.h"

namespace sbpf::policy::internal {
void read_filesystem(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  DraftFilesystem& filesystem = draft.filesystem;
  filesystem.requested = true;
  RulesReader<FsRule, FsAccess> rules{reader, filesystem.rules, &FsRule::access, "a list of paths, as in [/usr, /lib]",
                                      ", with another access",
                                      "keep one: write includes read, and protect is read that nobody changes"};
  const auto list = [&rules](FsAccess access) {
    return [&rules, access](const YamlNode& n, const std::string& k) { rules.read_list(n, k, access); };
  };
  reader.map(node, key,
             {{"default",
               [&](const YamlNode& n, const std::string& k) {
                 constexpr FsDefault kDefaults[] = {FsDefault::deny, FsDefault::read, FsDefault::write};
                 if (auto i = reader.word(n, k, "bad_default", {"deny", "read", "write"}))
                   filesystem.fallback = kDefaults[*i];
               }},
              {"read", list(FsAccess::read)},
              {"write", list(FsAccess::write)},
              {"deny", list(FsAccess::deny)},
              {"protect", list(FsAccess::protect)},
              {"dangerously_allow_all",
               [&](const YamlNode& n, const std::string& k) {
                 if (auto b = reader.boolean(n, k))
                   filesystem.dangerously_allow_all = Placed<bool>{*b, reader.where(n)};
               }}},
             {});
}

}  // namespace sbpf::policy::internal
