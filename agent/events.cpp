// SPDX-License-Identifier: Apache-2.0
#include "agent/events.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "agent/kernel.h"
#include "agent/sandbox.h"

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
      return e.reason == SBPF_REASON_LEAVE_CGROUP ? "write to a cgroup file" : "write to a file that drives the kernel";
    case SBPF_HOOK_capable:
      return "capability " + std::to_string(e.task.detail);
    case SBPF_HOOK_bpf:
      return "bpf(2) command " + std::to_string(e.task.detail);
    case SBPF_HOOK_task_kill:
      return "signal " + std::to_string(e.task.detail) + " to process " + std::to_string(e.task.target_pid) +
             " outside the sandbox";
    case SBPF_HOOK_ptrace_access_check:
    case SBPF_HOOK_ptrace_traceme:
      return "tracing between the sandbox and process " + std::to_string(e.task.target_pid) + " outside";
    default:
      return std::string(hooks()[e.hook].name) + " on sbpf's or the system's own mounts";
  }
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
                   " that can re-route packets";
      event.allow = kAllowAll;
      return;
    case SBPF_REASON_FOREIGN_SOCKET:
      event.text = "use of a " + socket_text(e.net) + " made outside the sandbox";
      return;
    case SBPF_REASON_UNIX_PEER:
      event.text = "unix socket of a process outside the sandbox";
      event.allow = kAllowAll;
      return;
    case SBPF_REASON_LEAVE_CGROUP:
    case SBPF_REASON_GUARD:
    case SBPF_REASON_CAPABILITY:
      event.text = guard_text(e);
      return;
    case SBPF_REASON_NO_POLICY:
      event.text = "any operation: the sandbox has no policy";
      return;
    case SBPF_REASON_BAD_ADDRESS:
      event.text = operation(e) + " with an unreadable address";
      return;
    case SBPF_REASON_NONE:
    case SBPF_REASON_CANARY:
    case SBPF_REASON_MAX:
      break;
  }
  event.text = "unknown reason " + std::to_string(e.reason);
}

}  // namespace

RingReader::RingReader(const Fd& ring) {
  const auto on_event = [](void* context, void* data, std::size_t size) {
    auto* self = static_cast<RingReader*>(context);
    sbpf_event event{};
    if (size < sizeof event) return 0;
    std::memcpy(&event, data, sizeof event);
    self->sink_(event);
    return 0;
  };
  if (ring) ring_buffer_ = ring_buffer__new(ring.get(), on_event, this, nullptr);
}

RingReader::~RingReader() { ring_buffer__free(static_cast<ring_buffer*>(ring_buffer_)); }

void RingReader::read_all(const std::function<void(const sbpf_event&)>& sink) {
  if (ring_buffer_ == nullptr) return;
  sink_ = sink;
  ring_buffer__consume(static_cast<ring_buffer*>(ring_buffer_));
}

Event explain_event(const sbpf_event& raw, const std::string& sandbox) {
  Event event;
  event.raw = raw;
  event.sandbox = sandbox;
  explain_into(event);
  event.text += " (" + std::string(raw.comm, ::strnlen(raw.comm, sizeof raw.comm)) + ", pid " +
                std::to_string(raw.tgid) + ")";
  return event;
}

Result<void> events(const std::string& name, bool follow, const std::function<bool(const Event&)>& sink) {
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto record = find_record(*kernel, name);
  if (!record) return tl::unexpected<Error>(record.error());
  // One reader a sandbox: two would steal each other's events.
  Fd turn(::open("/run/sbpf-events.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(record->cgroup_id);
  range.l_len = 1;
  if (!turn || ::fcntl(turn.get(), F_OFD_SETLK, &range) != 0)
    return fail("busy", "another `sbpf events` reads " + name, "end it first", errno);
  Fd ring = open_ring(*kernel, record->cgroup_id);
  if (!ring) return fail("no_such_sandbox", "the sandbox has no ring of events", "", errno);
  RingReader reader(ring);
  bool wanted = true;
  while (true) {
    reader.read_all([&](const sbpf_event& raw) {
      if (wanted) wanted = sink(explain_event(raw, name));
    });
    if (!follow || !wanted || !find_record(*kernel, name)) return {};
    pollfd waiting{ring.get(), POLLIN, 0};
    (void)::poll(&waiting, 1, 500);
  }
}

}  // namespace sbpf::agent
