// SPDX-License-Identifier: Apache-2.0
// The `process` part of a policy.
#include "policy/reader.h"

namespace sbpf::policy::internal {
namespace {

constexpr std::uint64_t kFewestFiles = 8, kMostFiles = 1073741816;  // no program starts below; the kernel's most
constexpr std::uint64_t kSmallestStack = 128 << 10;                 // arguments have a quarter of it

// A name, or a prefix as in LC_*. A lone * would hand over the caller's whole environment, secrets included.
Value<std::string> parse_env_pattern(std::string_view text) {
  const bool prefix = !text.empty() && text.back() == '*';
  if (prefix && env_by_name_only(text.substr(0, text.size() - 1)))
    return tl::unexpected(BadValue{"bad_env_name", quoted(text) + " would take over what makes programs load code",
                                   "name the variables, as in LD_LIBRARY_PATH; prefixes never take these over"});
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

Value<std::uint64_t> parse_open_files(std::string_view text) {
  const auto number = parse_number(text);
  if (number && *number >= kFewestFiles && *number <= kMostFiles) return *number;
  return tl::unexpected(BadValue{"bad_open_files", quoted(text) + " is not a number of open files",
                                 "write a number from " + std::to_string(kFewestFiles) + " to " + std::to_string(kMostFiles)});
}

void read_limits(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  Limits& limits = draft.limits;
  const auto size_into = [&reader](std::optional<std::uint64_t>& to, std::uint64_t least) {
    return [&reader, &to, least](const YamlNode& n, const std::string& k) {
      to = reader.value<std::uint64_t>(n, k, "an amount such as 64MiB", [least](std::string_view text) -> Value<std::uint64_t> {
        if (text == "0" && least == 0) return std::uint64_t{0};
        auto size = parse_memory(text);
        if (size && *size < least)
          return tl::unexpected(BadValue{"bad_memory", quoted(text) + " is too little for any program", "write at least " + memory_text(least)});
        return size;
      });
    };
  };
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
               }},
              {"open_files",
               [&](const YamlNode& n, const std::string& k) {
                 limits.open_files = reader.value<std::uint64_t>(n, k, "a number", parse_open_files);
               }},
              {"file_size", size_into(limits.file_size, 1)},
              {"core", size_into(limits.core, 0)},
              {"stack", size_into(limits.stack, kSmallestStack)},
              {"locked_memory", size_into(limits.locked_memory, 0)}},
             {});
}

}  // namespace

void read_process(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  reader.map(
      node, key,
      {{"exec", [&](const YamlNode& n, const std::string& k) { read_exec(n, k, reader, draft); }},
       {"env", [&](const YamlNode& n, const std::string& k) { read_env(n, k, reader, draft); }},
       {"limits", [&](const YamlNode& n, const std::string& k) { read_limits(n, k, reader, draft); }},
       {"kernel", [&](const YamlNode& n, const std::string& k) { read_kernel(n, k, reader, draft.kernel); }},
       {"seccomp", [&](const YamlNode& n, const std::string& k) { read_seccomp(n, k, reader, draft); }},
       {"capabilities", [&](const YamlNode& n, const std::string& k) { read_capabilities(n, k, reader, draft); }},
       {"user", [&](const YamlNode& n, const std::string& k) { read_user(n, k, reader, draft); }},
       {"dangerously_allow_new_privileges",
        [&](const YamlNode& n, const std::string& k) {
          if (auto value = reader.boolean(n, k)) draft.dangerously_allow_new_privileges = {*value, reader.where(n)};
        }},
       {"secrets", [&](const YamlNode& n, const std::string& k) { read_secrets(n, k, reader, draft); }}},
      {{"runtime", "the choice of a runtime comes in a later version; choose it where the container is made"}});
}

}  // namespace sbpf::policy::internal
