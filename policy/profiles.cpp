// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policy/embedded.h"
#include "policy/policy.h"

namespace sbpf::policy {
namespace {
constexpr std::string_view kSchema = "schema";
constexpr std::string_view kSeccomp = "seccomp-";  // what their names begin with

bool is_policy(std::string_view name) { return name != kSchema && !name.starts_with(kSeccomp); }

std::optional<std::string> embedded(std::string_view name) {
  for (const internal::EmbeddedFile& file : internal::embedded_files())
    if (file.name == name) return std::string(file.text);
  return std::nullopt;
}
}  // namespace

std::optional<std::string> built_in_profile(std::string_view name) {
  return is_policy(name) ? embedded(name) : std::nullopt;
}

std::vector<std::string> built_in_profile_names() {
  std::vector<std::string> names;
  for (const internal::EmbeddedFile& file : internal::embedded_files())
    if (is_policy(file.name)) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<std::string> built_in_seccomp(std::string_view name) {
  return embedded(std::string(kSeccomp) + std::string(name));
}

std::string json_schema() { return embedded(kSchema).value_or(""); }

}  // namespace sbpf::policy
