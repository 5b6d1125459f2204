// SPDX-License-Identifier: Apache-2.0
// key_documents --check|--write SOURCES: what is told of the keys of the language, made from their list (keys.cpp):
//   policy/schema.json        the JSON Schema; what an entry of a list holds is in policy/schema_types.json
//   docs/man/sbpf-policy.5    the part under KEYS
//   tests/fuzz/policy.dict    the words of keys
// --check says which of these differs, and ends with 1.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/file.h"
#include "policy/keys.h"

namespace {

using nlohmann::ordered_json;
using sbpf::policy::internal::is_section;
using sbpf::policy::internal::Key;
using sbpf::policy::internal::keys;

std::string without(std::string text, char one) {
  std::erase(text, one);
  return text;
}

// ---- the schema ----

ordered_json section_schema(std::string_view section, const ordered_json& types);

ordered_json key_schema(const Key& key, const ordered_json& types) {
  ordered_json schema{{"description", without(key.doc, '`')}};
  const ordered_json said = ordered_json::parse(fmt::format("{{{}}}", key.schema));
  if (is_section(key)) {
    if (said.empty())
      schema.update(section_schema(key.path, types));
    else
      schema["oneOf"] = {said, section_schema(key.path, types)};
  } else if (key.words != nullptr) {
    schema["enum"] = key.words();
    schema["default"] = key.words().front();
  } else {
    schema.update(said);
  }
  return schema;
}

// What holds between the keys of a section is in types as SECTION_rules.
ordered_json section_schema(std::string_view section, const ordered_json& types) {
  ordered_json schema{{"type", "object"}, {"additionalProperties", false}};
  for (const Key& key : keys())
    if (key.section() == section && key.unsupported == nullptr)
      schema["properties"][std::string(key.name())] = key_schema(key, types);
  if (const auto rules = types.find(fmt::format("{}_rules", section)); rules != types.end()) schema.update(*rules);
  return schema;
}

std::string schema_text(const std::string& types_text) {
  ordered_json types = ordered_json::parse(types_text);
  ordered_json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "sbpf policy"},
                      {"description", "What a sandbox may do. What no entry allows is denied."},
                      {"required", {"version", "name"}}};
  schema.update(section_schema("", types));
  for (const Key& key : keys()) types.erase(fmt::format("{}_rules", key.path));  // they are in their section
  schema["$defs"] = types;
  return schema.dump(2) + "\n";
}

// ---- the man page ----

// Words in backquotes in italics; a sentence a line, as groff likes it.
std::string roff(std::string_view text) {
  std::string out;
  bool word = false;
  for (std::size_t i = 0; i < text.size(); i++) {
    const char c = text[i];
    if (c == '`') {
      word = !word;
      out += word ? "\\fI" : "\\fP";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\\') {
      out += "\\e";
    } else if (c == ' ' && i > 0 && text[i - 1] == '.') {
      out += '\n';
    } else {
      out += c;
    }
  }
  return out + "\n";
}

// "`deny` (default), `read` or `write`."
std::string words_text(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words)
    text += fmt::format("{}`{}`{}",
                        text.empty()           ? ""
                        : word == words.back() ? " or "
                                               : ", ",
                        word, word == words.front() ? " (default)" : "");
  return text + ".";
}

// What the key may be, where that is one of a few words: of a list, what its items may be, and what it is by itself.
std::string choice_text(const Key& key) {
  if (key.words != nullptr) return roff(words_text(key.words()));
  const auto schema = nlohmann::json::parse(fmt::format("{{{}}}", key.schema));
  const auto items = schema.value("items", nlohmann::json::object());
  std::string text;
  for (const auto& [one, words] : {std::pair{"It may have", items.value("enum", nlohmann::json::array())},
                                   std::pair{"Default:", schema.value("default", nlohmann::json())}})
    if (words.is_array() && !words.empty()) {
      std::string list;
      for (const std::string word : words) list += fmt::format("{}`{}`", list.empty() ? "" : ", ", word);
      text += roff(fmt::format("{} {}.", one, list));
    }
  return text;
}

void add_to_man(std::string& page, std::string_view section) {
  for (const Key& key : keys()) {
    if (key.section() != section || key.unsupported != nullptr || is_section(key)) continue;
    page += fmt::format(".TP\n.B {}\n{}{}", key.name(), roff(key.doc), choice_text(key));
  }
  for (const Key& key : keys()) {
    if (key.section() != section || !is_section(key)) continue;
    page += fmt::format(".SS {}\n{}", key.path, roff(key.doc));
    add_to_man(page, key.path);
  }
}

// ---- the fuzzer's dictionary ----

std::string dictionary_text() {
  std::string text;
  const auto add = [&](const Key& key, std::string_view value) {
    const std::string entry = fmt::format("\"{}:{}\"\n", key.name(), value);
    if (text.find(entry) == std::string::npos) text += entry;
  };
  for (const Key& key : keys()) {
    if (key.unsupported != nullptr) continue;
    add(key, std::string_view(key.schema).starts_with(R"("type": "boolean")") ? " true" : "");
    if (key.words != nullptr)
      for (const std::string_view word : key.words()) add(key, fmt::format(" {}", word));
  }
  return text;
}

// ---- files ----

std::optional<std::string> contents(const std::string& path) {
  constexpr std::size_t kMost = 1 << 20;
  return sbpf::read_up_to(path, kMost);
}

// The file with `made` between the line that begins with `begin` and the next one that begins with `end`.
std::optional<std::string> between(const std::string& text, const std::string& begin, const std::string& end,
                                   const std::string& made) {
  const auto from = text.find("\n" + begin);
  if (from == std::string::npos) return std::nullopt;
  const auto line = text.find('\n', from + 1);
  const auto to = text.find("\n" + end, line);
  if (line == std::string::npos || to == std::string::npos) return std::nullopt;
  return text.substr(0, line + 1) + made + text.substr(to + 1);
}

// What the file should be; nothing, where a file cannot be read or has no place for it.
std::optional<std::string> wanted(const std::string& sources, const std::string& name) {
  if (name == "policy/schema.json") {
    const auto types = contents(sources + "/policy/schema_types.json");
    return types ? std::optional(schema_text(*types)) : std::nullopt;
  }
  const auto now = contents(sources + "/" + name);
  if (!now) return std::nullopt;
  if (name == "tests/fuzz/policy.dict") return between(*now, "# Keys", "# Other", dictionary_text());
  std::string page;
  add_to_man(page, "");
  return between(*now, ".SH KEYS", ".SH", page);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 3 ? argv[1] : "";
  if (what != "--check" && what != "--write") {
    std::fputs("usage: key_documents --check|--write SOURCES\n", stderr);
    return 2;
  }
  int wrong = 0;
  for (const std::string name : {"policy/schema.json", "docs/man/sbpf-policy.5", "tests/fuzz/policy.dict"}) {
    const std::string path = std::string(argv[2]) + "/" + name;
    const auto want = wanted(argv[2], name);
    if (want && contents(path) == want) continue;
    if (want && what == "--write" && (std::ofstream(path) << *want).flush()) continue;
    fmt::print(stderr, "{} is not what the list of keys says: run key_documents --write {}\n", name, argv[2]);
    wrong = 1;
  }
  return wrong;
}
