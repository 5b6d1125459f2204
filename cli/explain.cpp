// SPDX-License-Identifier: Apache-2.0
// `sbpf explain`: the kernel's decision, without the kernel.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

struct ExplainArgs {
  std::string policy, operation, endpoint, protocol;
};

std::string place(const policy::Explanation& explanation) {
  if (!explanation.where) return "";
  return explanation.where->file + ":" + std::to_string(explanation.where->line);
}

Json explanation_json(const ExplainArgs& args, const policy::NetQuery& query, const std::string& name,
                      const policy::Explanation& answer) {
  Json where = nullptr;
  if (answer.where)
    where = {{"file", answer.where->file}, {"line", answer.where->line}, {"column", answer.where->column}};
  return {{"allowed", answer.allowed},
          {"audit_only", answer.audit_only},
          {"operation", args.operation},
          {"protocol", query.proto == SBPF_PROTO_UDP ? "udp" : "tcp"},
          {"address", policy::to_string(query.address)},
          {"port", query.port},
          {"policy", name},
          {"rule", answer.rule},
          {"where", where},
          {"suggestion", answer.suggestion}};
}

std::string explanation_text(const ExplainArgs& args, const policy::NetQuery& query, const std::string& name,
                             const policy::Explanation& answer) {
  std::string text = (answer.allowed ? "allowed: " : "denied: ") + args.operation +
                     (query.proto == SBPF_PROTO_UDP ? " udp " : " tcp ") + to_string({query.address, query.port}) +
                     " under policy " + name + "\n";
  if (!answer.rule.empty())
    text += "  rule: " + answer.rule + (answer.where ? "  (" + place(answer) + ")" : "") + "\n";
  else if (!answer.allowed)
    text += "  rule: none covers it, and what no rule covers is denied\n";
  if (!answer.suggestion.empty()) text += "  allow with: " + answer.suggestion + "\n";
  if (answer.audit_only) text += "  mode audit: a denial is logged, NOTHING is blocked\n";
  return printable(text, true);
}

Result<int> explain(const ExplainArgs& args, const Session& session) {
  auto query = parse_question(args.operation, args.endpoint, args.protocol);
  if (!query) return tl::unexpected<Error>(query.error());
  auto loaded = load_policy(args.policy);
  if (!loaded) return tl::unexpected<Error>(loaded.error());
  const policy::Explanation answer = policy::explain(loaded->policy, loaded->image, *query);
  const std::string& name = loaded->policy.name;
  auto printed = print(session.json ? pretty(explanation_json(args, *query, name, answer))
                                    : explanation_text(args, *query, name, answer));
  if (!printed) return tl::unexpected<Error>(printed.error());
  return answer.allowed ? kExitOk : kExitDenied;
}

}  // namespace

void add_explain(CLI::App& app, Session& session) {
  auto args = std::make_shared<ExplainArgs>();
  CLI::App* sub = app.add_subcommand("explain", "Say what a policy decides, which rule, and what would change it");
  sub->add_option("OPERATION", args->operation, "connect, bind or send")->required();
  sub->add_option("ENDPOINT", args->endpoint, "ADDRESS:PORT or [V6-ADDRESS]:PORT")->required();
  sub->add_option("-p,--policy", args->policy, "Policy: a profile's name or a file")->type_name("POLICY")->required();
  sub->add_option("--protocol", args->protocol, "tcp or udp (default: udp for send, else tcp)")->type_name("PROTOCOL");
  sub->add_flag("--json", session.json, "Print JSON");
  sub->footer(
      "Examples:\n  sbpf explain --policy ./task.yaml connect 192.0.2.1:443\n"
      "  sbpf explain --policy ./task.yaml bind [::1]:8000\n\n"
      "Decided by the code that the kernel runs. Exit code 0: allowed, 1: denied, 2: bad input.");
  sub->callback([args, &session] { session.action = [args, &session] { return explain(*args, session); }; });
}

}  // namespace sbpf::cli
