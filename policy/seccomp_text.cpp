// SPDX-License-Identifier: Apache-2.0
// SeccompProfile -> OCI JSON.
#include <algorithm>

#include "policy/seccomp.h"

namespace sbpf::policy {
namespace {

constexpr std::size_t kWidth = 100;

std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    constexpr char kHex[] = "0123456789abcdef";
    auto byte = static_cast<unsigned char>(text[i]);
    // What the reader takes only as escapes: control characters, U+0080 to U+009f among them, and two that are none.
    const bool c1 = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c1) byte = static_cast<unsigned char>(text[++i]);
    if (c1 || byte < 0x20 || byte == 0x7f) {
      json += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 0xf]};
    } else if (text.substr(i, 3) == "\xef\xbf\xbe" || text.substr(i, 3) == "\xef\xbf\xbf") {
      json += text[i + 2] == '\xbe' ? "\\ufffe" : "\\uffff";
      i += 2;
    } else if (byte == '"' || byte == '\\') {
      json += {'\\', text[i]};
    } else {
      json += text[i];
    }
  }
  return json + "\"";
}

// On as many lines as it takes.
std::string list_text(const std::vector<std::string>& names, const std::string& indent) {
  std::string text = "[", line;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = json_text(names[i]) + (i + 1 < names.size() ? "," : "");
    if (line.size() + name.size() + 1 > kWidth) {
      text += "\n" + indent + line;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + name;
  }
  if (text == "[") return "[" + line + "]";
  return text + "\n" + indent + line + "]";
}

std::string args_text(const std::vector<SeccompArg>& args) {
  std::string text;
  for (const SeccompArg& arg : args) {
    text += (text.empty() ? "" : ", ") + std::string("{\"index\": ") + std::to_string(arg.index) +
            ", \"value\": " + std::to_string(arg.value) + ", \"valueTwo\": " + std::to_string(arg.value_two) +
            ", \"op\": \"" + std::string(to_string(arg.op)) + "\"}";
  }
  return "[" + text + "]";
}

std::string condition_text(const SeccompCondition& condition) {
  std::string text;
  const auto add = [&](const char* key, const std::string& value) {
    text += (text.empty() ? "" : ", ") + std::string("\"") + key + "\": " + value;
  };
  std::vector<std::string> caps;
  for (const unsigned cap : condition.caps) caps.push_back("CAP_" + capability_name(cap));
  if (!caps.empty()) add("caps", list_text(caps, "        "));
  if (!condition.arches.empty()) add("arches", list_text(condition.arches, "        "));
  if (condition.min_kernel)
    add("minKernel",
        "\"" + std::to_string(condition.min_kernel->first) + "." + std::to_string(condition.min_kernel->second) + "\"");
  return "{" + text + "}";
}

std::string rule_text(const SeccompRule& rule) {
  std::string text = "    {";
  const auto add = [&](const char* key, const std::string& value) {
    text += (text.back() == '{' ? "\n      \"" : ",\n      \"") + std::string(key) + "\": " + value;
  };
  if (!rule.comment.empty()) add("comment", json_text(rule.comment));
  add("names", list_text(rule.names, "        "));
  add("action", json_text(to_string(rule.action)));
  if (rule.errno_ret) add("errnoRet", std::to_string(*rule.errno_ret));
  if (!rule.args.empty()) add("args", args_text(rule.args));
  if (rule.includes != SeccompCondition{}) add("includes", condition_text(rule.includes));
  if (rule.excludes != SeccompCondition{}) add("excludes", condition_text(rule.excludes));
  return text + "\n    }";
}

}  // namespace

std::string_view to_string(SeccompAction action) {
  switch (action) {
    case SeccompAction::allow:
      return "SCMP_ACT_ALLOW";
    case SeccompAction::log:
      return "SCMP_ACT_LOG";
    case SeccompAction::deny:
      return "SCMP_ACT_ERRNO";
    case SeccompAction::trap:
      return "SCMP_ACT_TRAP";
    case SeccompAction::kill_thread:
      return "SCMP_ACT_KILL_THREAD";
    case SeccompAction::kill_process:
      return "SCMP_ACT_KILL_PROCESS";
  }
  return "";
}

std::string_view to_string(SeccompOp op) {
  switch (op) {
    case SeccompOp::ne:
      return "SCMP_CMP_NE";
    case SeccompOp::lt:
      return "SCMP_CMP_LT";
    case SeccompOp::le:
      return "SCMP_CMP_LE";
    case SeccompOp::eq:
      return "SCMP_CMP_EQ";
    case SeccompOp::ge:
      return "SCMP_CMP_GE";
    case SeccompOp::gt:
      return "SCMP_CMP_GT";
    case SeccompOp::masked_eq:
      return "SCMP_CMP_MASKED_EQ";
  }
  return "";
}

std::string oci_json(const SeccompProfile& profile) {
  std::string text = "{\n  \"defaultAction\": " + json_text(to_string(profile.default_action));
  if (profile.default_errno) text += ",\n  \"defaultErrnoRet\": " + std::to_string(*profile.default_errno);
  if (!profile.architectures.empty()) text += ",\n  \"architectures\": " + list_text(profile.architectures, "    ");
  std::string map;
  for (const SeccompArch& arch : profile.arch_map)
    map += (map.empty() ? "\n    " : ",\n    ") + std::string("{\"architecture\": ") + json_text(arch.name) +
           ", \"subArchitectures\": " + list_text(arch.sub, "      ") + "}";
  if (!map.empty()) text += ",\n  \"archMap\": [" + map + "\n  ]";
  std::string rules;
  for (const SeccompRule& rule : profile.rules) rules += (rules.empty() ? "\n" : ",\n") + rule_text(rule);
  return text + ",\n  \"syscalls\": [" + rules + (rules.empty() ? "" : "\n  ") + "]\n}\n";
}

}  // namespace sbpf::policy
