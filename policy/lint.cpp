// SPDX-License-Identifier: Apache-2.0
#include "policy/lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace sbpf::policy {
namespace {

constexpr std::size_t kShortestKey = 16;  // shorter ones are words, versions and numbers

// How keys begin: of model providers, of code forges and package registries, of clouds, of chats; a private key; a JWT.
constexpr std::array<std::string_view, 24> kBeginnings = {
    "sk-",    "sk_live_", "rk_live_", "ghp_", "gho_",        "ghs_", "ghu_",    "github_pat_",
    "glpat-", "npm_",     "pypi-",    "hf_",  "AKIA",        "ASIA", "AIza",    "ya29.",
    "xoxb-",  "xoxp-",    "xapp-",    "SG.",  "-----BEGIN ", "eyJ",  "dop_v1_", "AGE-SECRET-KEY-"};
constexpr std::array<std::string_view, 7> kEndings = {"KEY",    "TOKEN",      "SECRET",     "PASSWORD",
                                                      "PASSWD", "CREDENTIAL", "CREDENTIALS"};

bool begins_like_a_key(std::string_view value) {
  return std::ranges::any_of(kBeginnings, [&](std::string_view one) { return value.starts_with(one); });
}

bool is_named_like_a_key(std::string_view name) {
  const auto end = [&](std::string_view word) {
    return name == word || (name.ends_with(word) && name[name.size() - word.size() - 1] == '_');
  };
  return std::ranges::any_of(kEndings, end);
}

// Letters and digits mixed, in one word, and no path: not "changeme", "true" or /run/secrets/key.
bool is_random(std::string_view value) {
  const auto has = [&](int (*kind)(int)) {
    return std::ranges::any_of(value, [kind](unsigned char c) { return kind(c) != 0; });
  };
  return !value.starts_with('/') && !has(std::isspace) && has(std::isdigit) && has(std::isalpha);
}

}  // namespace

std::vector<Advice> lint(const Policy& policy) {
  std::vector<Advice> found;
  for (const auto& [name, value] : policy.env.set)
    if (value.size() >= kShortestKey && (begins_like_a_key(value) || (is_named_like_a_key(name) && is_random(value))))
      found.push_back({"process.env.set." + name, fmt::format("the value of {} looks like a secret", name),
                       "hand it over by process.secrets: what is in the environment can be read in /proc, and the "
                       "policy is no place for it"});
  return found;
}

}  // namespace sbpf::policy
