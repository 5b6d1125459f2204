// SPDX-License-Identifier: Apache-2.0
#include "policy/advice.h"

#include "policy/seccomp.h"

namespace sbpf::policy {
namespace {

// What `ask` suggests of the policy, where it says of the policy with that over it that it is allowed.
template <typename Ask>
std::string advised(const Policy& policy, const Ask& ask) {
  std::string change = ask(policy).suggestion;
  const auto changed = change.empty() ? std::nullopt : with_change(policy, change);
  return changed && ask(*changed).allowed ? change : "";
}

}  // namespace

std::optional<Policy> with_change(const Policy& policy, const std::string& change) {
  const auto base = [&policy](std::string_view) { return std::optional(canonical(policy)); };
  auto changed = parse("version: 1\nname: changed\nextends: [base]\n" + change + "\n", "the change", base);
  if (!changed) return std::nullopt;
  changed->name = policy.name;
  return std::move(*changed);
}

std::string advice(const Policy& policy, const NetQuery& query) {
  return advised(policy, [&query](const Policy& asked) {
    const auto image = compile_rules(asked, 1, empty_view(asked));
    return image ? explain(asked, *image, query) : Explanation{};
  });
}

std::string advice(const Policy& policy, const std::string& host, sbpf_proto proto, std::uint16_t port) {
  return advised(policy, [&](const Policy& asked) { return explain_host(asked, host, proto, port); });
}

std::string advice_for_call(const Policy& policy, std::string_view call) {
  if (policy.launch.seccomp.kind != SeccompKind::builtin_strict) return "";
  const std::string name{to_string(SeccompKind::builtin_default)};
  // Read once: a sandbox decides how often it is asked.
  static const auto wider = parse_seccomp(built_in_seccomp(name).value_or(""), name);
  return wider && always_allows(*wider, call) ? "process: {seccomp: " + name + "}" : "";
}

std::string advice(const Policy& policy, FsOperation operation, std::string_view path) {
  std::string change = advised(policy, [&](const Policy& asked) { return explain_path(asked, operation, path); });
  if (!change.empty()) return change;
  // Where the sandbox has no private places, theirs are denied.
  return advised(policy, [&](const Policy& asked) {
    FsView view = empty_view(asked);
    view.private_places.clear();
    return explain_path(asked, view, operation, path);
  });
}

}  // namespace sbpf::policy
