// SPDX-License-Identifier: Apache-2.0
// The JSON Schema says what parse() says. A validator of the keywords that our schema uses is below: it refuses to run
// over a keyword that it does not know.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "policy/policy.h"
#include "tests/decide/table.h"

namespace sbpf::policy {
namespace {

using nlohmann::json;

json to_json(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Undefined:
    case YAML::NodeType::Null:
      return nullptr;
    case YAML::NodeType::Sequence: {
      json list = json::array();
      for (const auto& item : node) list.push_back(to_json(item));
      return list;
    }
    case YAML::NodeType::Map: {
      json map = json::object();
      for (const auto& entry : node) map[entry.first.Scalar()] = to_json(entry.second);
      return map;
    }
    case YAML::NodeType::Scalar:
      break;
  }
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text == "true" || text == "false") return text == "true";
  if (std::regex_match(text, std::regex("[-+]?[0-9]{1,18}"))) return std::stoll(text);
  if (std::regex_match(text, std::regex("[-+]?[0-9]*\\.[0-9]+"))) return std::stod(text);
  return text;
}

class Validator {
 public:
  explicit Validator(json root) : root_(std::move(root)) {}
  bool valid(const json& value) const { return valid(root_, value); }

 private:
  bool valid(const json& schema, const json& value) const {
    if (schema.is_boolean()) return schema.get<bool>();
    for (const auto& [keyword, argument] : schema.items())
      if (!keyword_holds(schema, keyword, argument, value)) return false;
    return true;
  }

  static bool has_type(const json& value, const std::string& type) {
    return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
           (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
           (type == "integer" && value.is_number_integer()) || (type == "number" && value.is_number());
  }
  static bool matches(const json& pattern, const std::string& text) {
    return std::regex_search(text, std::regex(pattern.get<std::string>(), std::regex::ECMAScript));
  }
  std::size_t count_valid(const json& schemas, const json& value) const {
    std::size_t n = 0;
    for (const json& schema : schemas) n += valid(schema, value) ? 1 : 0;
    return n;
  }

  bool object_keyword_holds(const json& schema, const std::string& keyword, const json& argument,
                            const json& value) const {
    if (!value.is_object()) return true;
    if (keyword == "dependentSchemas") {
      for (const auto& [name, dependent] : argument.items())
        if (value.contains(name) && !valid(dependent, value)) return false;
      return true;
    }
    if (keyword == "required") {
      for (const json& name : argument)
        if (!value.contains(name.get<std::string>())) return false;
      return true;
    }
    for (const auto& [name, member] : value.items()) {
      const bool known = schema.contains("properties") && schema["properties"].contains(name);
      if (keyword == "properties" && known && !valid(argument[name], member)) return false;
      if (keyword == "propertyNames" && !valid(argument, name)) return false;
      if (keyword == "additionalProperties" && !known &&
          (argument.is_boolean() ? !argument.get<bool>() : !valid(argument, member)))
        return false;
    }
    return true;
  }

  bool array_keyword_holds(const json& schema, const std::string& keyword, const json& argument,
                           const json& value) const {
    if (!value.is_array()) return true;
    if (keyword == "minItems") return value.size() >= argument.get<std::size_t>();
    if (keyword == "maxItems") return value.size() <= argument.get<std::size_t>();
    if (keyword == "uniqueItems") return std::set<json>(value.begin(), value.end()).size() == value.size();
    const auto n = std::count_if(value.begin(), value.end(), [&](const json& i) { return valid(argument, i); });
    if (keyword == "items") return n == static_cast<std::ptrdiff_t>(value.size());
    return n >= schema.value("minContains", 1) && (!schema.contains("maxContains") || n <= schema["maxContains"]);
  }

  bool keyword_holds(const json& schema, const std::string& keyword, const json& argument, const json& value) const {
    static const std::set<std::string> kNotes = {"$schema", "title",       "description", "default",
                                                 "$defs",   "minContains", "maxContains", "then"};
    static const std::set<std::string> kObject = {"required", "properties", "propertyNames", "additionalProperties",
                                                  "dependentSchemas"};
    static const std::set<std::string> kArray = {"items", "minItems", "maxItems", "uniqueItems", "contains"};
    if (kNotes.contains(keyword)) return true;
    if (kObject.contains(keyword)) return object_keyword_holds(schema, keyword, argument, value);
    if (kArray.contains(keyword)) return array_keyword_holds(schema, keyword, argument, value);
    if (keyword == "if") return !valid(argument, value) || valid(schema.at("then"), value);
    if (keyword == "$ref") return valid(root_.at(json::json_pointer(argument.get<std::string>().substr(1))), value);
    if (keyword == "const") return value == argument;
    if (keyword == "enum") return std::find(argument.begin(), argument.end(), value) != argument.end();
    if (keyword == "oneOf") return count_valid(argument, value) == 1;
    if (keyword == "anyOf") return count_valid(argument, value) >= 1;
    if (keyword == "type") {
      if (argument.is_string()) return has_type(value, argument.get<std::string>());
      return std::any_of(argument.begin(), argument.end(),
                         [&](const json& t) { return has_type(value, t.get<std::string>()); });
    }
    if (keyword == "pattern") return !value.is_string() || matches(argument, value.get<std::string>());
    if (keyword == "minLength")
      return !value.is_string() || value.get<std::string>().size() >= argument.get<std::size_t>();
    if (keyword == "maxLength")
      return !value.is_string() || value.get<std::string>().size() <= argument.get<std::size_t>();
    if (keyword == "minimum") return !value.is_number() || value >= argument;
    if (keyword == "maximum") return !value.is_number() || value <= argument;
    ADD_FAILURE() << "the schema uses a keyword that this test does not know: " << keyword;
    return false;
  }

  json root_;
};

const Validator& schema() {
  static const Validator kValidator(json::parse(json_schema()));
  return kValidator;
}

bool accepts(const std::string& text) { return schema().valid(to_json(YAML::Load(text))); }

TEST(Schema, accepts_the_profiles_and_their_canonical_texts) {
  for (const std::string& name : built_in_profile_names()) {
    const std::string text = built_in_profile(name).value();
    EXPECT_TRUE(accepts(text)) << name;
    EXPECT_TRUE(accepts(canonical(parse(text, name, built_in_profile).value()))) << name;
  }
}

TEST(Schema, accepts_the_policies_of_the_decision_table) {
  for (const auto& row : decide_table::kRows) EXPECT_TRUE(accepts(row.policy)) << row.name;
}

TEST(Schema, accepts_what_parse_accepts) {
  for (
      const char* body :
      {"extends: [a]", "mode: audit", "on_loss: alert", "network: none", "network: {dangerously_allow_all: true}",
       "network: {dangerously_allow_sockets: [ping, mptcp, udplite, sctp, raw, packet, vsock, alg, netlink, smc]}",
       "filesystem: {}", "filesystem: {dangerously_allow_all: true}",
       "filesystem: {default: read, read: [/, /usr/, /a.b/..c/...], write: [], deny: [\"/a b\"], protect: [/x]}",
       "process: {exec: {}}", "process: {exec: {allow: [/usr/bin, /bin/], deny: [/usr/bin/nsenter]}}",
       "filesystem: {}\nprocess: {exec: {deny_writable: true}}", "network: {bind: [{address: \"::\", ports: [0]}]}",
       "network: {connect: [{host: Packages.Example.org., ports: [443], protocol: tcp}, {host: \"**.x_y.org\", ports: [1-9]}], dns: {resolver: \"::1\"}}",
       "process: {limits: {memory: 1, cpu: 2, timeout: 500ms}}", "process: {env: {set: {A: 1, B: true, C: x, D: 1.5}}}",
       "process: {secrets: [{name: A, file: /a}, {name: B, credential: b.k, as: fd}, {name: C, stdin: true, as: file}]}"}) {
    const std::string text = "version: 1\nname: n\n" + std::string(body) + "\n";
    EXPECT_TRUE(accepts(text)) << body;
    const auto source = [](std::string_view) { return std::optional<std::string>("version: 1\nname: a\n"); };
    EXPECT_TRUE(parse(text, "t", source)) << body;
  }
}

TEST(Schema, refuses_what_parse_refuses) {
  for (const char* body : {"nam: x",
                           "filesystem: {default: allow}",
                           "filesystem: {read: /usr}",
                           "filesystem: {read: [usr]}",
                           "filesystem: {read: [/a/../b]}",
                           "filesystem: {read: [/a/.]}",
                           "filesystem: {read: [/a//b]}",
                           "filesystem: {read: [\"/a/*\"]}",
                           "filesystem: {read: [/a, /a]}",
                           "filesystem: {hide: [/a]}",
                           "mode: Enforce",
                           "network: all",
                           "network: {connect: {}}",
                           "network: {connect: [{address: 10.0.0.1}]}",
                           "network: {connect: [{ports: [1]}]}",
                           "network: {connect: [{address: 10.0.0.1, cidr: 10.0.0.0/8, ports: [1]}]}",
                           "network: {connect: [{address: 10.0.0.1, ports: []}]}",
                           "network: {connect: [{address: 10.0.0.1, ports: [0]}]}",
                           "network: {connect: [{address: example.org, ports: [1]}]}",
                           "network: {connect: [{host: 10.0.0.1:1, ports: [1]}]}",
                           "network: {connect: [{host: \"a.*\", ports: [1]}]}",
                           "network: {connect: [{host: a, cidr: 10.0.0.0/8, ports: [1]}]}",
                           "network: {bind: [{host: a, ports: [1]}]}",
                           "network: {dns: {resolver: example.org}}",
                           "network: {dns: 127.0.0.1}",
                           "network: {dangerously_allow_sockets: [other]}",
                           "network: {dangerously_allow_all: \"true\"}",
                           "network: {unix: [run/x]}",
                           "process: {exec: []}",
                           "process: {exec: {allow: /usr/bin}}",
                           "process: {exec: {deny: [bin]}}",
                           "process: {exec: {deny: [/a, /a]}}",
                           "process: {exec: {deny_writable: yes}}",
                           "process: {exec: {sha256: []}}",
                           "process: {secrets: [{name: A}]}",
                           "process: {secrets: [{file: /a}]}",
                           "process: {secrets: [{name: A, file: a}]}",
                           "process: {secrets: [{name: A, file: /a, stdin: true}]}",
                           "process: {secrets: [{name: A, stdin: false}]}",
                           "process: {secrets: [{name: A, file: /a, as: env}]}",
                           "process: {secrets: [{name: A, value: x}]}",
                           "process: {secrets: [{name: A, credential: ../x}]}",
                           "process: {env: {allow: [\"*\"]}}",
                           "process: {env: {set: {1A: x}}}",
                           "process: {limits: {processes: 0}}",
                           "process: {limits: {memory: 1MB}}",
                           "process: {limits: {timeout: 10}}",
                           "process: {limits: {cpu: 0}}"}) {
    const std::string text = "version: 1\nname: n\n" + std::string(body) + "\n";
    EXPECT_FALSE(accepts(text)) << body;
    EXPECT_FALSE(parse(text, "t", nullptr)) << body;
  }
}

// Of the wrong policies of PolicyBad, by why the schema lets them pass.
const std::map<std::string, std::vector<std::string>> kBeyondASchema = {
    {"numbers are compared",
     {"cidr_covers_v4", "cidr_covers_v4_80", "cidr_host_bits", "cidr_host_bits_mapped", "cidr_host_bits_v6",
      "limit_cpu_decimals", "limit_memory_overflow", "limit_timeout_long", "port_range_reversed"}},
    {"a reader of YAML keeps one of two keys",
     {"duplicate_env_set", "duplicate_key", "duplicate_key_flow", "duplicate_key_name", "duplicate_key_network",
      "duplicate_key_quoted", "duplicate_section", "fs_duplicate_key"}},
    {"what is extended is elsewhere",
     {"allow_all_contradiction_inherited", "exec_writable_all_files", "exec_writable_inherited",
      "exec_writable_without_files", "extends_path", "extends_unknown", "extends_unknown_far", "fs_allow_all_inherited",
      "new_privileges", "new_privileges_inherited", "private_below_inherited"}},
    {"entries of two lists are compared",
     {"exec_both", "exec_twice", "fs_conflict", "fs_duplicate_path", "private_below", "private_twice",
      "secret_in_environment", "secret_place", "trusted_twice", "via_ambiguous", "via_ipv6_for_host",
      "via_ipv6_for_ipv4", "via_two_proxies"}},
    {"places of addresses are not spelt",
     {"metadata_address", "metadata_address6", "metadata_network", "via_metadata", "via_multicast", "via_nowhere"}},
    {"a list of names that load code", {"env_allow_loader"}},
    {"the value is read before a schema sees it",
     {"env_set_nul", "yaml_anchor", "yaml_empty_second_document", "yaml_tag_map", "yaml_two_documents",
      "yaml_anchor_on_key", "yaml_tag", "yaml_tag_nonspecific"}},
};

bool is_beyond(const std::string& name) {
  return std::ranges::any_of(kBeyondASchema, [&](const auto& reason) {
    return std::ranges::find(reason.second, name) != reason.second.end();
  });
}

TEST(Schema, refuses_each_wrong_policy_that_a_schema_can) {
  std::size_t refused = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SBPF_SOURCE_DIR) + "/tests/unit/policy_bad")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().stem();
    bool passes = false;
    try {
      passes = accepts(read_file(entry.path()));
    } catch (const YAML::Exception&) {
      continue;  // no YAML, so that no schema is asked
    }
    refused += passes ? 0 : 1;
    EXPECT_EQ(passes, is_beyond(name)) << name;
  }
  EXPECT_GE(refused, 150u);
}

TEST(Schema, describes_every_section) {
  const json root = json::parse(json_schema());
  EXPECT_EQ(root["$schema"], "https://json-schema.org/draft/2020-12/schema");
  for (const auto& [name, property] : root["properties"].items())
    EXPECT_TRUE(property.contains("description") || property.contains("$ref")) << name;
}

}  // namespace
}  // namespace sbpf::policy
