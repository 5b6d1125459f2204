// SPDX-License-Identifier: Apache-2.0
// The `process.exec` part of a policy.
#include "policy/rules_reader.h"

namespace sbpf::policy::internal {
void read_exec(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  DraftExec& exec = draft.exec;
  RulesReader<ExecRule, bool> rules{reader, exec.rules, &ExecRule::allow, "a list of paths, as in [/usr/bin, /bin]", "",
                                    "keep one"};
  reader.map(node, key,
             {{"allow",
               [&](const YamlNode& n, const std::string& k) {
                 exec.allow_listed = true;
                 rules.read_list(n, k, true);
               }},
              {"deny", [&](const YamlNode& n, const std::string& k) { rules.read_list(n, k, false); }},
              {"deny_writable",
               [&](const YamlNode& n, const std::string& k) {
                 if (auto b = reader.boolean(n, k)) exec.deny_writable = Placed<bool>{*b, reader.where(n)};
               }}},
             {{"sha256", "pinned programs come in a later version; until then allow only directories that nobody in the "
                         "sandbox writes"}});
}

}  // namespace sbpf::policy::internal
