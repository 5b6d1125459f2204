// SPDX-License-Identifier: Apache-2.0
// `sbpf explain`: the kernel's decision, without the kernel.
#include <fmt/core.h>
#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/input.h"
#include "policy/filesystem.h"

namespace sbpf::cli {
namespace {

struct ExplainArgs {
  std::string policy, operation, object, access, protocol;
};

std::string place(const policy::Explanation& explanation) {
  if (!explanation.where) return "";
  const policy::Location& where = *explanation.where;
  return fmt::format("{}:{}:{}", where.file, where.line, where.column);
}

Json where_json(const policy::Explanation& answer) {
  if (!answer.where) return nullptr;
  return {{"file", answer.where->file}, {"line", answer.where->line}, {"column", answer.where->column}};
}

Json explanation_json(const ExplainArgs& args, const policy::NetQuery& query, const std::string& name,
                      const policy::Explanation& answer, const std::optional<NamePort>& host) {
  return {{"allowed", answer.allowed},
          {"audit_only", answer.audit_only},
          {"operation", args.operation},
          {"protocol", query.proto == SBPF_PROTO_UDP ? "udp" : "tcp"},
          {host ? "host" : "address", host ? host->name : policy::to_string(query.address)},
          {"port", host ? host->port : query.port},
          {"policy", name},
          {"rule", answer.rule},
          {"where", where_json(answer)},
          {"suggestion", answer.suggestion},
          {"narrowed", answer.narrowed ? Json(policy::to_string(*answer.narrowed)) : Json(nullptr)}};
}

std::string explanation_text(const ExplainArgs& args, const policy::NetQuery& query, const std::string& name,
                             const policy::Explanation& answer, const std::optional<NamePort>& host) {
  std::string text =
      fmt::format("{}{}{}{} under policy {}\n", answer.allowed ? "allowed: " : "denied: ", args.operation,
                  query.proto == SBPF_PROTO_UDP ? " udp " : " tcp ",
                  host ? args.object : to_string({query.address, query.port}), name);
  if (!answer.rule.empty())
    text += fmt::format("  rule: {}{}\n", answer.rule, answer.where ? "  (" + place(answer) + ")" : "");
  else if (!answer.allowed)
    text += "  rule: none covers it, and what no rule covers is denied\n";
  if (answer.narrowed)
    text += "  note: the socket is bound to " + to_string({*answer.narrowed, query.port}) +
            " instead, where the rule allows it\n";
  const bool relaxes = !host && policy::is_metadata(query);
  text += remedy_lines(relaxes ? "" : answer.suggestion, relaxes ? answer.suggestion : "");
  if (answer.audit_only) text += "  mode audit: a denial is logged, NOTHING is blocked\n";
  return printable(text, true);
}

// Where the path leads on this host. `last` follows its last component too: an open does, what changes an entry does
// not.
Result<std::string> resolve(const std::string& path, bool last) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path whole = fs::absolute(path, error).lexically_normal();
  if (!error && !whole.has_filename()) whole = whole.parent_path();  // a slash at the end
  const fs::path followed = error ? whole : fs::weakly_canonical(last ? whole : whole.parent_path(), error);
  if (error)
    return fail("usage", fmt::format("cannot find out where {} leads: {}", path, error.message()),
                "ask as a user who may look it up", error.value());
  return (last || !whole.has_filename() ? followed : followed / whole.filename()).string();
}

policy::FsPath components(const std::string& path) {
  policy::FsPath result = {{"", policy::FsInode{}}};
  for (const auto& name : std::filesystem::path(path).relative_path()) result.push_back({name.string(), std::nullopt});
  return result;
}

// Where the rules' paths lead on this host: what an attached sandbox is judged by.
Result<policy::FsView> host_view(const policy::Policy& policy) {
  policy::FsView view = policy::empty_view(policy);
  for (auto& [rule, paths] : view.paths) {
    paths.clear();
    for (const bool last : {true, false}) {
      auto path = resolve(rule, last);
      if (!path) return tl::unexpected<Error>(path.error());
      paths.push_back(components(*path));
    }
  }
  return view;
}

Json file_json(const ExplainArgs& args, const FileQuestion& question, const std::string& path, const std::string& name,
               const policy::Explanation& answer) {
  return {{"allowed", answer.allowed},
          {"audit_only", answer.audit_only},
          {"operation", args.operation},
          {"access", question.access},
          {"path", args.object},
          {"resolved_path", path},
          {"policy", name},
          {"rule", answer.rule},
          {"where", where_json(answer)},
          {"suggestion", answer.suggestion}};
}

std::string file_text(const ExplainArgs& args, const FileQuestion& question, const std::string& path,
                      const std::string& name, const policy::Explanation& answer) {
  std::string text =
      fmt::format("{}{} {}{} under policy {}\n", answer.allowed ? "allowed: " : "denied: ", args.operation,
                  printable(path), question.access.empty() ? "" : " " + question.access, name);
  if (path != args.object)
    text += fmt::format("  note: on this host {} is {}\n", printable(args.object), printable(path));
  if (answer.rule.empty())
    text += "  rule: none, the policy has no section filesystem" +
            std::string(args.operation == "exec" ? " or process.exec" : "") + ", so that this is not judged\n";
  else
    text += fmt::format("  rule: {}{}\n", answer.rule, answer.where ? "  (" + place(answer) + ")" : "");
  if (answer.rule.starts_with("filesystem.private"))
    text += "  note: in what `sbpf run` starts; attached cgroups have no such place\n";
  text += remedy_lines(answer.suggestion, "");
  if (answer.audit_only) text += "  mode audit: a denial is logged, NOTHING is blocked\n";
  return printable(text, true);
}

Result<int> explain_file(const ExplainArgs& args, const Session& session) {
  auto question = parse_file_question(args.operation, args.object, args.access);
  if (!question) return tl::unexpected<Error>(question.error());
  if (!args.protocol.empty()) return fail("usage", "--protocol goes with connect, bind and send", "leave it out");
  auto loaded = load_policy(args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  auto path = resolve(args.object, args.operation == "open" || args.operation == "exec");
  if (!path) return tl::unexpected<Error>(path.error());
  auto view = host_view(loaded->policy);
  if (!view) return tl::unexpected<Error>(view.error());
  const policy::Explanation answer = policy::explain_path(loaded->policy, *view, question->operation, *path);
  const std::string& name = loaded->policy.name;
  auto printed = print(session.json ? pretty(file_json(args, *question, *path, name, answer))
                                    : file_text(args, *question, *path, name, answer));
  if (!printed) return tl::unexpected<Error>(printed.error());
  return answer.allowed ? kExitOk : kExitDenied;
}

Result<int> explain(const ExplainArgs& args, const Session& session) {
  if (is_file_operation(args.operation)) return explain_file(args, session);
  if (!args.access.empty())
    return fail("usage", fmt::format("unexpected argument '{}'", args.access), "r, w and rw go with open");
  // Of a name, the policy says whether the resolver answers; which addresses it opens, nobody knows before.
  const auto host = args.operation == "bind" ? std::nullopt : parse_name_port(args.object);
  auto query = parse_question(args.operation, host ? "0.0.0.0:1" : args.object, args.protocol);
  if (!query) return tl::unexpected<Error>(query.error());
  auto loaded = load_policy(args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  const policy::Explanation answer = host ? policy::explain_host(loaded->policy, host->name, query->proto, host->port)
                                          : policy::explain(loaded->policy, loaded->image, *query);
  const std::string& name = loaded->policy.name;
  auto printed = print(session.json ? pretty(explanation_json(args, *query, name, answer, host))
                                    : explanation_text(args, *query, name, answer, host));
  if (!printed) return tl::unexpected<Error>(printed.error());
  return answer.allowed ? kExitOk : kExitDenied;
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  auto args = std::make_shared<ExplainArgs>();
  CLI::App* sub =
      app.add_subcommand("explain", "Show what a policy decides, by which rule, and what would change the decision");
  sub->add_option("OPERATION", args->operation, "connect, bind, send, open, create, delete, rename or exec")
      ->required();
  sub->add_option("OBJECT", args->object, "ADDRESS:PORT, [V6-ADDRESS]:PORT, NAME:PORT or a path")->required();
  sub->add_option("ACCESS", args->access, "For open: r, w or rw (default: r)");
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file")->type_name("POLICY")->required();
  sub->add_option("--protocol", args->protocol, "tcp or udp (default: udp for send, else tcp)")->type_name("PROTOCOL");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer(
      "Examples:\n  sbpf explain --policy ./task.yaml connect 192.0.2.1:443\n"
      "  sbpf explain --policy ./task.yaml connect packages.example.org:443\n"
      "  sbpf explain --policy ./task.yaml bind [::1]:8000\n"
      "  sbpf explain --policy ./task.yaml open /workspace/notes rw\n"
      "  sbpf explain --policy ./task.yaml rename /workspace/tests\n"
      "  sbpf explain --policy ./task.yaml exec /usr/bin/env\n\n"
      "Endpoints are decided by the code that the kernel runs; names by their patterns; paths by the nearest rule, "
      "with symbolic links followed "
      "as\n"
      "this host has them now. Exit code 0: allowed, 1: denied, 2: bad input.");
  sub->callback([args, &session] { session.action = [args, &session] { return explain(*args, session); }; });
}

}  // namespace sbpf::cli
