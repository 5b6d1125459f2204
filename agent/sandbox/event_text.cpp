// SPDX-License-Identifier: Apache-2.0
// What an event means, in words.
#include "agent/sandbox/events.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>

#include "agent/host/mounts.h"
#include "agent/kernel/hooks.h"
#include "bpf/capabilities.h"
#include "policy/image.h"

namespace sbpf::agent {
namespace {

std::string protocol_name(const sbpf_event_net& net) {
  if (net.family == AF_UNIX) return "unix";
  if (net.protocol == IPPROTO_TCP || (net.protocol == 0 && net.type == SOCK_STREAM)) return "tcp";
  if (net.protocol == IPPROTO_UDP || (net.protocol == 0 && net.type == SOCK_DGRAM)) return "udp";
  return "protocol " + std::to_string(net.protocol);
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
  const auto socket_class =
      static_cast<sbpf_socket_class>(policy::classify_socket(net.family, net.type, net.protocol));
  if (socket_class == SBPF_SOCKET_NORMAL || socket_class == SBPF_SOCKET_OTHER) return "";
  return "network: {dangerously_allow_sockets: [" + std::string(policy::to_string(socket_class)) + "]}";
}

std::string socket_text(const sbpf_event_net& net) {
  return "socket(family " + std::to_string(net.family) + ", type " + std::to_string(net.type) + ", protocol " +
         std::to_string(net.protocol) + ")";
}

std::string guard_text(const sbpf_event& e) {
  switch (e.hook) {
    case SBPF_HOOK_task_alloc:
      return "clone into another cgroup";
    case SBPF_HOOK_file_open:
    case SBPF_HOOK_file_receive:
      if (e.task.target_pid != 0) return "use of a file of process " + std::to_string(e.task.target_pid) + " outside the sandbox";
      if (e.task.detail == SBPF_DETAIL_OWN_LOCK) return "open of a lock of sbpf's own";
      return e.reason == SBPF_REASON_LEAVE_CGROUP ? "write to a cgroup file" : "write to a file that drives the kernel";
    case SBPF_HOOK_file_fcntl:
    case SBPF_HOOK_file_ioctl:
    case SBPF_HOOK_file_ioctl_compat:
      // By the type of an ioctl: 'v' and ext4's 'f' set generations.
      if (const auto type = e.task.detail >> 8 & 0xff; type == 'v' || type == 'f') return "ioctl that sets a file's generation";
      return "signals of a descriptor to another process";
    case SBPF_HOOK_task_setnice:
    case SBPF_HOOK_task_setioprio:
    case SBPF_HOOK_task_setscheduler:
    case SBPF_HOOK_task_setrlimit:
      return std::string(all_hooks()[e.hook].name) + " of process " + std::to_string(e.task.target_pid) +
             " outside the sandbox";
    case SBPF_HOOK_bpf:
      return "bpf(2) command " + std::to_string(e.task.detail);
    case SBPF_HOOK_task_kill:
      return "signal " + std::to_string(e.task.detail) + " to process " + std::to_string(e.task.target_pid) +
             " outside the sandbox";
    case SBPF_HOOK_ptrace_access_check:
    case SBPF_HOOK_ptrace_traceme:
      return "tracing between the sandbox and process " + std::to_string(e.task.target_pid) + " outside";
    default:
      return std::string(all_hooks()[e.hook].name) + " on sbpf's or the system's own mounts";
  }
}

std::string wanted_text(std::uint32_t rights) {
  if ((rights & SBPF_FS_EXEC) != 0) return "exec";
  if ((rights & SBPF_FS_WRITE) == 0) return "read";
  return (rights & SBPF_FS_READ) != 0 ? "read, write" : "write";
}

// Where the event's filesystem is mounted, for the agent; the shortest place if there are several.
std::string mount_point(std::uint32_t dev) {
  const std::string wanted = std::to_string(dev >> SBPF_MINOR_BITS) + ":" + std::to_string(dev & ((1u << SBPF_MINOR_BITS) - 1));
  std::string best;
  for (const Mount& mount : own_mounts())
    if (mount.device == wanted && mount.root == "/" && (best.empty() || mount.point.size() < best.size())) best = mount.point;
  return best;
}

std::string allow_path(const Event& event, policy::PathUse use) { return event.path_is_whole ? policy::suggestion(use, event.path) : ""; }

// `whole`: no name is cut, and nothing above is unknown.
std::string path_of(const sbpf_fs_event& raw, bool& whole) {
  std::string path;
  whole = raw.at_root != 0;
  for (std::uint32_t i = std::min<std::uint32_t>(raw.n_names, SBPF_PATH_NAMES); i-- > 0;) {
    const char* name = raw.name[i];
    const std::size_t length = ::strnlen(name, SBPF_PATH_NAME_LEN);
    const bool cut = length == SBPF_PATH_NAME_LEN - 1;
    if (cut) whole = false;
    path += "/" + std::string(name, length) + (cut ? "…" : "");
  }
  if (raw.at_root == 0) return "…" + path;
  const std::string mount = mount_point(raw.dev);
  if (mount == "/") return path.empty() ? "/" : path;
  if (mount.empty()) whole = false;
  return (mount.empty() ? "…" : mount) + path;
}

std::string fs_text(const Event& event) {
  if (event.path.empty()) return std::string(all_hooks()[event.raw.hook].name) + " on a file";
  return event.wanted + " " + event.path;
}

std::string name_text(const Event& event) {
  constexpr std::uint32_t kA = 1, kAaaa = 28;
  const std::uint32_t type = event.raw.net.level;
  const std::string kind = type == kA ? "A" : type == kAaaa ? "AAAA" : "type " + std::to_string(type);
  return event.name + " (" + kind + ")";
}

std::string addresses_text(const sbpf_event_net& net) {
  if (net.option == 0) return "no address";
  policy::Address address;
  std::copy(std::begin(net.addr), std::end(net.addr), address.begin());
  return policy::to_string(address) + (net.option > 1 ? " and " + std::to_string(net.option - 1) + " more" : "");
}

std::string task_text(const sbpf_event& event) {
  return " (" + std::string(event.comm, ::strnlen(event.comm, sizeof event.comm)) + ", pid " + std::to_string(event.tgid) + ")";
}

// When the process began, ns of CLOCK_BOOTTIME: the 22nd field of its stat, the 20th behind its name.
std::optional<std::uint64_t> start_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int i = 0; i < 19; i++) fields >> field;
  std::uint64_t ticks = 0;
  if (!(fields >> ticks)) return std::nullopt;
  return ticks * (1000000000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

std::string name_of_flow(const Event& event) { return event.name.empty() ? "" : " (" + event.name + ")"; }

bool is_flow(const sbpf_event& event) {
  return event.reason == SBPF_REASON_FLOW || event.reason == SBPF_REASON_FLOW_ACCEPTED || event.reason == SBPF_REASON_FLOW_ENDED;
}

// The program of a process, if it is the one of then.
std::string program_of(const sbpf_event& event) {
  if (event.tgid == 0) return "";
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink(("/proc/" + std::to_string(event.tgid) + "/exe").c_str(), path.data(), path.size());
  const auto started_ns = start_of(event.tgid);
  return n > 0 && started_ns && *started_ns <= event.ts_ns ? std::string(path.data(), static_cast<std::size_t>(n)) : "";
}

void read_flow(const sbpf_fs_event& raw, Event& event) {
  sbpf_flow_event flow{};
  static_assert(sizeof flow <= sizeof raw);
  std::memcpy(&flow, &raw, sizeof flow);
  event.flow = flow.cookie;
  event.sent = flow.sent;
  event.received = flow.received;
  event.local_port = static_cast<std::uint16_t>(flow.local_port);
  event.name = std::string(flow.name, ::strnlen(flow.name, sizeof flow.name));
  event.exe = program_of(flow.event);
}

std::string device_text(std::uint32_t number) {
  return std::to_string(number >> SBPF_MINOR_BITS) + ":" + std::to_string(number & ((1u << SBPF_MINOR_BITS) - 1));
}

std::string interface_of(const sbpf_event& event) {
  const auto* name = reinterpret_cast<const char*>(event.net.addr);
  const std::string text(name, ::strnlen(name, sizeof event.net.addr));
  return text.empty() ? "number " + std::to_string(static_cast<std::int32_t>(event.net.option)) : text;
}

// Words and suggestion of one event; the reason decides which of its fields mean something.
void explain_into(Event& event) {
  const sbpf_event& e = event.raw;
  constexpr const char* kAllowAll = "network: {dangerously_allow_all: true}";
  switch (static_cast<sbpf_reason>(e.reason)) {
    case SBPF_REASON_NO_RULE: {
      event.text = operation(e) + " " + protocol_name(e.net) + " " + endpoint_text(e.net);
      policy::NetQuery query;
      query.kind = is_bind(e) ? SBPF_RULE_BIND : SBPF_RULE_CONNECT;
      query.proto = e.net.type == SOCK_STREAM ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;
      std::copy(std::begin(e.net.addr), std::end(e.net.addr), query.address.begin());
      query.port = e.net.port;
      event.allow = policy::suggestion(query);
      return;
    }
    case SBPF_REASON_SOCKET_CLASS:
      event.text = socket_text(e.net);
      event.allow = class_suggestion(e.net);
      return;
    case SBPF_REASON_SOCKET_OPTION:
      event.text = "socket option " + std::to_string(e.net.level) + "/" + std::to_string(e.net.option) +
                   (policy::names_interface(static_cast<int>(e.net.level), static_cast<int>(e.net.option))
                        ? ", which names a network interface"
                        : " that is not known to leave packets where the address sends them");
      event.allow = kAllowAll;
      return;
    case SBPF_REASON_INTERFACE:
      event.interface = interface_of(e);
      event.text = operation(e) + " " + protocol_name(e.net) + (e.net.level != 0 ? " to an address of lo" : "") + " by interface " + event.interface;
      if (e.net.level == 0) event.allow = policy::interface_suggestion(event.interface);
      return;
    case SBPF_REASON_SEVERAL_MESSAGES:
      event.text = "sendmmsg of several messages with addresses, of which the kernel shows only the first; sendmsg, or a connected socket, may";
      return;
    case SBPF_REASON_MACHINE_DEVICE:
      event.text = "device of the whole machine " + device_text(e.task.detail);
      event.allow = "filesystem: {dangerously_allow_all: true}";
      return;
    case SBPF_REASON_TERMINAL:
      event.text = "pseudo-terminal of a session outside, " + device_text(e.task.detail);
      return;
    case SBPF_REASON_NETWORK_DEVICE:
      event.text = "network device " + device_text(e.task.detail);
      event.allow = "network: {dangerously_allow_sockets: [" + std::string(policy::to_string(SBPF_SOCKET_TUN)) + "]}";
      return;
    case SBPF_REASON_FOREIGN_SOCKET:
      event.text = "use of a " + socket_text(e.net) + " made outside the sandbox";
      return;
    case SBPF_REASON_UNIX_PEER:
      event.text = e.hook == SBPF_HOOK_path_rename ? "move of, or to, what network.unix opens or names a place in"
                                                   : "unix socket " + event.path + (event.path.empty() ? "" : " ") +
                                                         "of a process outside the sandbox";
      event.allow = allow_path(event, policy::PathUse::unix_peer);
      return;
    case SBPF_REASON_LEAVE_CGROUP:
    case SBPF_REASON_GUARD:
      event.text = guard_text(e);
      return;
    case SBPF_REASON_CAPABILITY:
      event.text = "capability " + policy::capability_name(e.task.detail);
      if (e.task.detail < SBPF_CAP_COUNT && e.task.detail != SBPF_CAP_BPF && e.task.detail != SBPF_CAP_PERFMON)
        event.allow = "process: {kernel: {dangerously_allow_capabilities: [" +
                      policy::capability_name(e.task.detail) + "]}}";
      return;
    case SBPF_REASON_KERNEL: {
      const auto interface = static_cast<sbpf_kernel_interface>(e.task.detail);
      event.text = "kernel interface " + std::string(policy::to_string(interface));
      if (policy::closed_by_default(interface))
        event.allow = "process: {kernel: {allow: [" + std::string(policy::to_string(interface)) + "]}}";
      return;
    }
    case SBPF_REASON_NO_POLICY:
      event.text = "any operation: the sandbox has no policy";
      return;
    case SBPF_REASON_BAD_ADDRESS:
      event.text = operation(e) + " with an unreadable address";
      return;
    case SBPF_REASON_FS_RULE:
    case SBPF_REASON_FS_DEFAULT:
      event.text = fs_text(event);
      event.allow = allow_path(event, event.wanted == "read" ? policy::PathUse::read : policy::PathUse::write);
      return;
    case SBPF_REASON_EXEC_RULE:
      event.text = fs_text(event) + ", which a rule denies";
      return;
    case SBPF_REASON_EXEC_DEFAULT:
      event.text = fs_text(event);
      event.allow = allow_path(event, policy::PathUse::exec);
      return;
    case SBPF_REASON_EXEC_WRITABLE:
      event.text = fs_text(event) + ", which the sandbox may write";
      event.allow = allow_path(event, policy::PathUse::read);
      return;
    case SBPF_REASON_EXEC_PINNED:
      event.text = fs_text(event) + ", which is not the file that the policy pins";
      return;
    case SBPF_REASON_EXEC_PLACELESS:
      event.text = event.path == "…" ? "exec of a file in memory" : fs_text(event) + ", which was deleted";
      return;
    case SBPF_REASON_FS_UNCOVERED:
      event.text = fs_text(event) + ", on a filesystem that was mounted, or in directories that were made anew, after the policy was published";
      return;
    case SBPF_REASON_FS_HOLDS:
      event.text = "move of " + event.path + ", which holds a path that must stay";
      return;
    case SBPF_REASON_FS_MOUNT:
      event.text = std::string(all_hooks()[e.hook].name) + ": mounts and namespaces could move what rules name";
      event.allow = "filesystem: {dangerously_allow_all: true}";
      return;
    case SBPF_REASON_FS_DEVICE:
      event.text = e.hook == SBPF_HOOK_path_mknod ? "creation of a device node"
                                                      : "ioctl that drives a device, or makes or removes a btrfs subvolume";
      event.allow = "filesystem: {dangerously_allow_all: true}";
      return;
    case SBPF_REASON_MOVED_OUT:
      event.text = "process " + std::to_string(e.task.target_pid) + " was moved out of the sandbox by root outside";
      return;
    case SBPF_REASON_BREAK_GLASS:
      event.text = "the glass was broken: for " + std::to_string(e.task.detail) +
                   " s the host's root may take sbpf's things down";
      return;
    case SBPF_REASON_ISOLATION_LOST:
      event.text = "isolation was lost: " + std::to_string(e.task.detail) + " parts of it were missing";
      return;
    case SBPF_REASON_ISOLATION_RESTORED:
      event.text = "isolation is restored, after " + std::to_string(e.task.detail) + " s at most";
      return;
    case SBPF_REASON_FLOW:
      event.text = operation(e) + " " + protocol_name(e.net) + " " + endpoint_text(e.net) + name_of_flow(event);
      return;
    case SBPF_REASON_FLOW_ACCEPTED:
      event.text = "accepted tcp " + endpoint_text(e.net) + " at port " + std::to_string(event.local_port);
      return;
    case SBPF_REASON_FLOW_ENDED:
      event.text = "ended tcp " + endpoint_text(e.net) + name_of_flow(event) + ": " + std::to_string(event.sent) +
                   " bytes sent, " + std::to_string(event.received) + " received";
      return;
    case SBPF_REASON_NAME_ANSWERED:
      event.text = "resolved " + name_text(event) + ": " + addresses_text(e.net);
      return;
    case SBPF_REASON_NAME:
      event.text = "resolve " + name_text(event);
      event.allow = policy::host_suggestion(event.name);
      return;
    case SBPF_REASON_NAME_WITHHELD:
      event.text = "resolve " + name_text(event) + ", which leads to " + addresses_text(e.net) + ": not public";
      return;
    case SBPF_REASON_NAME_RATE:
      event.text = event.name.empty() ? "queries for names came too fast: they were dropped unread"
                                      : "resolve " + name_text(event) + ": too many names below one pattern";
      return;
    case SBPF_REASON_NAME_FAILED:
      event.text = "resolved nothing for " + name_text(event) + ": no server gave an answer";
      return;
    case SBPF_REASON_NONE:
    case SBPF_REASON_CANARY:
    case SBPF_REASON_MAX:
      break;
  }
  event.text = "unknown reason " + std::to_string(e.reason);
}

}  // namespace

Event explain_event(const sbpf_fs_event& raw, const std::string& sandbox) {
  Event event;
  event.raw = raw.event;
  event.sandbox = sandbox;
  if (raw.event.hook == SBPF_NO_HOOK) {
    sbpf_name_event named{};
    static_assert(sizeof named <= sizeof raw);
    std::memcpy(&named, &raw, sizeof named);
    event.name = std::string(named.name, ::strnlen(named.name, sizeof named.name));
    explain_into(event);
    return event;
  }
  if (is_flow(raw.event)) {
    read_flow(raw, event);
    explain_into(event);
    if (raw.event.tgid != 0) event.text += task_text(raw.event);
    return event;
  }
  if (raw.n_names + raw.at_root > 0) {
    event.path = path_of(raw, event.path_is_whole);
    event.wanted = wanted_text(raw.wanted);
  }
  explain_into(event);
  event.text += task_text(raw.event);
  return event;
}

}  // namespace sbpf::agent
