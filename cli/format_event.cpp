// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/core.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/format.h"

namespace sbpf::cli {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::string comm_of(const sbpf_event& event) { return {event.comm, ::strnlen(event.comm, sizeof event.comm)}; }

// Types of sockets, not of addresses: protocol 0 is the type's default.
std::string protocol_name(const sbpf_event_net& net) {
  if (net.family == AF_UNIX) return "unix";
  switch (net.protocol) {
    case 0:
      return net.type == SOCK_STREAM ? "tcp" : net.type == SOCK_DGRAM ? "udp" : "0";
    case IPPROTO_TCP:
      return "tcp";
    case IPPROTO_UDP:
      return "udp";
    case IPPROTO_ICMP:
      return "icmp";
    case IPPROTO_ICMPV6:
      return "icmpv6";
    case IPPROTO_SCTP:
      return "sctp";
    default:
      return std::to_string(net.protocol);
  }
}

// Only the fields that mean something for the reason: a zero address is not "no address" to a reader.
void add_network(Json& json, const sbpf_event& event) {
  json["family"] = event.net.family;
  json["type"] = event.net.type;
  json["protocol"] = protocol_name(event.net);
  if (event.reason == SBPF_REASON_NO_RULE) {
    policy::Address address;
    std::copy(std::begin(event.net.addr), std::end(event.net.addr), address.begin());
    json["address"] = policy::to_string(address);
    json["port"] = event.net.port;
  }
  if (event.reason == SBPF_REASON_SOCKET_OPTION) {
    json["level"] = event.net.level;
    json["option"] = event.net.option;
  }
}

void add_name(Json& json, const agent::Event& event) {
  json["name"] = event.name;
  json["type"] = event.raw.net.level;  // of DNS
  if (event.raw.net.option == 0) return;
  policy::Address address;
  std::copy(std::begin(event.raw.net.addr), std::end(event.raw.net.addr), address.begin());
  json["address"] = policy::to_string(address);
  json["addresses"] = event.raw.net.option;
}

void add_flow(Json& json, const agent::Event& event) {
  policy::Address address;
  std::copy(std::begin(event.raw.net.addr), std::end(event.raw.net.addr), address.begin());
  json["protocol"] = protocol_name(event.raw.net);
  json["address"] = policy::to_string(address);
  json["port"] = event.raw.net.port;
  json["flow"] = event.flow;
  if (event.local_port != 0) json["local_port"] = event.local_port;
  if (!event.name.empty()) json["name"] = event.name;
  if (!event.exe.empty()) json["exe"] = event.exe;
  if (event.raw.reason != SBPF_REASON_FLOW_ENDED) return;
  json["sent"] = event.sent;
  json["received"] = event.received;
}

void add_task(Json& json, const sbpf_event& event) {
  switch (event.hook) {
    case SBPF_HOOK_capable:
      json["capability"] = event.task.detail;
      return;
    case SBPF_HOOK_bpf:
      json["bpf_command"] = event.task.detail;
      return;
    case SBPF_HOOK_task_kill:
      json["target_pid"] = event.task.target_pid;
      json["signal"] = event.task.detail;
      return;
    case SBPF_HOOK_cgroup_attach_task:
    case SBPF_HOOK_ptrace_access_check:
    case SBPF_HOOK_ptrace_traceme:
      json["target_pid"] = event.task.target_pid;
      return;
    default:
      return;  // the hook says it all
  }
}

std::string hook_name(const sbpf_event& event) {
  if (event.hook == SBPF_NO_HOOK) return agent::is_of_name(event) ? "resolver" : "seccomp";
  return event.hook < agent::all_hooks().size() ? agent::all_hooks()[event.hook].name
                                                : "hook " + std::to_string(event.hook);
}

}  // namespace

std::string verdict_text(sbpf_verdict verdict, const std::string& text) {
  const char* word = verdict == SBPF_DENY ? "denied " : verdict == SBPF_AUDIT ? "would deny " : "";
  return word + printable(text);
}

std::uint64_t number_in(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
}

sbpf_verdict verdict_in(const Json& event) {
  const std::string verdict = text_in(event, "verdict");
  return verdict == to_string(SBPF_DENY) ? SBPF_DENY : verdict == to_string(SBPF_AUDIT) ? SBPF_AUDIT : SBPF_ALLOW;
}

std::string text_in(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

const char* to_string(sbpf_verdict verdict) {
  switch (verdict) {
    case SBPF_ALLOW:
      return "allowed";
    case SBPF_DENY:
      return "denied";
    case SBPF_AUDIT:
      return "audit";
    case SBPF_VERDICT_MAX:
      break;
  }
  return "unknown";
}

const char* to_string(sbpf_reason reason) {
  switch (reason) {
    case SBPF_REASON_NONE:
      return "none";
    case SBPF_REASON_NO_RULE:
      return "no_rule";
    case SBPF_REASON_SOCKET_CLASS:
      return "socket_class";
    case SBPF_REASON_SOCKET_OPTION:
      return "socket_option";
    case SBPF_REASON_INTERFACE:
      return "interface";
    case SBPF_REASON_NETWORK_DEVICE:
      return "network_device";
    case SBPF_REASON_TERMINAL:
      return "terminal";
    case SBPF_REASON_SEVERAL_MESSAGES:
      return "several_messages";
    case SBPF_REASON_MACHINE_DEVICE:
      return "machine_device";
    case SBPF_REASON_FOREIGN_SOCKET:
      return "foreign_socket";
    case SBPF_REASON_UNIX_PEER:
      return "unix_peer";
    case SBPF_REASON_LEAVE_CGROUP:
      return "leave_cgroup";
    case SBPF_REASON_GUARD:
      return "guard";
    case SBPF_REASON_CAPABILITY:
      return "capability";
    case SBPF_REASON_NO_POLICY:
      return "no_policy";
    case SBPF_REASON_CANARY:
      return "canary";
    case SBPF_REASON_BAD_ADDRESS:
      return "bad_address";
    case SBPF_REASON_FS_RULE:
      return "fs_rule";
    case SBPF_REASON_FS_DEFAULT:
      return "fs_default";
    case SBPF_REASON_FS_UNCOVERED:
      return "fs_uncovered";
    case SBPF_REASON_FS_HOLDS:
      return "fs_holds";
    case SBPF_REASON_FS_MOUNT:
      return "fs_mount";
    case SBPF_REASON_FS_DEVICE:
      return "fs_device";
    case SBPF_REASON_KERNEL:
      return "kernel_interface";
    case SBPF_REASON_MOVED_OUT:
      return "moved_out";
    case SBPF_REASON_BREAK_GLASS:
      return "break_glass";
    case SBPF_REASON_ISOLATION_LOST:
      return "isolation_lost";
    case SBPF_REASON_ISOLATION_RESTORED:
      return "isolation_restored";
    case SBPF_REASON_EXEC_RULE:
      return "exec_rule";
    case SBPF_REASON_EXEC_DEFAULT:
      return "exec_default";
    case SBPF_REASON_EXEC_WRITABLE:
      return "exec_writable";
    case SBPF_REASON_EXEC_PINNED:
      return "exec_pinned";
    case SBPF_REASON_EXEC_PLACELESS:
      return "exec_placeless";
    case SBPF_REASON_FLOW:
      return "flow";
    case SBPF_REASON_FLOW_ACCEPTED:
      return "flow_accepted";
    case SBPF_REASON_FLOW_ENDED:
      return "flow_ended";
    case SBPF_REASON_NAME_ANSWERED:
      return "name_answered";
    case SBPF_REASON_NAME:
      return "name";
    case SBPF_REASON_NAME_WITHHELD:
      return "name_withheld";
    case SBPF_REASON_NAME_RATE:
      return "name_rate";
    case SBPF_REASON_NAME_FAILED:
      return "name_failed";
    case SBPF_REASON_SYSTEM_CALL:
      return "system_call";
    case SBPF_REASON_MAX:
      break;
  }
  return "unknown";
}

std::string format_time(std::int64_t epoch_ns) {
  const std::time_t seconds = epoch_ns / kNsPerSecond;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char date[32] = {}, fraction[16] = {};
  (void)std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &utc);
  (void)std::snprintf(fraction, sizeof fraction, ".%06dZ", static_cast<int>(epoch_ns % kNsPerSecond / 1000));
  return std::string(date) + fraction;
}

Json event_json(const agent::Event& event, std::int64_t boot_epoch_ns) {
  const sbpf_event& raw = event.raw;
  Json json = {{"ts", format_time(boot_epoch_ns + static_cast<std::int64_t>(raw.ts_ns))},
               {"boot_ns", raw.ts_ns},
               {"sandbox", event.sandbox},
               {"cgroup_id", raw.cgroup_id},
               {"generation", raw.generation},
               {"hook", hook_name(raw)},
               {"domain", agent::domain_name(static_cast<sbpf_domain>(raw.domain))},
               {"verdict", to_string(static_cast<sbpf_verdict>(raw.verdict))},
               {"reason", to_string(static_cast<sbpf_reason>(raw.reason))},
               {"errno", raw.sys_errno},
               {"pid", raw.tgid},
               {"tid", raw.tid},
               {"uid", raw.uid},
               {"comm", comm_of(raw)}};
  if (event.flow != 0)
    add_flow(json, event);
  else if (agent::is_of_name(raw))
    add_name(json, event);
  else if (raw.domain == SBPF_DOMAIN_NETWORK)
    add_network(json, raw);
  if (raw.reason == SBPF_REASON_NO_RULE && !event.name.empty()) json["name"] = event.name;
  if (!event.interface.empty()) json["interface"] = event.interface;
  if (raw.domain == SBPF_DOMAIN_GUARD) add_task(json, raw);
  if (!event.path.empty()) {
    json["path"] = event.path;
    json["wanted"] = event.wanted;
  }
  json["times"] = std::max<std::uint32_t>(raw.times, 1);
  json["text"] = event.text;
  json["allow"] = event.allow;
  if (!event.relaxation.empty()) json["relaxation"] = event.relaxation;
  return json;
}

std::string event_text(const agent::Event& event, std::int64_t boot_epoch_ns) {
  return event_text(event_json(event, boot_epoch_ns));
}

std::string event_text(const Json& event) {
  const std::uint64_t times = number_in(event, "times");
  const std::string line = fmt::format(
      "{} {} {}{}\n", printable(text_in(event, "ts")), printable(text_in(event, "sandbox")),
      verdict_text(verdict_in(event), text_in(event, "text")), times > 1 ? fmt::format(" ({} times)", times) : "");
  std::string text = line + remedy_lines(text_in(event, "allow"), text_in(event, "relaxation"));
  text.pop_back();
  return text;
}

std::string remedy_lines(const std::string& allow, const std::string& relaxation) {
  if (allow.empty())
    return relaxation.empty() ? "" : fmt::format("  only a relaxation allows it: {}\n", printable(relaxation));
  std::string text;
  for (std::size_t start = 0; start < allow.size();) {
    const std::size_t end = std::min(allow.find('\n', start), allow.size());
    text += fmt::format("{}{}\n", start == 0 ? "  allow with: " : "              ",
                        printable(allow.substr(start, end - start)));
    start = end + 1;
  }
  return text;
}

}  // namespace sbpf::cli
