// SPDX-License-Identifier: Apache-2.0
// docs/openapi.yaml says what the API does: each of its calls, each key of a body, and no others.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <set>
#include <sstream>
#include <string>

#include "service/requests.h"

namespace sbpf::service {
namespace {

YAML::Node page() { return YAML::LoadFile(std::string(SBPF_SOURCE_DIR) + "/docs/openapi.yaml"); }

std::string with_name(std::string path) {
  if (const auto at = path.find("{name}"); at != std::string::npos) path.replace(at, 6, "box");
  return path;
}

TEST(OpenApi, has_the_calls_that_there_are) {
  std::size_t calls = 0;
  for (const auto& path : page()["paths"]) {
    const std::string target = with_name(path.first.as<std::string>());
    for (const char* method : {"get", "put", "post", "delete", "patch", "head", "options"}) {
      std::string upper;
      for (const char* c = method; *c != '\0'; ++c) upper += static_cast<char>(std::toupper(*c));
      const auto found = route(upper, target);
      const bool documented = static_cast<bool>(path.second[method]);
      EXPECT_EQ(static_cast<bool>(found), documented) << upper << " " << target;
      EXPECT_TRUE(found || found.error().code == "wrong_method") << upper << " " << target;
      calls += documented ? 1 : 0;
    }
  }
  EXPECT_EQ(calls, number_of_calls());
}

// The keys that a refusal names: "known here: cgroup, name, policy or policy_text".
std::set<std::string> known_keys(Asks asks) {
  std::string hint = parse_change(R"({"nothing": 1})", asks).error().hint;
  EXPECT_TRUE(hint.starts_with("known here: ")) << hint;
  for (char& c : hint)
    if (c == ',') c = ' ';
  std::istringstream words(hint.substr(12));
  std::set<std::string> keys;
  for (std::string word; words >> word;)
    if (word != "or") keys.insert(word);
  return keys;
}

TEST(OpenApi, has_the_keys_of_each_body) {
  const auto paths = page()["paths"];
  const auto documented = [&](const char* path, const char* method) {
    std::set<std::string> keys;
    const YAML::Node schema = paths[path][method]["requestBody"]["content"]["application/json"]["schema"];
    EXPECT_FALSE(schema["additionalProperties"].as<bool>(true)) << path;
    for (const auto& property : schema["properties"]) keys.insert(property.first.as<std::string>());
    return keys;
  };
  EXPECT_EQ(documented("/v1/sandboxes", "post"), known_keys(Asks::attach));
  EXPECT_EQ(documented("/v1/sandboxes/{name}/policy", "put"), known_keys(Asks::swap));
  EXPECT_EQ(documented("/v1/runs", "post"), known_keys(Asks::run));
  EXPECT_EQ(documented("/v1/sandboxes/{name}/processes", "post"), known_keys(Asks::exec));
}

}  // namespace
}  // namespace sbpf::service
