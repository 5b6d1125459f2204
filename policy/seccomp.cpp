// SPDX-License-Identifier: Apache-2.0
// OCI JSON -> SeccompProfile. JSON is read as the YAML that it is, so that errors have a place and keys come once.
#include "policy/seccomp.h"

#include <algorithm>
#include <cctype>

#include "policy/reader.h"

namespace sbpf::policy {
namespace {

using internal::BadValue;
using internal::quoted;
using internal::Reader;
using internal::YamlNode;

constexpr std::uint64_t kMaxErrno = 4095;
constexpr unsigned kArguments = 6;

// JSON's null stands for what is not there.
bool absent(const YamlNode& node) { return node.kind == YamlNode::Kind::null || (node.plain && node.text == "null"); }

std::optional<std::uint64_t> number(const YamlNode& node, const std::string& key, std::uint64_t most, Reader& reader) {
  const std::string* text = reader.text(node, key, "a number");
  if (!text) return std::nullopt;
  const auto value = node.plain ? internal::parse_number(*text) : std::nullopt;
  if (value && *value <= most) return value;
  reader.error(node, key,
               {"bad_number", fmt::format("{} is not a number here", quoted(*text)),
                fmt::format("write a whole number from 0 to {}", most)});
  return std::nullopt;
}

std::optional<SeccompAction> action(const YamlNode& node, const std::string& key, Reader& reader) {
  struct Known {
    std::string_view name;
    SeccompAction action;
  };
  static constexpr Known kKnown[] = {{"SCMP_ACT_ALLOW", SeccompAction::allow},
                                     {"SCMP_ACT_LOG", SeccompAction::log},
                                     {"SCMP_ACT_ERRNO", SeccompAction::deny},
                                     {"SCMP_ACT_TRAP", SeccompAction::trap},
                                     {"SCMP_ACT_KILL", SeccompAction::kill_thread},
                                     {"SCMP_ACT_KILL_THREAD", SeccompAction::kill_thread},
                                     {"SCMP_ACT_KILL_PROCESS", SeccompAction::kill_process}};
  const std::string* text = reader.text(node, key, "an action");
  if (!text) return std::nullopt;
  for (const Known& known : kKnown)
    if (known.name == *text) return known.action;
  const bool served = *text == "SCMP_ACT_TRACE" || *text == "SCMP_ACT_NOTIFY";
  reader.error(node, key,
               {"unsupported",
                quoted(*text) + (served ? " needs a tracer or a listener, and sbpf has none" : " is not an action"),
                "write SCMP_ACT_ALLOW, SCMP_ACT_ERRNO, SCMP_ACT_KILL_PROCESS, SCMP_ACT_KILL_THREAD, SCMP_ACT_TRAP or "
                "SCMP_ACT_LOG"});
  return std::nullopt;
}

void texts(const YamlNode& node, const std::string& key, Reader& reader, std::vector<std::string>& to) {
  if (absent(node)) return;
  reader.list(node, key, "a list of names", [&](const YamlNode& item, const std::string& item_key) {
    if (const std::string* text = reader.text(item, item_key, "a name")) to.push_back(*text);
  });
}

void architecture(const YamlNode& node, const std::string& key, Reader& reader, std::string& to) {
  static const std::vector<std::string_view> kNames = {
      "X86",    "X86_64",   "X32",         "ARM",         "AARCH64", "MIPS",    "MIPS64", "MIPS64N32",
      "MIPSEL", "MIPSEL64", "MIPSEL64N32", "PPC",         "PPC64",   "PPC64LE", "S390",   "S390X",
      "PARISC", "PARISC64", "RISCV64",     "LOONGARCH64", "M68K",    "SH",      "SHEB"};
  constexpr std::string_view kPrefix = "SCMP_ARCH_";
  const std::string* text = reader.text(node, key, "an architecture");
  if (!text) return;
  const bool known = text->starts_with(kPrefix) &&
                     std::find(kNames.begin(), kNames.end(), text->substr(kPrefix.size())) != kNames.end();
  if (known)
    to = *text;
  else
    reader.error(node, key,
                 {"bad_architecture", fmt::format("{} is not an architecture", quoted(*text)),
                  "write it as in SCMP_ARCH_X86_64"});
}

void architectures(const YamlNode& node, const std::string& key, Reader& reader, std::vector<std::string>& to) {
  if (absent(node)) return;
  reader.list(node, key, "[\"SCMP_ARCH_X86_64\"]", [&](const YamlNode& item, const std::string& item_key) {
    std::string name;
    architecture(item, item_key, reader, name);
    if (!name.empty()) to.push_back(std::move(name));
  });
}

void arch_map(const YamlNode& node, const std::string& key, Reader& reader, std::vector<SeccompArch>& to) {
  if (absent(node)) return;
  reader.list(node, key, "a list of maps", [&](const YamlNode& item, const std::string& item_key) {
    SeccompArch arch;
    reader.map(
        item, item_key,
        {{"architecture", [&](const YamlNode& n, const std::string& k) { architecture(n, k, reader, arch.name); }},
         {"subArchitectures", [&](const YamlNode& n, const std::string& k) { architectures(n, k, reader, arch.sub); }}},
        {});
    if (arch.name.empty())
      reader.error(item, item_key, {"missing_key", "an architecture is missing here", "add \"architecture\""});
    to.push_back(std::move(arch));
  });
}

// Of args: which one, compared how.
void argument(const YamlNode& node, const std::string& key, Reader& reader, SeccompRule& rule) {
  static const std::vector<std::string_view> kOps = {"SCMP_CMP_NE", "SCMP_CMP_LT", "SCMP_CMP_LE",       "SCMP_CMP_EQ",
                                                     "SCMP_CMP_GE", "SCMP_CMP_GT", "SCMP_CMP_MASKED_EQ"};
  std::optional<std::uint64_t> index;
  std::optional<std::size_t> op;
  SeccompArg arg;
  reader.map(
      node, key,
      {{"index", [&](const YamlNode& n, const std::string& k) { index = number(n, k, kArguments - 1, reader); }},
       {"value", [&](const YamlNode& n, const std::string& k) { arg.value = number(n, k, ~0ull, reader).value_or(0); }},
       {"valueTwo",
        [&](const YamlNode& n, const std::string& k) { arg.value_two = number(n, k, ~0ull, reader).value_or(0); }},
       {"op", [&](const YamlNode& n, const std::string& k) { op = reader.word(n, k, "bad_op", kOps); }}},
      {});
  if (node.kind != YamlNode::Kind::map) return;
  if (!index || !op) {
    reader.error(
        node, key,
        {"missing_key", "index and op must be given", "write {\"index\": 0, \"value\": 0, \"op\": \"SCMP_CMP_EQ\"}"});
    return;
  }
  arg.index = static_cast<unsigned>(*index);
  arg.op = static_cast<SeccompOp>(*op);
  // Some engines then take either condition, the filter's library takes none: what is meant is not clear.
  if (std::any_of(rule.args.begin(), rule.args.end(), [&](const SeccompArg& a) { return a.index == arg.index; }))
    reader.error(node, key,
                 {"contradiction", "the same argument is compared twice", "use an entry of its own for each"});
  rule.args.push_back(arg);
}

void condition(const YamlNode& node, const std::string& key, Reader& reader, SeccompCondition& to) {
  if (absent(node)) return;
  const auto caps = [&](const YamlNode& list, const std::string& list_key) {
    if (absent(list)) return;
    reader.list(list, list_key, "[\"CAP_SYS_ADMIN\"]", [&](const YamlNode& item, const std::string& item_key) {
      const std::string* name = reader.text(item, item_key, "a capability");
      if (!name) return;
      if (const auto cap = capability_number(*name))
        to.caps.push_back(*cap);
      else
        reader.error(
            item, item_key,
            {"bad_capability", fmt::format("{} is not a capability", quoted(*name)), "write it as in CAP_SYS_ADMIN"});
    });
  };
  const auto min_kernel = [&](const YamlNode& n, const std::string& k) {
    const std::string* text = reader.text(n, k, "a version");
    if (!text) return;
    const std::size_t dot = text->find('.');
    const auto major = internal::parse_number(text->substr(0, dot));
    const auto minor = dot == std::string::npos ? std::nullopt : internal::parse_number(text->substr(dot + 1));
    if (major && minor && *major < 1000 && *minor < 1000)
      to.min_kernel = {static_cast<unsigned>(*major), static_cast<unsigned>(*minor)};
    else
      reader.error(
          n, k, {"bad_version", fmt::format("{} is not a kernel's version", quoted(*text)), "write it as in \"4.8\""});
  };
  reader.map(node, key,
             {{"caps", caps},
              {"arches", [&](const YamlNode& n, const std::string& k) { texts(n, k, reader, to.arches); }},
              {"minKernel", min_kernel}},
             {});
}

SeccompRule rule_of(const YamlNode& node, const std::string& key, Reader& reader) {
  SeccompRule rule;
  rule.where = reader.where(node);
  bool has_action = false;
  const auto args = [&](const YamlNode& list, const std::string& list_key) {
    if (absent(list)) return;
    reader.list(list, list_key, "a list of maps",
                [&](const YamlNode& item, const std::string& item_key) { argument(item, item_key, reader, rule); });
  };
  reader.map(node, key,
             {{"names", [&](const YamlNode& n, const std::string& k) { texts(n, k, reader, rule.names); }},
              {"action",
               [&](const YamlNode& n, const std::string& k) {
                 has_action = true;
                 rule.action = action(n, k, reader).value_or(SeccompAction::deny);
               }},
              {"errnoRet",
               [&](const YamlNode& n, const std::string& k) {
                 if (absent(n)) return;
                 if (const auto value = number(n, k, kMaxErrno, reader)) rule.errno_ret = static_cast<unsigned>(*value);
               }},
              {"args", args},
              {"includes", [&](const YamlNode& n, const std::string& k) { condition(n, k, reader, rule.includes); }},
              {"excludes", [&](const YamlNode& n, const std::string& k) { condition(n, k, reader, rule.excludes); }},
              {"comment",
               [&](const YamlNode& n, const std::string& k) {
                 if (absent(n)) return;
                 if (const std::string* text = reader.text(n, k, "a text")) rule.comment = *text;
               }}},
             {});
  if (node.kind != YamlNode::Kind::map) return rule;
  if (rule.names.empty())
    reader.error(node, key, {"missing_key", "the entry names no system call", "add \"names\": [\"…\"]"});
  if (!has_action)
    reader.error(node, key, {"missing_key", "the entry has no action", "add \"action\": \"SCMP_ACT_ALLOW\""});
  if (rule.errno_ret && rule.action != SeccompAction::deny)
    reader.error(node, key, {"contradiction", "errnoRet goes with SCMP_ACT_ERRNO only", "remove errnoRet"});
  return rule;
}

}  // namespace

tl::expected<SeccompProfile, std::vector<Diagnostic>> parse_seccomp(std::string_view text, std::string_view file) {
  std::vector<Diagnostic> diagnostics;
  const auto tree = internal::load_yaml(text, file);
  if (!tree) return tl::unexpected(std::vector<Diagnostic>{tree.error()});
  Reader reader(file, diagnostics);
  SeccompProfile profile;
  bool has_default = false;
  const auto flags = [&](const YamlNode& n, const std::string& k) {
    std::vector<std::string> names;
    texts(n, k, reader, names);
    if (!names.empty())
      reader.error(
          n, k,
          {"unsupported", "flags of the filter are not supported", "remove them: no flag makes a filter stricter"});
  };
  reader.map(*tree, "",
             {{"defaultAction",
               [&](const YamlNode& n, const std::string& k) {
                 has_default = true;
                 profile.default_action = action(n, k, reader).value_or(SeccompAction::deny);
               }},
              {"defaultErrnoRet",
               [&](const YamlNode& n, const std::string& k) {
                 if (absent(n)) return;
                 if (const auto value = number(n, k, kMaxErrno, reader))
                   profile.default_errno = static_cast<unsigned>(*value);
               }},
              {"architectures",
               [&](const YamlNode& n, const std::string& k) { architectures(n, k, reader, profile.architectures); }},
              {"archMap", [&](const YamlNode& n, const std::string& k) { arch_map(n, k, reader, profile.arch_map); }},
              {"flags", flags},
              {"syscalls",
               [&](const YamlNode& n, const std::string& k) {
                 if (absent(n)) return;
                 reader.list(n, k, "a list of maps", [&](const YamlNode& item, const std::string& item_key) {
                   profile.rules.push_back(rule_of(item, item_key, reader));
                 });
               }}},
             {{"listenerPath", "sbpf passes no calls to a listener; remove it"},
              {"listenerMetadata", "sbpf passes no calls to a listener; remove it"}});
  if (tree->kind == YamlNode::Kind::map && !has_default)
    reader.error(*tree, "defaultAction",
                 {"missing_key", "the profile has no defaultAction", "add \"defaultAction\": \"SCMP_ACT_ERRNO\""});
  if (profile.default_errno && profile.default_action != SeccompAction::deny && diagnostics.empty())
    reader.error(*tree, "defaultErrnoRet",
                 {"contradiction", "defaultErrnoRet goes with SCMP_ACT_ERRNO only", "remove defaultErrnoRet"});
  if (!diagnostics.empty()) return tl::unexpected(std::move(diagnostics));
  return profile;
}

bool always_allows(const SeccompProfile& profile, std::string_view call) {
  const SeccompCondition none;
  return std::ranges::any_of(profile.rules, [&](const SeccompRule& rule) {
    return rule.action == SeccompAction::allow && rule.args.empty() && rule.includes == none && rule.excludes == none &&
           std::ranges::find(rule.names, call) != rule.names.end();
  });
}

}  // namespace sbpf::policy
