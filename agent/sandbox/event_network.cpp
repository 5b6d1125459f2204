// SPDX-License-Identifier: Apache-2.0
// Events of the network, in words.
#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/core.h>
#include <algorithm>
#include <cstring>

#include "agent/sandbox/event_parts.h"
#include "policy/image.h"

namespace sbpf::agent {
namespace {

std::string protocol_name(const sbpf_event_net& net) {
  if (net.family == AF_UNIX) return "unix";
  if (net.protocol == IPPROTO_TCP || (net.protocol == 0 && net.type == SOCK_STREAM)) return "tcp";
  if (net.protocol == IPPROTO_UDP || (net.protocol == 0 && net.type == SOCK_DGRAM)) return "udp";
  return fmt::format("protocol {}", net.protocol);
}

std::string endpoint_text(const sbpf_event_net& net) {
  policy::Address address;
  std::copy(std::begin(net.addr), std::end(net.addr), address.begin());
  const std::string text = policy::to_string(address);
  const bool v6 = text.find(':') != std::string::npos;
  return (v6 ? "[" + text + "]" : text) + ":" + std::to_string(net.port);
}

bool is_bind(const sbpf_event& e) {
  return e.hook == SBPF_HOOK_bind4 || e.hook == SBPF_HOOK_bind6 || e.hook == SBPF_HOOK_socket_bind ||
         e.hook == SBPF_HOOK_socket_listen;
}

std::string operation(const sbpf_event& e) {
  switch (e.hook) {
    case SBPF_HOOK_sendmsg4:
    case SBPF_HOOK_sendmsg6:
    case SBPF_HOOK_socket_sendmsg:
      return "send";
    case SBPF_HOOK_socket_listen:
      return "listen";
    default:
      return is_bind(e) ? "bind" : "connect";
  }
}

std::string class_suggestion(const sbpf_event_net& net) {
  const auto socket_class = static_cast<sbpf_socket_class>(policy::classify_socket(net.family, net.type, net.protocol));
  if (socket_class == SBPF_SOCKET_NORMAL || socket_class == SBPF_SOCKET_OTHER) return "";
  return "network: {dangerously_allow_sockets: [" + std::string(policy::to_string(socket_class)) + "]}";
}

std::string socket_text(const sbpf_event_net& net) {
  return fmt::format("socket(family {}, type {}, protocol {})", net.family, net.type, net.protocol);
}

std::string interface_of(const sbpf_event& event) {
  const auto* name = reinterpret_cast<const char*>(event.net.addr);
  const std::string text(name, ::strnlen(name, sizeof event.net.addr));
  return text.empty() ? "number " + std::to_string(static_cast<std::int32_t>(event.net.option)) : text;
}

constexpr std::uint32_t kA = 1, kAaaa = 28;

// A policy opens a name's addresses; for other types the answer is empty whatever it says.
bool is_of_addresses(const Event& event) { return event.raw.net.level == kA || event.raw.net.level == kAaaa; }

std::string name_text(const Event& event) {
  const std::uint32_t type = event.raw.net.level;
  const std::string kind = type == kA ? "A" : type == kAaaa ? "AAAA" : "type " + std::to_string(type);
  return fmt::format("{} ({})", event.name, kind);
}

std::string addresses_text(const sbpf_event_net& net) {
  if (net.option == 0) return "no address";
  policy::Address address;
  std::copy(std::begin(net.addr), std::end(net.addr), address.begin());
  return policy::to_string(address) + (net.option > 1 ? " and " + std::to_string(net.option - 1) + " more" : "");
}

std::string name_of_flow(const Event& event) { return event.name.empty() ? "" : " (" + event.name + ")"; }

}  // namespace

policy::NetQuery query_of(const Event& event) {
  const sbpf_event& e = event.raw;
  policy::NetQuery query;
  query.kind = is_bind(e) ? SBPF_RULE_BIND : SBPF_RULE_CONNECT;
  query.proto = e.net.type == SOCK_STREAM ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;
  std::copy(std::begin(e.net.addr), std::end(e.net.addr), query.address.begin());
  query.port = e.net.port;
  query.in_own_netns = e.net.option != 0;
  return query;
}

bool explain_network(Event& event) {
  const sbpf_event& e = event.raw;
  switch (static_cast<sbpf_reason>(e.reason)) {
    case SBPF_REASON_NO_RULE: {
      event.text = fmt::format("{} {} {}", operation(e), protocol_name(e.net), endpoint_text(e.net));
      const policy::NetQuery query = query_of(event);
      (policy::is_metadata(query) ? event.relaxation : event.allow) = policy::suggestion(query);
      return true;
    }
    case SBPF_REASON_SOCKET_CLASS:
      event.text = socket_text(e.net);
      event.relaxation = class_suggestion(e.net);
      return true;
    case SBPF_REASON_SOCKET_OPTION:
      event.text =
          fmt::format("socket option {}/{}{}", e.net.level, e.net.option,
                      policy::is_interface_option(static_cast<int>(e.net.level), static_cast<int>(e.net.option))
                          ? ", which names a network interface"
                          : " that is not known to leave packets where the address sends them");
      event.relaxation = "network: {dangerously_allow_all: true}";
      return true;
    case SBPF_REASON_INTERFACE:
      event.interface = interface_of(e);
      event.text = fmt::format("{} {}{} by interface {}", operation(e), protocol_name(e.net),
                               e.net.level != 0 ? " to an address of lo" : "", event.interface);
      if (e.net.level == 0) event.allow = policy::interface_suggestion(event.interface);
      return true;
    case SBPF_REASON_SEVERAL_MESSAGES:
      event.text =
          "sendmmsg of several messages with addresses, of which the kernel shows only the first; sendmsg, or a connected socket, may";
      return true;
    case SBPF_REASON_NETWORK_DEVICE:
      event.text = fmt::format("network device {}", device_text(e.task.detail));
      event.relaxation =
          fmt::format("network: {{dangerously_allow_sockets: [{}]}}", policy::to_string(SBPF_SOCKET_TUN));
      return true;
    case SBPF_REASON_FOREIGN_SOCKET:
      event.text = fmt::format("use of a {} made outside the sandbox", socket_text(e.net));
      return true;
    case SBPF_REASON_UNIX_PEER:
      event.text = e.hook == SBPF_HOOK_path_rename ? "move of, or to, what network.unix opens or names a place in"
                                                   : fmt::format("unix socket {}{}of a process outside the sandbox",
                                                                 event.path, event.path.empty() ? "" : " ");
      event.allow = allow_path(event, policy::PathUse::unix_peer);
      return true;
    case SBPF_REASON_BAD_ADDRESS:
      event.text = fmt::format("{} with an unreadable address", operation(e));
      return true;
    default:
      return false;
  }
}

bool explain_flow(Event& event) {
  const sbpf_event& e = event.raw;
  switch (static_cast<sbpf_reason>(e.reason)) {
    case SBPF_REASON_FLOW:
      event.text =
          fmt::format("{} {} {}{}", operation(e), protocol_name(e.net), endpoint_text(e.net), name_of_flow(event));
      return true;
    case SBPF_REASON_FLOW_ACCEPTED:
      event.text = fmt::format("accepted tcp {} at port {}", endpoint_text(e.net), event.local_port);
      return true;
    case SBPF_REASON_FLOW_ENDED:
      event.text = fmt::format("ended tcp {}{}: {} bytes sent, {} received", endpoint_text(e.net), name_of_flow(event),
                               event.sent, event.received);
      return true;
    case SBPF_REASON_NAME_ANSWERED:
      event.text = fmt::format("resolved {}: {}", name_text(event), addresses_text(e.net));
      return true;
    case SBPF_REASON_NAME:
      event.text = fmt::format("resolve {}", name_text(event));
      if (is_of_addresses(event)) event.allow = policy::host_suggestion(event.name);
      return true;
    case SBPF_REASON_NAME_WITHHELD:
      event.text = fmt::format("resolve {}, which leads to {}: not public", name_text(event), addresses_text(e.net));
      return true;
    case SBPF_REASON_NAME_RATE:
      event.text = event.name.empty() ? "queries for names came too fast: they were dropped unread"
                                      : "resolve " + name_text(event) + ": too many names below one pattern";
      return true;
    case SBPF_REASON_NAME_FAILED:
      event.text = fmt::format("resolved nothing for {}: no server gave an answer", name_text(event));
      return true;
    default:
      return false;
  }
}

}  // namespace sbpf::agent
