// SPDX-License-Identifier: Apache-2.0
// What the rows of keys.cpp are made of: a kind of key each, which reads a member of Policy, puts it over what is
// extended, writes it, and says for the schema what it may be.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "policy/key_text.h"
#include "policy/keys.h"

namespace sbpf::policy::internal {

// ---- members of Policy, by the way to them ----

template <auto... Members>
auto& at(Policy& policy) {
  return (policy.*....*Members);
}
template <auto... Members>
const auto& at(const Policy& policy) {
  return (policy.*....*Members);
}

template <auto... Members>
void replace(Draft& base, Draft& later) {
  at<Members...>(base.policy) = std::move(at<Members...>(later.policy));
}

template <auto... Members>
void append(Draft& base, Draft& later) {
  auto& to = at<Members...>(base.policy);
  auto& from = at<Members...>(later.policy);
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Of all rules for a path the last one stands, whichever list has it.
template <auto Rules, auto Belongs>
void replace_rules(Draft& base, Draft& later) {
  for (auto& [path, rule] : (later.*Rules).by_path)
    if (Belongs(rule)) (base.*Rules).by_path.insert_or_assign(path, rule);
}

inline bool always(const Policy&) { return true; }
inline bool judges_files(const Policy& policy) { return policy.filesystem.judged(); }
inline bool has_filesystem(const Policy& policy) { return policy.filesystem.requested; }
inline bool judges_exec(const Policy& policy) { return policy.exec.judged(); }

// true or false. Written where `Shown` says so.
template <auto Shown, auto... Members>
constexpr Key flag(std::string_view path, const char* doc) {
  return {path,
          doc,
          R"("type": "boolean", "default": false)",
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            const auto value = reader.boolean(node, where);
            if (!value) return;
            at<Members...>(draft.policy) = *value;
            draft.written.insert_or_assign(key.path, reader.where(node));
          },
          replace<Members...>,
          [](const Key& key, const Policy& policy) {
            return Shown(policy) ? line(key, at<Members...>(policy) ? "true" : "false") : "";
          }};
}

// One of some words, the default first. A word that is none of them has the code "bad_KEY".
template <auto Shown, auto... Members>
struct Word {
  template <auto... Values>
  static constexpr Key of(std::string_view path, const char* doc) {
    return {path,
            doc,
            "",
            [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
              constexpr std::array kValues = {Values...};
              const auto i = reader.word(node, where, "bad_" + std::string(key.name()), {policy::to_string(Values)...});
              if (!i) return;
              at<Members...>(draft.policy) = kValues[*i];
              draft.written.insert_or_assign(key.path, reader.where(node));
            },
            replace<Members...>,
            [](const Key& key, const Policy& policy) {
              return Shown(policy) ? line(key, policy::to_string(at<Members...>(policy))) : "";
            },
            [] { return std::vector<std::string_view>{policy::to_string(Values)...}; }};
  }
};

// A value that may be left out, as `Kind` reads and writes it.
template <typename Kind, auto... Members>
constexpr Key optional(std::string_view path, const char* doc) {
  return {path,
          doc,
          Kind::kSchema,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            auto& value = at<Members...>(draft.policy);
            value = reader.value<std::remove_cvref_t<decltype(*value)>>(node, where, Kind::kExpected, Kind::parse);
            if (value) draft.written.insert_or_assign(key.path, reader.where(node));
          },
          replace<Members...>,
          [](const Key& key, const Policy& policy) {
            const auto& value = at<Members...>(policy);
            return value ? line(key, Kind::text(*value)) : "";
          }};
}

// What its own functions read, put over what is extended, and write.
template <auto Read, auto Merge, auto Write>
constexpr Key own(std::string_view path, const char* schema, const char* doc) {
  return {path,
          doc,
          schema,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            draft.written.insert_or_assign(key.path, reader.where(node));
            Read(node, where, reader, draft);
          },
          Merge,
          Write};
}

// A list, which is united with that of what is extended.
template <auto Read, auto... Members>
void read_list(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  Read(node, where, reader, at<Members...>(draft.policy));
}
template <auto Read, auto Write, auto... Members>
constexpr Key list(std::string_view path, const char* schema, const char* doc) {
  return own<read_list<Read, Members...>, append<Members...>, Write>(path, schema, doc);
}

// A map of keys.
template <auto Write>
constexpr Key section(std::string_view path, const char* doc) {
  return {path,
          doc,
          "",
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            draft.written.insert_or_assign(key.path, reader.where(node));
            read_section(key.path, node, where, reader, draft);
          },
          nullptr,
          Write};
}

constexpr Key later(std::string_view path, const char* hint) {
  return {path, "", "", nullptr, nullptr, nullptr, nullptr, hint};
}

constexpr const char* kPaths = R"("$ref": "#/$defs/paths")";

// A list of paths of `filesystem`.
template <FsAccess Access>
struct FsPaths {
  static void read(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
    read_fs_paths(node, where, Access, reader, draft);
  }
  static bool belongs(const FsRule& rule) { return rule.access == Access; }
  static std::string write(const Key& key, const Policy& policy) { return fs_paths_text(key, policy, Access); }
};
template <FsAccess Access>
constexpr Key fs_paths(std::string_view path, const char* doc, const char* schema = kPaths) {
  using List = FsPaths<Access>;
  return own<List::read, replace_rules<&Draft::filesystem, List::belongs>, List::write>(path, schema, doc);
}

// ---- values ----

constexpr std::uint64_t kMaxProcesses = 4194304;                    // the kernel's PID_MAX_LIMIT
constexpr std::uint64_t kFewestFiles = 8, kMostFiles = 1073741816;  // no program starts below; the kernel's most
constexpr std::uint64_t kSmallestStack = 128 << 10;                 // arguments have a quarter of it

struct Processes {
  static constexpr const char* kSchema = R"("type": "integer", "minimum": 1, "maximum": 4194304)";
  static constexpr std::string_view kExpected = "a number";
  static Value<std::uint64_t> parse(std::string_view text) {
    const auto number = parse_number(text);
    if (number && *number >= 1 && *number <= kMaxProcesses) return *number;
    return tl::unexpected(BadValue{"bad_processes", fmt::format("{} is not a number of processes", quoted(text)),
                                   fmt::format("write a number from 1 to {}", kMaxProcesses)});
  }
  static std::string text(std::uint64_t number) { return std::to_string(number); }
};

struct OpenFiles {
  static constexpr const char* kSchema = R"("type": "integer", "minimum": 8, "maximum": 1073741816)";
  static constexpr std::string_view kExpected = "a number";
  static Value<std::uint64_t> parse(std::string_view text) {
    const auto number = parse_number(text);
    if (number && *number >= kFewestFiles && *number <= kMostFiles) return *number;
    return tl::unexpected(BadValue{"bad_open_files", fmt::format("{} is not a number of open files", quoted(text)),
                                   fmt::format("write a number from {} to {}", kFewestFiles, kMostFiles)});
  }
  static std::string text(std::uint64_t number) { return std::to_string(number); }
};

struct Memory {
  static constexpr const char* kSchema = R"("anyOf": [{"type": "integer", "minimum": 1},
    {"type": "string", "pattern": "^(0|[1-9][0-9]*)([KMGT]iB)?$"}])";
  static constexpr std::string_view kExpected = "an amount such as 512MiB";
  static Value<std::uint64_t> parse(std::string_view text) { return parse_memory(text); }
  static std::string text(std::uint64_t bytes) { return memory_text(bytes); }
};

// Of a limit of each process.
template <std::uint64_t Least>
struct Size {
  static constexpr const char* kSchema = R"("$ref": "#/$defs/size")";
  static constexpr std::string_view kExpected = "an amount such as 64MiB";
  static Value<std::uint64_t> parse(std::string_view text) {
    if (text == "0" && Least == 0) return std::uint64_t{0};
    auto size = parse_memory(text);
    if (size && *size < Least)
      return tl::unexpected(BadValue{"bad_memory", fmt::format("{} is too little for any program", quoted(text)),
                                     fmt::format("write at least {}", memory_text(Least))});
    return size;
  }
  static std::string text(std::uint64_t bytes) { return memory_text(bytes); }
};

struct Cpu {
  static constexpr const char* kSchema = R"("type": "number", "minimum": 0.01, "maximum": 8192)";
  static constexpr std::string_view kExpected = "a number such as 1.5";
  static Value<std::uint32_t> parse(std::string_view text) { return parse_cpu(text); }
  static std::string text(std::uint32_t millis) { return cpu_text(millis); }
};

struct Time {
  static constexpr const char* kSchema =
      R"("type": "string", "pattern": "^(?=.*[1-9])([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 2)";
  static constexpr std::string_view kExpected = "a time such as 10m";
  static Value<std::chrono::milliseconds> parse(std::string_view text) { return parse_timeout(text); }
  static std::string text(std::chrono::milliseconds time) { return timeout_text(time); }
};

}  // namespace sbpf::policy::internal
