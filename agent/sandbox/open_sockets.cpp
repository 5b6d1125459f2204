// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/open_sockets.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "agent/host/devices.h"
#include "agent/host/fdinfo.h"
#include "agent/host/kernel_files.h"
#include "agent/host/socket_end.h"
#include "agent/sandbox/connections.h"
#include "base/fd.h"
#include "base/file.h"
#include "policy/filesystem.h"
#include "policy/policy.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

// The address is printed as 32-bit words in the machine's byte order.
bool parse_endpoint(const std::string& text, policy::Address& address, std::uint16_t& port) {
  const auto colon = text.find(':');
  if (colon == std::string::npos || (colon != 8 && colon != 32)) return false;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; i++)
    words[i] = static_cast<std::uint32_t>(std::stoul(text.substr(i * 8, 8), nullptr, 16));
  address = policy::address_from(words.data(), colon / 2);
  port = static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1), nullptr, 16));
  return true;
}

// Of /proc/PID/net/{tcp,udp}[6], by inode.
std::map<std::uint64_t, Connection> read_table(pid_t pid, const std::string& name) {
  std::map<std::uint64_t, Connection> sockets;
  std::ifstream table(fmt::format("/proc/{}/net/{}", pid, name));
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout;
    std::uint64_t inode = 0;
    Connection s;
    if (!(fields >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode))
      continue;
    if (!parse_endpoint(local, s.local, s.local_port) || !parse_endpoint(remote, s.remote, s.remote_port)) continue;
    s.tcp = name.starts_with("tcp");
    s.listens = s.tcp && std::stoul(state, nullptr, 16) == TCP_LISTEN;
    sockets[inode] = s;
  }
  return sockets;
}

// Its own descriptor of what a task has open. Errors: errno; EINVAL: of a thread, before 6.9.
Fd descriptor_of(pid_t task, int number) {
  constexpr unsigned kThread = O_EXCL;  // PIDFD_THREAD
  Fd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, task, 0u)));
  if (!pidfd) pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, task, kThread)));
  return pidfd ? Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd.get(), number, 0u))) : Fd();
}

int option(const Fd& socket, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket.get(), SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// Of a socket that the tables of the task's network namespace do not have: it belongs to another namespace, is neither
// bound nor connected, or is neither TCP nor UDP. Nothing: it cannot be told.
std::optional<Connection> flow_of(const Fd& socket, bool tcp) {
  Connection flow;
  flow.tcp = tcp;
  flow.listens = tcp && option(socket, SO_ACCEPTCONN) == 1;
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  const auto local =
      ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0 ? socket_end(name) : std::nullopt;
  if (!local) return std::nullopt;
  flow.local = local->address;
  flow.local_port = local->port;
  size = sizeof name;
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0) {
    const auto remote = socket_end(name);
    if (!remote) return std::nullopt;
    flow.remote = remote->address;
    flow.remote_port = remote->port;
  } else if (tcp && !flow.listens) {
    tcp_info info{};
    size = sizeof info;
    if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state != TCP_CLOSE)
      return std::nullopt;
  }
  return flow;
}

// Who is at the other end of an AF_UNIX connection, by its numbers when it connected or began to listen; pid 0: it
// cannot be told.
ucred credentials_of_peer(const Fd& socket) {
  ucred who{};
  socklen_t size = sizeof who;
  (void)::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size);
  return who;
}

// Who serves the other end of an AF_UNIX connection: its pid, by a descriptor of that process where the kernel has one,
// so that no later process is taken for it. 0: nobody any more.
pid_t peer_of(const Fd& socket) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, 6.5
  int number = -1;
  socklen_t size = sizeof number;
  if (::getsockopt(socket.get(), SOL_SOCKET, kPeerPidfd, &number, &size) == 0) {
    const Fd pidfd(number);
    const long pid = fdinfo_number(read_file("/proc/self/fdinfo/" + std::to_string(number)), "Pid:").value_or(0);
    return pid > 0 ? static_cast<pid_t>(pid) : 0;
  }
  return credentials_of_peer(socket).pid;
}

// As network.unix writes it: a path, or @NAME; empty: it has none.
std::string unix_name(const sockaddr_un& name, socklen_t size) {
  if (size <= offsetof(sockaddr_un, sun_path)) return "";
  const std::string text(name.sun_path, size - offsetof(sockaddr_un, sun_path));
  return text[0] == 0 ? "@" + text.substr(1) : text.substr(0, text.find('\0'));
}

bool is_named(const policy::Image& image, const std::string& peer) {
  if ((image.header().flags & SBPF_POLICY_UNIX) == 0) return false;
  if (peer[0] == '@') return policy::find_named(image.entries, policy::unix_key(peer), peer.substr(1)).has_value();
  return peer[0] == '/' && (policy::fs_rights_at(image, peer) & SBPF_FS_TALK) != 0;
}

// What systemd gives to a service for its output: a stream to the journal, which systemd itself listens for.
bool is_journal(const Fd& socket, const std::string& peer) {
  const ucred who = credentials_of_peer(socket);
  return peer == "/run/systemd/journal/stdout" && who.pid == 1 && who.uid == 0;
}

// A connection to somebody outside, of streams or packets; "" if there is none. Datagrams are judged one by one when
// they are sent. Two kinds of connections are free though the peer has no name: a server of the sandbox accepted a
// client, which is seen by the server's own name; and whoever started the program gave it a pair of sockets as stdio.
std::string forbidden_unix(const Fd& socket, int number, const policy::Image& image, const std::set<pid_t>& inside) {
  sockaddr_un own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (option(socket, SO_TYPE) == SOCK_DGRAM ||
      ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
    return "";
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0)
    return "an AF_UNIX connection that cannot be looked at";
  const std::string to = unix_name(peer, peer_size);
  if (to.empty() && (number <= STDERR_FILENO || !unix_name(own, own_size).empty())) return "";
  if (is_journal(socket, to) || inside.contains(peer_of(socket)) || (!to.empty() && is_named(image, to))) return "";
  return to.empty() ? "one end of a pair of AF_UNIX sockets that somebody outside made" : "AF_UNIX connection to " + to;
}

class SocketScan {
 public:
  SocketScan(pid_t task, const policy::Image& image, const std::set<pid_t>& inside, OpenBefore& before)
      : task_(task),
        image_(image),
        inside_(inside),
        before_(before),
        proc_("/proc/" + std::to_string(task)),
        who_(fmt::format("pid {}: ", task)),
        kernel_files_(task, inside) {}

  void at_descriptor(const std::string& number) {
    const std::string link = proc_ + "/fd/" + number;
    std::error_code ec;
    const std::string target = fs::read_symlink(link, ec).string();
    const auto fdinfo = read_fdinfo(proc_ + "/fdinfo/" + number);
    const auto flags = fdinfo ? fdinfo_number(*fdinfo, "flags:", 8) : std::nullopt;
    // One that is gone has been closed by the death of its process.
    if (!flags) return others(fs::is_symlink(link, ec) ? "a descriptor that cannot be looked at: " + number : "");
    const bool writes = (*flags & O_ACCMODE) != O_RDONLY;
    if ((*flags & O_PATH) == 0) {
      if (const std::string what = kernel_files_.forbidden(link, target, *fdinfo, writes); !what.empty())
        others(fmt::format("{}: {}", what, target));
      at_device(stat_without_asking(link), writes, target);
    }
    // A kernel may leave the line out while somebody uses the ring.
    if (target == "anon_inode:[io_uring]" && fdinfo_number(*fdinfo, "UserFiles:") != 0)
      others("descriptors that are registered with an io_uring");
    if (target == "anon_inode:[io_uring]" && !is_inside(fdinfo_number(*fdinfo, "SqThread:").value_or(0)))
      others("an io_uring of a process outside, whose thread carries out what is asked");
    if (target == "anon_inode:seccomp notify")
      others("seccomp's notifications, by which system calls of others are answered");
    if (target == "anon_inode:[userfaultfd]" && !policy::opens(image_, SBPF_KERNEL_USERFAULTFD))
      others("a userfaultfd, which may be of a process outside; kernel: {allow: [userfaultfd]} accepts it");
    if (allows_all() || !target.starts_with("socket:[")) return;
    at_socket(std::stoull(target.substr(8)), std::stoi(number));
    if (fdinfo_number(*fdinfo, "scm_fds:").value_or(0) != 0) others("descriptors that wait in an AF_UNIX socket");
  }

  // Of which process is this thread? One without a number is nobody's.
  bool is_inside(long thread) const {
    if (thread <= 0) return true;
    const auto status = read_fdinfo(fmt::format("/proc/{}/status", thread));
    const auto process = status ? fdinfo_number(*status, "Tgid:") : std::nullopt;
    return process && inside_.contains(static_cast<pid_t>(*process));
  }

  // What is mapped needs no descriptor any more. `range`: its name in map_files.
  void at_mapping(const std::string& range) {
    const std::string link = proc_ + "/map_files/" + range;
    std::error_code ec;
    if (const char* device = machine_device(stat_without_asking(link), true, proc_);
        device != nullptr && judges_devices())
      others(fmt::format("{} mapped: {}", device, fs::read_symlink(link, ec).string()));
  }

 private:
  bool allows_all() const { return (image_.header().flags & SBPF_POLICY_NET_ALLOW_ALL) != 0; }
  // A filesystem section judges them as files.
  bool judges_devices() const { return (image_.header().flags & SBPF_POLICY_DEVICES) == 0; }

  void at_device(const struct statx& info, bool writes, const std::string& target) {
    if (judges_devices()) {
      const char* device =
          is_handle_of_device(target) ? "a device of the whole machine" : machine_device(info, writes, proc_);
      if (device != nullptr) others(fmt::format("{} open: {}", device, target));
    }
    const char* device = allows_all() ? nullptr : network_device(info);
    if (device != nullptr && !policy::allows_socket(image_, SBPF_SOCKET_TUN)) others(fmt::format("{} open", device));
  }

  void at_socket(std::uint64_t inode, int number) {
    before_.sockets.insert(inode);
    if (const auto known = tables().find(inode); known != tables().end()) {
      if (const std::string what = forbidden_part(known->second, image_); !what.empty())
        before_.flows.push_back(who_ + what);
      return;
    }
    const Fd socket = descriptor_of(task_, number);
    if (!socket) return others(fmt::format("a socket that cannot be looked at: {}", std::strerror(errno)));
    const int family = option(socket, SO_DOMAIN), type = option(socket, SO_TYPE);
    const auto kind = policy::classify_socket(family, type, option(socket, SO_PROTOCOL));
    if (!policy::allows_socket(image_, kind)) {
      if (kind == SBPF_SOCKET_OTHER)
        return others(fmt::format("a socket of family {}, which no policy opens by name", family));
      return others(fmt::format("{}{} socket", kind == SBPF_SOCKET_ALG ? "an " : "a ", policy::to_string(kind)));
    }
    if (family == AF_UNIX) return others(forbidden_unix(socket, number, image_, inside_));
    if ((family != AF_INET && family != AF_INET6) ||
        (kind != SBPF_SOCKET_NORMAL && kind != SBPF_SOCKET_MPTCP && kind != SBPF_SOCKET_UDPLITE))
      return;
    const auto flow = flow_of(socket, type == SOCK_STREAM);
    others(flow ? forbidden_part(*flow, image_) : "a connection that is being made");
  }

  void others(const std::string& what) {
    if (!what.empty()) before_.others.push_back(who_ + what);
  }

  // Read for the first socket: many tasks have none.
  const std::map<std::uint64_t, Connection>& tables() {
    if (!tables_) {
      tables_.emplace();
      for (const char* table : {"tcp", "tcp6", "udp", "udp6"}) tables_->merge(read_table(task_, table));
    }
    return *tables_;
  }

  pid_t task_;
  const policy::Image& image_;
  const std::set<pid_t>& inside_;
  OpenBefore& before_;
  std::string proc_, who_;
  KernelFiles kernel_files_;
  std::optional<std::map<std::uint64_t, Connection>> tables_;
};

}  // namespace

std::vector<pid_t> tasks_with_descriptors(pid_t pid) {
  std::vector<pid_t> tasks{pid};
  for (const std::string& name : names_in(fmt::format("/proc/{}/task", pid))) {
    const auto task = static_cast<pid_t>(std::strtol(name.c_str(), nullptr, 10));
    if (task != pid && ::syscall(SYS_kcmp, pid, task, KCMP_FILES, 0, 0) != 0) tasks.push_back(task);
  }
  return tasks;
}

void find_open_sockets(pid_t task, const policy::Image& image, const std::set<pid_t>& inside, OpenBefore& before) {
  const std::string proc = "/proc/" + std::to_string(task);
  SocketScan scan(task, image, inside, before);
  for (const std::string& number : names_in(proc + "/fd")) scan.at_descriptor(number);
  for (const std::string& range : names_in(proc + "/map_files")) scan.at_mapping(range);
}

}  // namespace sbpf::agent
