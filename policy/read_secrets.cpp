// SPDX-License-Identifier: Apache-2.0
// `process.secrets`: where each comes from, and how the program gets it.
#include <fmt/core.h>
#include <algorithm>

#include "policy/draft.h"

namespace sbpf::policy::internal {
namespace {

constexpr std::size_t kMaxSecrets = 64;
constexpr std::size_t kMaxSecretName = 64;

Value<std::string> parse_secret_name(std::string_view text) {
  if (valid_env_name(text) && text.size() <= kMaxSecretName) return std::string(text);
  return tl::unexpected(BadValue{"bad_secret_name", fmt::format("{} is not the name of a secret", quoted(text)),
                                 "write a name as of a variable, of at most 64 characters: JUDGE_API_KEY"});
}

Value<std::string> parse_source_path(std::string_view text) {
  auto path = parse_path(text);
  if (path && *path == "/")
    return tl::unexpected(BadValue{"bad_path", "/ is not a file", "name the file of the secret"});
  return path;
}

// As systemd takes it for LoadCredential=: the name of a file.
Value<std::string> parse_credential(std::string_view text) {
  const bool good =
      !text.empty() && text.size() <= 255 && text[0] != '.' && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
               c == '-';
      });
  if (good) return std::string(text);
  return tl::unexpected(BadValue{"bad_credential", fmt::format("{} is not the name of a credential", quoted(text)),
                                 "write its name in LoadCredential=, without a directory"});
}

std::optional<Secret> read_secret(const YamlNode& node, const std::string& key, Reader& reader) {
  Secret secret;
  secret.where = reader.where(node);
  bool named = false, good = true;
  int sources = 0;
  const auto source = [&](Secret::Source kind, const auto& parse_value) {
    return [&, kind, parse_value](const YamlNode& n, const std::string& k) {
      sources++;
      secret.source = kind;
      auto from = reader.value<std::string>(n, k, "a name", parse_value);
      if (from) secret.from = std::move(*from);
      good = good && from;
    };
  };
  reader.map(
      node, key,
      {{"name",
        [&](const YamlNode& n, const std::string& k) {
          named = true;
          auto name = reader.value<std::string>(n, k, "a name", parse_secret_name);
          if (name) secret.name = std::move(*name);
          good = good && name;
        }},
       {"file", source(Secret::Source::file, parse_source_path)},
       {"credential", source(Secret::Source::credential, parse_credential)},
       {"stdin",
        [&](const YamlNode& n, const std::string& k) {
          sources++;
          secret.source = Secret::Source::standard_input;
          const auto on = reader.boolean(n, k);
          if (on && !*on)
            reader.error(n, k, {"bad_source", "stdin: false is no source", "write stdin: true, or remove it"});
          good = good && on && *on;
        }},
       {"as",
        [&](const YamlNode& n, const std::string& k) {
          constexpr Secret::Form kForms[] = {Secret::Form::file, Secret::Form::fd};
          const auto i = reader.word(n, k, "bad_form", {"file", "fd"});
          if (i) secret.form = kForms[*i];
          good = good && i;
        }}},
      {{"value", "a policy names secrets and never holds them: write file, credential or stdin"},
       {"env", "a variable can be read in /proc; the program finds the secret by the variable NAME_FILE or NAME_FD"}});
  if (node.kind != YamlNode::Kind::map) return std::nullopt;
  if (!named) reader.error(node, key + ".name", {"missing_key", "the secret has no name", "add name: JUDGE_API_KEY"});
  if (sources == 0)
    reader.error(
        node, key,
        {"missing_key", "the secret has no source", "add file: /etc/sbpf/judge.key, credential: NAME or stdin: true"});
  if (sources > 1)
    reader.error(node, key,
                 {"contradiction", "the secret has more than one source", "keep one of file, credential and stdin"});
  if (!named || !good || sources != 1) return std::nullopt;
  return secret;
}

bool matches(const std::string& pattern, const std::string& name) {
  if (pattern.back() != '*') return pattern == name;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
}

// The program would find the secret's name in its environment, with something else as its value, or the secret itself.
std::string in_environment(const Draft& draft, const std::string& name) {
  if (draft.policy.env.set.contains(name)) return "env.set";
  const auto allows = [&](const std::string& pattern) { return matches(pattern, name); };
  if (std::ranges::any_of(draft.policy.env.allow, allows)) return "env.allow";
  return "";
}

bool below_secrets(const std::string& path) {
  return path.compare(0, kSecretsDirectory.size(), kSecretsDirectory) == 0 &&
         (path.size() == kSecretsDirectory.size() || path[kSecretsDirectory.size()] == '/');
}

}  // namespace

void read_secrets(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  reader.list(node, key, "a list, as in [{name: JUDGE_API_KEY, file: /etc/sbpf/judge.key}]",
              [&](const YamlNode& item, const std::string& item_key) {
                auto secret = read_secret(item, item_key, reader);
                if (!secret) return;
                if (draft.secrets.contains(secret->name))
                  reader.error(
                      item, item_key,
                      {"duplicate_value", fmt::format("{} is named twice", quoted(secret->name)), "remove one"});
                else if (draft.secrets.size() == kMaxSecrets)
                  reader.error(item, item_key, {"too_many_secrets", "more than 64 secrets", "put some into one file"});
                else
                  draft.secrets.emplace(secret->name, std::move(*secret));
              });
}

void check_secrets(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const Secret* from_stdin = nullptr;
  bool as_file = false;
  for (const auto& [name, secret] : draft.secrets) {
    const auto error = [&, &where = secret.where](const char* code, std::string message, std::string hint) {
      report(diagnostics, Diagnostic{where, code, "process.secrets", std::move(message), std::move(hint)});
    };
    as_file = as_file || secret.form == Secret::Form::file;
    if (secret.source == Secret::Source::standard_input) {
      if (from_stdin)
        error("contradiction", fmt::format("{} and {} both come from stdin", name, from_stdin->name),
              "take one of them from a file");
      from_stdin = &secret;
    }
    for (const std::string& variable : {name, name + "_FILE", name + "_FD"})
      if (const std::string list = in_environment(draft, variable); !list.empty())
        error(
            "contradiction",
            fmt::format("process.{} hands over the variable {}, which belongs to the secret {}", list, variable, name),
            fmt::format("remove it from process.{}: what is in the environment can be read in /proc", list));
  }
  if (!as_file) return;
  for (const auto& [path, rule] : draft.filesystem.by_path)
    if (below_secrets(path) && (path != kSecretsDirectory || rule.access != FsAccess::read))
      report(diagnostics,
             Diagnostic{rule.where, "contradiction", fmt::format("filesystem.{}", to_string(rule.access)),
                        fmt::format("{} is where the secrets are, which the program may read", shown(path)),
                        "remove this path"});
}

void finish_secrets(Draft& draft, Policy& policy) {
  Filesystem& filesystem = policy.filesystem;
  for (auto& [name, secret] : draft.secrets) {
    if (secret.form == Secret::Form::file && filesystem.requested && !filesystem.dangerously_allow_all) {
      const auto at = std::lower_bound(filesystem.rules.begin(), filesystem.rules.end(), kSecretsDirectory,
                                       [](const FsRule& rule, std::string_view path) { return rule.path < path; });
      if (at == filesystem.rules.end() || at->path != kSecretsDirectory)
        filesystem.rules.insert(at, FsRule{std::string(kSecretsDirectory), FsAccess::read, secret.where});
    }
    policy.secrets.push_back(std::move(secret));
  }
}

}  // namespace sbpf::policy::internal
