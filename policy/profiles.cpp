// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "policy/embedded.h"
#include "policy/policy.h"

namespace sbpf::policy {
namespace {
constexpr std::string_view kSchema = "schema";

std::optional<std::string> embedded(std::string_view name) {
  for (const internal::EmbeddedFile& file : internal::embedded_files())
    if (file.name == name) return std::string(file.text);
  return std::nullopt;
}
}  // namespace

std::optional<std::string> built_in_profile(std::string_view name) {
  return name == kSchema ? std::nullopt : embedded(name);
}

std::vector<std::string> built_in_profile_names() {
  std::vector<std::string> names;
  for (const internal::EmbeddedFile& file : internal::embedded_files())
    if (file.name != kSchema) names.emplace_back(file.name);
  std::sort(names.begin(), names.end());
  return names;
}

std::string json_schema() { return embedded(kSchema).value_or(""); }

}  // namespace sbpf::policy
