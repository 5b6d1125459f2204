// SPDX-License-Identifier: Apache-2.0
// `sbpf policy`: check, show, schema, seccomp, list.
#include "policy/policy.h"

#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "agent/launch/seccomp_ready.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/format.h"
#include "policy/lint.h"
#include "policy/seccomp.h"

namespace sbpf::cli {
namespace {

// Here a word that is a file is that file: `policy check task` next to a file `task` means it.
std::string as_file(const std::string& argument) {
  std::error_code ignored;
  const bool bare = argument.find('/') == std::string::npos;
  return bare && std::filesystem::is_regular_file(argument, ignored) ? "./" + argument : argument;
}

tl::expected<LoadedPolicy, PolicyError> check_one(const std::string& file) {
  auto loaded = read_policy(as_file(file));
  if (!loaded) return loaded;
  const policy::Launch& launch = loaded->policy.launch;
  if (auto filters = agent::seccomp_filters(launch.seccomp, launch.capabilities); !filters)
    return tl::unexpected<PolicyError>(PolicyError{filters.error(), {}});
  return loaded;
}

std::string checked_text(const std::string& file, const LoadedPolicy& loaded) {
  std::string text = fmt::format("{}: ok: policy {}, {} rules, mode {}, sha256 {}\n", printable(file),
                                 loaded.policy.name, loaded.image.header().n_rules,
                                 policy::to_string(loaded.policy.mode), policy::hex(policy::sha256(loaded.policy)));
  for (const policy::Advice& one : policy::lint(loaded.policy))
    text += fmt::format("{}: warning: {}: {}\n  hint: {}\n", printable(file), one.key, one.message, one.hint);
  return text;
}

// Of an error that is none of the text, the place and the key are null.
Json fault_json(const policy::Diagnostic& fault) {
  const auto in_text = [&](const Json& value) { return fault.where.line > 0 ? value : Json(); };
  return {{"file", in_text(printable(fault.where.file))},
          {"line", in_text(fault.where.line)},
          {"column", in_text(fault.where.column)},
          {"path", in_text(printable(fault.key))},
          {"code", fault.code},
          {"message", printable(fault.message)},
          {"hint", printable(fault.hint)}};
}

// Each fault by itself; there is always one.
Json faults_json(const PolicyError& failed) {
  const Error& error = failed.error;
  if (failed.faults.empty()) return Json::array({fault_json({{}, error.code.str(), "", error.message, error.hint})});
  Json list = Json::array();
  for (const policy::Diagnostic& fault : failed.faults) list.push_back(fault_json(fault));
  return list;
}

Json checked_json(const std::string& file, const tl::expected<LoadedPolicy, PolicyError>& loaded) {
  if (!loaded) {
    Json failed = {{"file", file}, {"valid", false}};
    failed.update(Json::parse(error_json(loaded.error().error)));
    failed["errors"] = faults_json(loaded.error());
    return failed;
  }
  Json warnings = Json::array();
  for (const policy::Advice& one : policy::lint(loaded->policy))
    warnings.push_back({{"path", one.key}, {"message", one.message}, {"hint", one.hint}});
  return {{"file", file},
          {"valid", true},
          {"name", loaded->policy.name},
          {"rules", loaded->image.header().n_rules},
          {"mode", std::string(policy::to_string(loaded->policy.mode))},
          {"sha256", policy::hex(policy::sha256(loaded->policy))},
          {"warnings", warnings}};
}

Result<int> check_for_programs(const std::vector<std::string>& files) {
  Json list = Json::array();
  int answer = kExitOk;
  for (const std::string& file : files) {
    auto checked = check_one(file);
    if (!checked) answer = kExitUsage;
    list.push_back(checked_json(file, checked));
  }
  if (auto printed = print(pretty({{"policies", list}})); !printed) return tl::unexpected<Error>(printed.error());
  return answer;
}

// All files are checked; the last error is left to main, which tells it.
Result<int> check(const std::vector<std::string>& files, const Session& session) {
  if (session.json) return check_for_programs(files);
  std::optional<Error> failed;
  for (const std::string& file : files) {
    auto checked = check_one(file);
    if (checked) {
      if (auto printed = print(checked_text(file, *checked)); !printed) return tl::unexpected<Error>(printed.error());
      continue;
    }
    if (failed) report(*failed, session);
    failed = checked.error().error;
  }
  if (failed) return tl::unexpected<Error>(*failed);
  return kExitOk;
}

Result<int> show(const std::string& reference) {
  auto loaded = load_policy(reference);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  const std::string hash = policy::hex(policy::sha256(loaded->policy));
  auto printed = print(fmt::format("{}# sha256: {}\n", policy::canonical(loaded->policy), hash));
  if (!printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

Result<int> schema() {
  std::string text = policy::json_schema();
  if (!text.ends_with('\n')) text += '\n';
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

// A built-in profile, or one from a file as it is understood: what is printed compiles to the same filter.
Result<int> seccomp(const std::string& which) {
  policy::Seccomp choice;
  if (which == "strict") choice.kind = policy::SeccompKind::builtin_strict;
  std::string text = policy::built_in_seccomp(which).value_or("");
  if (text.empty()) {
    const auto read = read_up_to(which, policy::kMaxTextBytes + 1);
    if (!read)
      return fail("usage", fmt::format("cannot read {}", which), "name default, strict, or a file with an OCI profile");
    text = *read;
    choice = {policy::SeccompKind::file, printable(which), "", text, {}};  // the path is for messages
  }
  auto filters = agent::compile_seccomp(choice, {});
  if (!filters) return tl::unexpected<Error>(filters.error());
  if (auto printed = print(policy::oci_json(policy::parse_seccomp(text, which).value())); !printed)
    return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

Result<int> list_policies() {
  std::vector<std::string> names = policy::built_in_profile_names();
  for (const std::string& name : installed_policy_names())
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);  // else it cannot be reached by name
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (const std::string& name : names)
    text += printable(name) + std::string(width - name.size() + 2, ' ') + printable(policy_origin(name)) + "\n";
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  return kExitOk;
}

}  // namespace

void add_policy(CLI::App& app, Session& session) {
  CLI::App* sub = app.add_subcommand("policy", "Check, show and list policies");
  sub->require_subcommand(1);
  sub->footer(
      "Examples:\n  sbpf policy check task.yaml\n  sbpf policy show python-dev\n"
      "  sbpf policy schema > sbpf-policy.schema.json\n\n"
      "POLICY is a built-in profile, the NAME of an installed one (/etc/sbpf/policies/NAME.yaml), or a path.");

  auto files = std::make_shared<std::vector<std::string>>();
  CLI::App* sub_check =
      sub->add_subcommand("check", "Report all errors of policies; the exit code is 2 if there are any");
  sub_check->add_option("FILE", *files, "Policies")->required();
  sub_check->add_flag("--json", session.json,
                      "Print JSON: each policy with warnings, or its errors with line, column and key");
  sub_check->footer("Example:\n  sbpf policy check policies/*.yaml");
  sub_check->callback([files, &session] { session.action = [files, &session] { return check(*files, session); }; });

  auto reference = std::make_shared<std::string>();
  CLI::App* sub_show =
      sub->add_subcommand("show", "Print a policy as sbpf understands it: merged, sorted, with its hash");
  sub_show->add_option("POLICY", *reference, "A profile's name or a file")->required();
  sub_show->footer("Example:\n  diff <(sbpf policy show a.yaml) <(sbpf policy show b.yaml)");
  sub_show->callback([reference, &session] { session.action = [reference] { return show(*reference); }; });

  sub->add_subcommand("schema", "Print the JSON Schema of a policy, for editors")->callback([&session] {
    session.action = schema;
  });
  auto profile = std::make_shared<std::string>("default");
  CLI::App* sub_seccomp = sub->add_subcommand("seccomp", "Print a seccomp profile in the format of OCI runtimes");
  sub_seccomp->add_option("PROFILE", *profile, "default, strict, or a file, which is checked (default: default)");
  sub_seccomp->footer(
      "Example:\n  sbpf policy seccomp strict > /etc/sbpf/task.json   to be edited, and named\n"
      "                                                     in process.seccomp\n"
      "  docker run --security-opt seccomp=<(sbpf policy seccomp) …");
  sub_seccomp->callback([profile, &session] { session.action = [profile] { return seccomp(*profile); }; });

  sub->add_subcommand("list", "List the policies that can be named, and where they are")->callback([&session] {
    session.action = list_policies;
  });
}

}  // namespace sbpf::cli
