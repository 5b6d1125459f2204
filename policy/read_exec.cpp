// SPDX-License-Identifier: Apache-2.0
// The `process.exec` part of a policy.
#include "policy/rules_reader.h"

namespace sbpf::policy::internal {
void read_exec(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  DraftExec& exec = draft.exec;
  RulesReader<ExecRule, bool> rules{reader, exec.rules, &ExecRule::allow, "a list of paths, as in [/usr/bin, /bin]", "",
                                    "keep one"};
  // A path for each digest. A path that is wrong, or has another rule, gets none.
  const auto read_pins = [&](const YamlNode& n, const std::string& k) {
    exec.allow_listed = true;
    if (n.kind != YamlNode::Kind::map) {
      reader.error(n, k, {"wrong_type", "a map of paths and digests is expected here", "write sha256: {/usr/bin/tool: DIGEST}"});
      return;
    }
    for (std::size_t i = 0; i < n.keys.size(); ++i) {
      ExecRule* rule = rules.read_rule(n.keys[i], k, true);
      const std::string its_key = k + "." + shown(n.keys[i].text);
      const auto digest = reader.value<std::string>(n.items[i], its_key, "a SHA-256", parse_sha256);
      if (rule && digest) rule->sha256 = *digest;
    }
  };
  reader.map(node, key,
             {{"allow",
               [&](const YamlNode& n, const std::string& k) {
                 exec.allow_listed = true;
                 rules.read_list(n, k, true);
               }},
              {"deny", [&](const YamlNode& n, const std::string& k) { rules.read_list(n, k, false); }},
              {"sha256", read_pins},
              {"deny_writable",
               [&](const YamlNode& n, const std::string& k) {
                 if (auto b = reader.boolean(n, k)) exec.deny_writable = Placed<bool>{*b, reader.where(n)};
               }}},
             {});
}

}  // namespace sbpf::policy::internal
