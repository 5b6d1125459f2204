// SPDX-License-Identifier: Apache-2.0
// The list of keys is the language: the schema has each of them, and no others.
#include "policy/keys.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace sbpf::policy::internal {
namespace {

using nlohmann::json;

const Key* find_key(std::string_view path) {
  for (const Key& key : keys())
    if (key.path == path) return &key;
  return nullptr;
}

class Schema {
 public:
  // The schema of a key's value, through $ref and oneOf; null if there is none.
  json at(std::string_view path) const {
    json schema = root_;
    while (!path.empty()) {
      const auto dot = path.find('.');
      const std::string name(path.substr(0, dot));
      path = dot == std::string_view::npos ? "" : path.substr(dot + 1);
      const json properties = properties_of(schema);
      if (!properties.contains(name)) return nullptr;
      schema = properties.at(name);
    }
    return schema;
  }

  json properties_of(const json& schema) const {
    if (schema.contains("properties")) return schema.at("properties");
    if (schema.contains("$ref"))
      return properties_of(root_.at(json::json_pointer(schema.at("$ref").get<std::string>().substr(1))));
    if (schema.contains("oneOf"))
      for (const json& one : schema.at("oneOf"))
        if (const json properties = properties_of(one); !properties.empty()) return properties;
    return json::object();
  }

 private:
  json root_ = json::parse(json_schema());
};

TEST(PolicyKeys, are_each_there_once_and_below_a_section_that_comes_before) {
  std::set<std::string_view> seen;
  for (const Key& key : keys()) {
    EXPECT_TRUE(key.section().empty() || seen.contains(key.section())) << key.path;
    EXPECT_TRUE(seen.insert(key.path).second) << key.path;
    EXPECT_EQ(key.read == nullptr, key.unsupported != nullptr) << key.path;
  }
  EXPECT_EQ(find_key("process.exec.deny")->section(), "process.exec");
  EXPECT_EQ(find_key("process.exec.deny")->name(), "deny");
  EXPECT_EQ(find_key("mode")->section(), "");
}

TEST(PolicyKeys, the_schema_has_each_and_says_what_it_is) {
  const Schema schema;
  for (const Key& key : keys()) {
    const json value = schema.at(key.path);
    EXPECT_EQ(value.is_null(), key.unsupported != nullptr) << key.path;
    if (value.is_null() || is_section(key)) continue;
    EXPECT_TRUE(value.contains("description") || value.contains("$ref")) << key.path;
  }
}

void nothing_else_below(const Schema& schema, const std::string& section) {
  const json properties = schema.properties_of(schema.at(section));
  for (const auto& [name, value] : properties.items()) {
    const std::string path = section.empty() ? name : section + "." + name;
    const Key* key = find_key(path);
    ASSERT_NE(key, nullptr) << "the schema has " << path;
    if (is_section(*key)) nothing_else_below(schema, path);
  }
}

TEST(PolicyKeys, the_schema_has_no_other) { nothing_else_below(Schema(), ""); }

}  // namespace
}  // namespace sbpf::policy::internal
