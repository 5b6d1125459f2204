// SPDX-License-Identifier: Apache-2.0
// The lists of paths of `process.exec`.
#include "policy/rules_reader.h"

namespace sbpf::policy::internal {
namespace {

RulesReader<ExecRule, bool> rules_reader(Reader& reader, Draft& draft) {
  return {reader, draft.exec, &ExecRule::allow, "a list of paths, as in [/usr/bin, /bin]", "", "keep one"};
}

}  // namespace

void read_exec_paths(const YamlNode& node, const std::string& key, bool allow, Reader& reader, Draft& draft) {
  rules_reader(reader, draft).read_list(node, key, allow);
}

// A path for each digest. A path that is wrong, or has another rule, gets none.
void read_exec_sha256(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  if (node.kind != YamlNode::Kind::map) {
    reader.error(
        node, key,
        {"wrong_type", "a map of paths and digests is expected here", "write sha256: {/usr/bin/tool: DIGEST}"});
    return;
  }
  RulesReader<ExecRule, bool> rules = rules_reader(reader, draft);
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    ExecRule* rule = rules.read_rule(node.keys[i], key, true);
    const std::string its_key = key + "." + shown(node.keys[i].text);
    const auto digest = reader.value<std::string>(node.items[i], its_key, "a SHA-256", parse_sha256);
    if (rule && digest) rule->sha256 = *digest;
  }
}

}  // namespace sbpf::policy::internal
