// SPDX-License-Identifier: Apache-2.0
// The `process` part of a policy.
#include "policy/reader.h"

namespace sbpf::policy::internal {
namespace {

// A name, or a prefix as in LC_*. A lone * would hand over the caller's whole environment, secrets included.
Value<std::string> parse_env_pattern(std::string_view text) {
  const bool prefix = !text.empty() && text.back() == '*';
  if (valid_env_name(prefix ? text.substr(0, text.size() - 1) : text)) return std::string(text);
  return tl::unexpected(BadValue{"bad_env_name", quoted(text) + " is not a variable's name",
                                 text == "*" ? "list the variables: * would take over all of them, secrets too"
                                             : "write a name as in HOME, or a prefix as in LC_*"});
}

void read_env_set(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  if (node.kind != YamlNode::Kind::map) {
    reader.error(node, key, {"wrong_type", "a map of names and values is expected here", "write set: {CI: \"1\"}"});
    return;
  }
  // The names are the user's own, so that there is no list of fields: this map is read by hand.
  std::map<std::string_view, int> seen;
  for (std::size_t i = 0; i < node.keys.size(); ++i) {
    const YamlNode& name = node.keys[i];
    const YamlNode& value = node.items[i];
    if (name.kind != YamlNode::Kind::scalar || !valid_env_name(name.text)) {
      reader.error(name, key,
                   {"bad_env_name", "this is not a variable's name",
                    "a name has letters, digits and _, and does not start with a digit"});
      continue;
    }
    const std::string path = key + "." + shown(name.text);
    if (seen[name.text]++ > 0) {
      reader.error(name, path, {"duplicate_key", "the variable is set twice", "remove one"});
      continue;
    }
    const std::string* text = reader.text(value, path, "a text");
    if (!text) continue;
    if (text->find('\0') != std::string::npos)
      reader.error(value, path, {"bad_env_value", "a variable's value cannot hold a NUL byte", "remove the \\0"});
    else
      draft.env_set[name.text] = *text;
  }
}

void read_env(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  const auto read_allow = [&](const YamlNode& list, const std::string& list_key) {
    if (list.kind == YamlNode::Kind::sequence) draft.env_allow.emplace();
    reader.list(list, list_key, "a list, as in [PATH, HOME]", [&](const YamlNode& item, const std::string& item_key) {
      if (auto name = reader.value<std::string>(item, item_key, "a variable's name", parse_env_pattern))
        draft.env_allow->push_back(std::move(*name));
    });
  };
  reader.map(node, key,
             {{"allow", read_allow},
              {"set", [&](const YamlNode& n, const std::string& k) { read_env_set(n, k, reader, draft); }}},
             {});
}

Value<std::uint64_t> parse_processes(std::string_view text) {
  const auto number = parse_number(text);
  if (number && *number >= 1 && *number <= kMaxProcesses) return *number;
  return tl::unexpected(BadValue{"bad_processes", quoted(text) + " is not a number of processes",
                                 "write a number from 1 to " + std::to_string(kMaxProcesses)});
}

void read_limits(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  Limits& limits = draft.limits;
  reader.map(node, key,
             {{"processes",
               [&](const YamlNode& n, const std::string& k) {
                 limits.processes = reader.value<std::uint64_t>(n, k, "a number", parse_processes);
               }},
              {"memory",
               [&](const YamlNode& n, const std::string& k) {
                 limits.memory_bytes = reader.value<std::uint64_t>(n, k, "an amount such as 512MiB", parse_memory);
               }},
              {"cpu",
               [&](const YamlNode& n, const std::string& k) {
                 limits.cpu_millis = reader.value<std::uint32_t>(n, k, "a number such as 1.5", parse_cpu);
               }},
              {"timeout",
               [&](const YamlNode& n, const std::string& k) {
                 limits.timeout = reader.value<std::chrono::milliseconds>(n, k, "a time such as 10m", parse_timeout);
               }}},
             {});
}

}  // namespace

void read_process(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  reader.map(
      node, key,
      {{"exec", [&](const YamlNode& n, const std::string& k) { read_exec(n, k, reader, draft); }},
       {"env", [&](const YamlNode& n, const std::string& k) { read_env(n, k, reader, draft); }},
       {"limits", [&](const YamlNode& n, const std::string& k) { read_limits(n, k, reader, draft); }},
       {"kernel", [&](const YamlNode& n, const std::string& k) { read_kernel(n, k, reader, draft.kernel); }}},
      {{"secrets", "secrets come in a later version; hand them over by file descriptor"},
       {"seccomp", "seccomp filters come in a later version; use those of the container runtime"},
       {"capabilities", "capability lists come in a later version; start sbpf run as an unprivileged user"},
       {"runtime", "the choice of a runtime comes in a later version; choose it where the container is made"}});
}

}  // namespace sbpf::policy::internal
