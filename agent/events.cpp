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
#include "agent/mounts.h"
#include "agent/sandbox.h"
#include "bpf/capabilities.h"

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
      if (e.task.target_pid != 0)
        return "open of a file of process " + std::to_string(e.task.target_pid) + " outside the sandbox";
      return e.reason == SBPF_REASON_LEAVE_CGROUP ? "write to a cgroup file" : "write to a file that drives the kernel";
    case SBPF_HOOK_file_fcntl:
    case SBPF_HOOK_file_ioctl:
    case SBPF_HOOK_file_ioctl_compat:
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
  constexpr unsigned kMinorBits = 20;  // of the kernel's dev_t
  const std::string wanted = std::to_string(dev >> kMinorBits) + ":" + std::to_string(dev & ((1u << kMinorBits) - 1));
  std::string best;
  for (const Mount& mount : own_mounts())
    if (mount.device == wanted && mount.root == "/" && (best.empty() || mount.point.size() < best.size())) best = mount.point;
  return best;
}

std::string path_of(const sbpf_fs_event& raw) {
  std::string path;
  for (std::uint32_t i = std::min<std::uint32_t>(raw.n_names, SBPF_PATH_NAMES); i-- > 0;) {
    const char* name = raw.name[i];
    const std::size_t length = ::strnlen(name, SBPF_PATH_NAME_LEN);
    path += "/" + std::string(name, length) + (length == SBPF_PATH_NAME_LEN - 1 ? "…" : "");
  }
  if (raw.at_root == 0) return "…" + path;
  const std::string mount = mount_point(raw.dev);
  if (mount == "/") return path.empty() ? "/" : path;
  return (mount.empty() ? "…" : mount) + path;
}

std::string fs_text(const Event& event) {
  if (event.path.empty()) return std::string(all_hooks()[event.raw.hook].name) + " on a file";
  return event.wanted + " " + event.path;
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
      event.text = e.hook == SBPF_HOOK_path_rename ? "move of a socket or directory to where network.unix opens sockets"
                                                   : "unix socket " + event.path + (event.path.empty() ? "" : " ") +
                                                         "of a process outside the sandbox";
      if (!event.path.empty() && event.path.front() == '/') event.allow = "network: {unix: [" + event.path + "]}";
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
      if (!event.path.empty() && event.path.front() == '/')
        event.allow = std::string("filesystem: {") + (event.wanted == "read" ? "read" : "write") + ": [" +
                      event.path + "]}";
      return;
    case SBPF_REASON_EXEC_RULE:
      event.text = fs_text(event) + ", which a rule denies";
      return;
    case SBPF_REASON_EXEC_DEFAULT:
      event.text = fs_text(event);
      if (!event.path.empty() && event.path.front() == '/')
        event.allow = "process: {exec: {allow: [" + event.path + "]}}";
      return;
    case SBPF_REASON_EXEC_WRITABLE:
      event.text = fs_text(event) + ", which the sandbox may write";
      if (!event.path.empty() && event.path.front() == '/') event.allow = "filesystem: {read: [" + event.path + "]}";
      return;
    case SBPF_REASON_EXEC_PINNED:
      event.text = fs_text(event) + ", which is not the file that the policy pins";
      return;
    case SBPF_REASON_EXEC_PLACELESS:
      event.text = event.path == "…" ? "exec of a file in memory" : fs_text(event) + ", which was deleted";
      return;
    case SBPF_REASON_FS_UNCOVERED:
      event.text = fs_text(event) + ", on a filesystem that was not mounted when the policy was published";
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
    sbpf_fs_event event{};
    if (size < sizeof event.event) return 0;
    std::memcpy(&event, data, std::min(size, sizeof event));
    self->sink_(event);
    return 0;
  };
  if (ring) ring_buffer_ = ring_buffer__new(ring.get(), on_event, this, nullptr);
}

RingReader::~RingReader() { ring_buffer__free(static_cast<ring_buffer*>(ring_buffer_)); }

void RingReader::read_all(const std::function<void(const sbpf_fs_event&)>& sink) {
  if (ring_buffer_ == nullptr) return;
  sink_ = sink;
  ring_buffer__consume(static_cast<ring_buffer*>(ring_buffer_));
}

Event explain_event(const sbpf_fs_event& raw, const std::string& sandbox) {
  Event event;
  event.raw = raw.event;
  event.sandbox = sandbox;
  if (raw.n_names + raw.at_root > 0) {
    event.path = path_of(raw);
    event.wanted = wanted_text(raw.wanted);
  }
  explain_into(event);
  event.text += " (" + std::string(raw.event.comm, ::strnlen(raw.event.comm, sizeof raw.event.comm)) + ", pid " +
                std::to_string(raw.event.tgid) + ")";
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
    reader.read_all([&](const sbpf_fs_event& raw) {
      if (wanted) wanted = sink(explain_event(raw, name));
    });
    if (!follow || !wanted || !find_record(*kernel, name)) return {};
    pollfd waiting{ring.get(), POLLIN, 0};
    (void)::poll(&waiting, 1, 500);
  }
}

}  // namespace sbpf::agent
