// SPDX-License-Identifier: Apache-2.0
// Status and preflight; events are in format_event.cpp.
#include "cli/format.h"

#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/utf8.h"
#include "cli/common.h"

namespace sbpf::cli {
namespace {

// A hook that is attached but let its canary through protects nothing.
bool holds(const agent::HookStatus& hook) { return hook.attached && hook.canary != "not denied"; }

std::size_t hooks_confirmed(const agent::Status& status) {
  return static_cast<std::size_t>(std::ranges::count_if(status.hooks, holds));
}

std::string missing_reason(const agent::HookStatus& hook) {
  if (!hook.reason.empty()) return hook.reason;
  return hook.attached ? "a canary was not denied" : "not attached";
}

Json hook_json(const agent::HookStatus& status) {
  const auto kind = status.hook->kind;
  const char* kind_name = kind == agent::HookKind::lsm ? "lsm" : kind == agent::HookKind::trace ? "trace" : "cgroup";
  Json json = {{"name", status.hook->name},   {"kind", kind_name},         {"prog_id", status.prog_id},
               {"prog_tag", status.prog_tag}, {"link_id", status.link_id}, {"attached", status.attached},
               {"canary", status.canary}};
  if (!holds(status)) json["reason"] = missing_reason(status);
  return json;
}

// By the hook table, not by what the status happens to list: a domain without hooks is "none", never left out.
Json effective_json(const agent::Status& status) {
  const char* all = status.mode == policy::Mode::audit ? "audit" : "enforced";
  Json effective = Json::object();
  std::map<std::string, std::size_t> wanted, held;
  for (const agent::Hook& hook : agent::hooks_of(status.flags)) {
    wanted[agent::domain_name(hook.domain)]++;
    effective[agent::domain_name(hook.domain)]["hooks"] = Json::array();
  }
  for (const agent::HookStatus& hook : status.hooks) {
    if (hook.hook == nullptr) continue;
    const std::string domain = agent::domain_name(hook.hook->domain);
    held[domain] += holds(hook) ? 1 : 0;
    effective[domain]["hooks"].push_back(hook_json(hook));
  }
  for (const auto& [domain, n] : wanted) {
    Json with_level = {{"level", held[domain] == n ? all : held[domain] == 0 ? "none" : "degraded"}};
    with_level.update(effective[domain]);
    effective[domain] = with_level;
  }
  return effective;
}

Json requested_json(const agent::Status& status) {
  Json requested = Json::object();
  for (const agent::Hook& hook : agent::hooks_of(status.flags))
    requested[agent::domain_name(hook.domain)] = status.mode == policy::Mode::audit ? "audit" : "enforced";
  return requested;
}

using Row = std::vector<std::string>;

std::string align(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); i++) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t i = 0; i + 1 < row.size(); i++) text += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    text += row.back() + "\n";
  }
  return text;
}

// What stands beneath the table for one sandbox; empty when there is nothing to say.
std::string details(const agent::Status& status) {
  std::string text;
  for (const agent::HookStatus& hook : status.hooks)
    if (hook.hook != nullptr && !holds(hook))
      text += fmt::format("  missing hook {} ({}): {}\n", hook.hook->name, agent::domain_name(hook.hook->domain),
                          missing_reason(hook));
  if (status.hooks.size() < agent::hooks_of(status.flags).size())
    text += "  " + std::to_string(agent::hooks_of(status.flags).size() - status.hooks.size()) +
            " hooks were not found at all\n";
  const auto is_hook = [&status](const agent::Degradation& d) {  // said above, as a missing hook
    return std::ranges::any_of(agent::hooks_of(status.flags),
                               [&](const agent::Hook& hook) { return d.what == hook.name; });
  };
  for (const agent::Degradation& d : status.degraded)
    if (!is_hook(d))
      text +=
          fmt::format("  degraded {}: requested {}, effective {}: {}\n", d.what, d.requested, d.effective, d.reason);
  if (status.frozen) text += "  frozen: no process of it runs\n";
  if (status.kept && status.processes == 0 && !status.cgroup.empty())
    text += "  empty: what starts in its cgroup next is confined\n";
  if (status.loopback == "closed") text += fmt::format("  {}\n", kLoopbackClosed);
  if (status.lost_full + status.lost_rate > 0)
    text += fmt::format("  events lost: {} (ring full), {} (rate limit); verdicts are not affected\n", status.lost_full,
                        status.lost_rate);
  return text.empty() ? text : status.sandbox + ":\n" + text;
}

}  // namespace

Json denied_json(const agent::Status& status) {
  Json denied = Json::object();
  for (const agent::Hook& hook : agent::hooks_of(status.flags))
    if (const std::uint64_t n = status.denied.at(static_cast<std::size_t>(hook.id)); n > 0) denied[hook.name] = n;
  if (const std::uint64_t n = status.denied.at(SBPF_DENIED_BY_SECCOMP); n > 0) denied["seccomp"] = n;
  return denied;
}

std::uint64_t denials(const agent::Status& status) {
  return std::accumulate(status.denied.begin(), status.denied.end(), std::uint64_t{0});
}

std::string hook_count(const agent::Status& status) {
  return std::to_string(hooks_confirmed(status)) + "/" + std::to_string(agent::hooks_of(status.flags).size());
}

std::string isolation_word(const agent::Status& status) {
  if (status.isolation == agent::Isolation::inactive) return "INACTIVE";
  if (status.mode == policy::Mode::audit) return "AUDIT ONLY";
  return is_active(status) ? "active" : "DEGRADED";
}

std::string dump(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

std::string pretty(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n"; }

namespace {

// Of those that a terminal acts on, or that put a text in another order than it has. C1 controls are ESC sequences to
// some.
bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text, bool keep_newlines) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string safe;
  for (std::size_t i = 0; i < text.size();) {
    const Utf8 one = utf8_at(text, i);
    const std::size_t end = i + std::max<std::size_t>(one.bytes, 1);
    const bool as_it_is = one.bytes > 0 && (!is_control(one.character) || (keep_newlines && text[i] == '\n'));
    for (; i < end; i++) {
      const auto c = static_cast<unsigned char>(text[i]);
      if (as_it_is)
        safe += text[i];
      else
        safe.append("\\x").append({kDigits[c >> 4], kDigits[c & 15u]});
    }
  }
  return safe;
}

bool is_active(const agent::Status& status) {
  return status.isolation == agent::Isolation::active && status.mode == policy::Mode::enforce &&
         hooks_confirmed(status) == agent::hooks_of(status.flags).size();
}

std::string headline(const agent::Status& status) {
  std::string what = "isolation " + isolation_word(status) + " (";
  if (status.mode == policy::Mode::audit && status.isolation != agent::Isolation::inactive)
    what = "AUDIT ONLY, nothing is blocked (";
  return fmt::format("{}{} hooks) policy={} cgroup={}", what, hook_count(status), status.policy_name,
                     status.cgroup.empty() ? "gone" : printable(status.cgroup));
}

// Beneath the headline: what it ended, and what the policy says that is not there.
std::string change_text(const agent::Status& status) {
  std::string text;
  for (const std::string& one : status.ended) text += "  ended " + printable(one) + "\n";
  if (status.loopback == "closed") text += fmt::format("  {}\n", kLoopbackClosed);
  return text;
}

std::string headline(const Json& of_service) {
  const std::string what =
      of_service.value("isolation_active", false) ? "isolation active (" : "AUDIT ONLY, nothing is blocked (";
  return fmt::format("{}{}/{} hooks) policy={} cgroup={}", what, of_service.value("hooks_attached", 0),
                     of_service.value("hooks_total", 0), of_service.value("policy", Json::object()).value("name", ""),
                     of_service.value("cgroup", ""));
}

Result<int> print_change(const agent::Status& status, bool json, bool accept_degraded) {
  const std::string text =
      json ? pretty(status_json(status))
           : fmt::format("{}: {}\n{}", printable(status.sandbox), headline(status), change_text(status));
  if (auto printed = print(text); !printed) return tl::unexpected<Error>(printed.error());
  const bool audit =
      status.mode == policy::Mode::audit && hooks_confirmed(status) == agent::hooks_of(status.flags).size();
  return is_active(status) || audit || accept_degraded ? kExitOk : kExitLess;
}

Json status_json(const agent::Status& status) {
  Json degraded = Json::array();
  for (const agent::Degradation& d : status.degraded)
    degraded.push_back(
        {{"what", d.what}, {"requested", d.requested}, {"effective", d.effective}, {"reason", d.reason}});
  const bool says_active = status.isolation == agent::Isolation::active;
  return {{"sandbox", status.sandbox},
          {"cgroup", status.cgroup},
          {"cgroup_id", status.cgroup_id},
          {"instance", status.instance},
          {"isolation", says_active && !is_active(status) ? "degraded" : agent::to_string(status.isolation)},
          {"isolation_active", is_active(status)},
          {"mode", std::string(policy::to_string(status.mode))},
          {"on_loss", std::string(policy::to_string(status.on_loss))},
          {"loopback", status.loopback},
          {"hooks_attached", status.hooks_attached()},
          {"hooks_total", agent::hooks_of(status.flags).size()},
          {"requested", requested_json(status)},
          {"effective", effective_json(status)},
          {"degraded", degraded},
          {"ended", status.ended},
          {"runtime", "host"},
          {"policy",
           {{"name", status.policy_name},
            {"sha256", status.policy_sha256},
            {"generation", status.generation},
            {"rules", status.n_rules}}},
          {"attached", status.attached_cgroup},
          {"kept", status.kept},
          {"processes", status.processes},
          {"frozen", status.frozen},
          {"denials", denials(status)},
          {"denied", denied_json(status)},
          {"events", status.events},
          {"repeated_events", status.repeated},
          {"lost_events", {{"ring_full", status.lost_full}, {"rate_limit", status.lost_rate}}}};
}

Json short_status_json(const agent::Status& status) { return short_status_json(status_json(status)); }

Json short_status_json(const Json& whole) {
  Json brief = Json::object();
  for (const char* key :
       {"sandbox", "isolation", "isolation_active", "mode", "cgroup", "processes", "frozen", "denials"})
    brief[key] = whole.value(key, Json());
  brief["policy"] = text_in(whole.value("policy", Json::object()), "name");
  brief["reasons"] = Json::array();
  for (const Json& one : whole.value("degraded", Json::array()))
    brief["reasons"].push_back(fmt::format("{}: {}", text_in(one, "what"), text_in(one, "reason")));
  return brief;
}

std::string short_status(const agent::Status& status) {
  std::string text = fmt::format("{} {}", printable(status.sandbox), isolation_word(status));
  for (const agent::Degradation& d : status.degraded)
    text += fmt::format("; {}: {}", printable(d.what), printable(d.reason));
  return text + "\n";
}

std::string status_table(std::span<const agent::Status> statuses) {
  std::vector<Row> rows = {{"SANDBOX", "ISOLATION", "HOOKS", "POLICY", "GENERATION", "PROCESSES", "DENIALS", "CGROUP"}};
  std::string below;
  for (const agent::Status& status : statuses) {
    rows.push_back({printable(status.sandbox), isolation_word(status), hook_count(status), status.policy_name,
                    std::to_string(status.generation), std::to_string(status.processes),
                    std::to_string(denials(status)), status.cgroup.empty() ? "gone" : printable(status.cgroup)});
    below += details(status);
  }
  return align(rows) + (below.empty() ? "" : "\n" + printable(below, true));
}

// ---- preflight -------------------------------------------------------------------------------------------------

Json preflight_json(const agent::Preflight& preflight) {
  Json domains = Json::object();
  for (const char* name : {"filesystem", "network", "process", "guard"}) {
    const agent::Check* shown = nullptr;  // the first that failed, or the last that proved the domain
    for (const agent::Check& check : preflight.checks)
      if ((check.domain == name || check.domain == "all") && (shown == nullptr || shown->ok)) shown = &check;
    domains[name] = {{"ok", shown != nullptr && shown->ok},
                     {"probe", shown ? shown->probe : ""},
                     {"reason", shown ? shown->reason : "nothing was probed"},
                     {"fix", shown ? shown->fix : ""}};
  }
  Json checks = Json::array();
  for (const agent::Check& c : preflight.checks)
    checks.push_back({{"name", c.name},
                      {"domain", c.domain},
                      {"ok", c.ok},
                      {"probe", c.probe},
                      {"reason", c.reason},
                      {"fix", c.fix}});
  return {{"kernel", preflight.kernel}, {"ok", preflight.ok()}, {"domains", domains}, {"checks", checks}};
}

std::string preflight_text(const agent::Preflight& preflight) {
  std::vector<Row> rows = {{"CHECK", "DOMAIN", "RESULT", "PROBE"}};
  std::string failed;
  for (const agent::Check& check : preflight.checks) {
    rows.push_back({check.name, check.domain, check.ok ? "ok" : "FAILED", check.probe});
    if (!check.ok) failed += fmt::format("{}: {}\n  fix: {}\n", check.name, check.reason, check.fix);
  }
  return fmt::format("kernel {}\n\n{}{}{}", preflight.kernel, align(rows), failed.empty() ? "" : "\n" + failed,
                     preflight.ok() ? "\nThis host can enforce everything.\n"
                                    : "\nNot everything can be enforced here: `sbpf run` would refuse.\n");
}

}  // namespace sbpf::cli
