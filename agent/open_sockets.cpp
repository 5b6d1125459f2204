// SPDX-License-Identifier: Apache-2.0
#include "agent/open_sockets.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "agent/fdinfo.h"
#include "agent/flows.h"
#include "agent/mounts.h"
#include "agent/socket_end.h"
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
std::map<std::uint64_t, Flow> read_table(pid_t pid, const std::string& name) {
  std::map<std::uint64_t, Flow> sockets;
  std::ifstream table("/proc/" + std::to_string(pid) + "/net/" + name);
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream fields(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout;
    std::uint64_t inode = 0;
    Flow s;
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

// Of a socket that the tables of the task's network namespace do not have: it belongs to another namespace, is neither bound nor
// connected, or is neither TCP nor UDP. Nothing: it cannot be told.
std::optional<Flow> flow_of(const Fd& socket, bool tcp) {
  Flow flow;
  flow.tcp = tcp;
  flow.listens = tcp && option(socket, SO_ACCEPTCONN) == 1;
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  const auto local = ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) == 0 ? socket_end(name) : std::nullopt;
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
    if (::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0 || info.tcpi_state != TCP_CLOSE) return std::nullopt;
  }
  return flow;
}

// Who is at the other end of an AF_UNIX connection, by its numbers when it connected or began to listen; pid 0: it cannot be told.
ucred credentials_of_peer(const Fd& socket) {
  ucred who{};
  socklen_t size = sizeof who;
  (void)::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &who, &size);
  return who;
}

// Who serves the other end of an AF_UNIX connection: its pid, by a descriptor of that process where the kernel has one, so
// that no later process is taken for it. 0: nobody any more.
pid_t peer_of(const Fd& socket) {
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, 6.5
  int number = -1;
  socklen_t size = sizeof number;
  if (::getsockopt(socket.get(), SOL_SOCKET, kPeerPidfd, &number, &size) == 0) {
    const Fd pidfd(number);
    const long pid = fdinfo_number("/proc/self/fdinfo/" + std::to_string(number), "Pid:");
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
  if (peer[0] == '@') return image.entries.contains(policy::unix_key(peer));
  return peer[0] == '/' && (policy::fs_rights_at(image, peer) & SBPF_FS_TALK) != 0;
}

// What systemd gives to a service for its output: a stream to the journal, which systemd itself listens for.
bool is_journal(const Fd& socket, const std::string& peer) {
  const ucred who = credentials_of_peer(socket);
  return peer == "/run/systemd/journal/stdout" && who.pid == 1 && who.uid == 0;
}

// A connection to somebody outside, of streams or packets; "" if there is none. Datagrams are judged one by one when they are
// sent. Two kinds of connections are free though the peer has no name: a server of the sandbox accepted a client, which is seen
// by the server's own name; and whoever started the program gave it a pair of sockets as stdio.
std::string forbidden_unix(const Fd& socket, int number, const policy::Image& image, const std::set<pid_t>& inside) {
  sockaddr_un own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (option(socket, SO_TYPE) == SOCK_DGRAM || ::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return "";
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0) return "an AF_UNIX connection that cannot be looked at";
  const std::string to = unix_name(peer, peer_size);
  if (to.empty() && (number <= STDERR_FILENO || !unix_name(own, own_size).empty())) return "";
  if (is_journal(socket, to) || inside.contains(peer_of(socket)) || (!to.empty() && is_named(image, to))) return "";
  return to.empty() ? "one end of a pair of AF_UNIX sockets that somebody outside made" : "AF_UNIX connection to " + to;
}

// What is a network though it is no socket, as bpf/device.h has it for what is opened later; nullptr: the device is none.
const char* network_device(dev_t device) {
  static const std::map<unsigned, std::string> kinds = [] {
    std::map<unsigned, std::string> found;
    std::ifstream devices("/proc/devices");
    unsigned number = 0;
    for (std::string line, name; std::getline(devices, line) && line.find("Block") == std::string::npos;)
      if (std::istringstream(line) >> number >> name) found[number] = name;
    return found;
  }();
  constexpr unsigned kMisc = 10, kTun = 200, kVhostNet = 238, kVhostVsock = 241;
  if (major(device) == kMisc) {
    if (minor(device) == kTun) return "a tun or tap device";
    if (minor(device) == kVhostNet) return "/dev/vhost-net";
    return minor(device) == kVhostVsock ? "/dev/vhost-vsock" : nullptr;
  }
  const auto kind = kinds.find(major(device));
  if (kind == kinds.end()) return nullptr;
  if (kind->second == "macvtap" || kind->second == "ipvtap") return "a macvtap or ipvtap device";
  if (kind->second == "vhost-vdpa") return "a vhost-vdpa device";
  if (kind->second == "infiniband_verbs") return "an InfiniBand device";
  return kind->second == "ppp" ? "/dev/ppp" : nullptr;
}

// What is the whole machine's, as bpf/device.h has it for what is opened later: of the devices that no policy without a filesystem
// section opens, those by which anything can be read or changed; nullptr: the file is none.
const char* machine_device(const struct statx& info, bool writes) {
  if (S_ISBLK(info.stx_mode)) return "a block device";
  if (!S_ISCHR(info.stx_mode) || info.stx_rdev_major != 1) return nullptr;
  if (info.stx_rdev_minor == 11 && writes) return "the kernel's log, to write,";
  return info.stx_rdev_minor == 1 || info.stx_rdev_minor == 2 || info.stx_rdev_minor == 4 ? "the machine's memory or its ports" : nullptr;
}

class Look {
 public:
  Look(pid_t task, const policy::Image& image, const std::set<pid_t>& inside, OpenBefore& before)
      : task_(task), image_(image), inside_(inside), before_(before), who_("pid " + std::to_string(task) + ": ") {}

  void at_socket(std::uint64_t inode, int number) {
    before_.sockets.insert(inode);
    if (const auto known = tables().find(inode); known != tables().end()) {
      if (const std::string what = forbidden_part(known->second, image_); !what.empty()) before_.flows.push_back(who_ + what);
      return;
    }
    const Fd socket = descriptor_of(task_, number);
    if (!socket) return others(std::string("a socket that cannot be looked at: ") + std::strerror(errno));
    const int family = option(socket, SO_DOMAIN), type = option(socket, SO_TYPE);
    const auto kind = policy::classify_socket(family, type, option(socket, SO_PROTOCOL));
    if (!policy::allows_socket(image_, kind)) {
      if (kind == SBPF_SOCKET_OTHER) return others("a socket of family " + std::to_string(family) + ", which no policy opens by name");
      return others((kind == SBPF_SOCKET_ALG ? "an " : "a ") + std::string(policy::to_string(kind)) + " socket");
    }
    if (family == AF_UNIX) return others(forbidden_unix(socket, number, image_, inside_));
    if ((family != AF_INET && family != AF_INET6) || (kind != SBPF_SOCKET_NORMAL && kind != SBPF_SOCKET_MPTCP && kind != SBPF_SOCKET_UDPLITE)) return;
    const auto flow = flow_of(socket, type == SOCK_STREAM);
    others(flow ? forbidden_part(*flow, image_) : "a connection that is being made");
  }

  void others(const std::string& what) {
    if (!what.empty()) before_.others.push_back(who_ + what);
  }

 private:
  // Read for the first socket: many tasks have none.
  const std::map<std::uint64_t, Flow>& tables() {
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
  std::string who_;
  std::optional<std::map<std::uint64_t, Flow>> tables_;
};

}  // namespace

std::vector<pid_t> tasks_with_descriptors(pid_t pid) {
  std::vector<pid_t> tasks{pid};
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/task", ec)) {
    const pid_t task = static_cast<pid_t>(std::strtol(entry.path().filename().c_str(), nullptr, 10));
    if (task != pid && ::syscall(SYS_kcmp, pid, task, KCMP_FILES, 0, 0) != 0) tasks.push_back(task);
  }
  return tasks;
}

namespace {

// A file by which the kernel is driven, by any mount and under any name: "" if it is none, else what it is. bpf/control.h has how the
// kernel's side tells them. What is written to a cgroup's moves a process, or has the kernel start a program. `mounts`: of the task,
// read once.
std::string control_file(const std::string& target, const std::string& fdinfo, const std::string& mountinfo, std::optional<std::vector<Mount>>& mounts) {
  constexpr std::string_view kNames[] = {"cgroup.procs", "cgroup.threads", "release_agent"};
  constexpr std::string_view kTypes[] = {"sysfs", "debugfs", "tracefs", "securityfs", "configfs", "binfmt_misc", "efivarfs", "fusectl", "bpf",
                                         "pstore", "selinuxfs", "resctrl", "rpc_pipefs", "nfsd", "xenfs"};
  if (!target.starts_with('/')) return "";
  const std::string_view name = std::string_view(target).substr(target.rfind('/') + 1);
  if (std::ranges::find(kNames, name) != std::end(kNames)) return "a cgroup file";  // whatever mount it is: one that is gone has no type
  const long id = fdinfo_number(fdinfo, "mnt_id:");
  if (!mounts) mounts = parse_mounts(read_file(mountinfo));
  const auto mount = std::ranges::find(*mounts, static_cast<std::uint32_t>(id), &Mount::id);
  if (mount == mounts->end()) return "";
  if (mount->type.starts_with("cgroup")) return "a cgroup file";
  // Below a number are the files of a process.
  const bool of_process = target.size() > mount->point.size() + 1 && std::isdigit(static_cast<unsigned char>(target[mount->point.size() + 1])) != 0;
  const bool control = mount->type == "proc" ? !of_process : std::ranges::find(kTypes, mount->type) != std::end(kTypes);
  return control ? "a file that drives the kernel" : "";
}

}  // namespace

void find_open_sockets(pid_t task, const policy::Image& image, const std::set<pid_t>& inside, OpenBefore& before) {
  const bool all = (image.header().flags & SBPF_POLICY_NET_ALLOW_ALL) != 0;
  const std::string proc = "/proc/" + std::to_string(task);
  Look look(task, image, inside, before);
  std::optional<std::vector<Mount>> mounts;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(proc + "/fd", ec)) {
    const std::string number = entry.path().filename(), fdinfo = proc + "/fdinfo/" + number;
    const std::string target = fs::read_symlink(entry.path(), ec).string();
    const long flags = fdinfo_number(fdinfo, "flags:", 8);
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;
    const struct statx info = stat_without_asking(entry.path());
    if (writes)
      if (const std::string what = control_file(target, fdinfo, proc + "/mountinfo", mounts); !what.empty())
        look.others(what + " open for writing: " + target);
    if (target == "anon_inode:[io_uring]" && fdinfo_number(fdinfo, "UserFiles:") != 0) look.others("descriptors that are registered with an io_uring");
    if ((image.header().flags & SBPF_POLICY_DEVICES) == 0 && (flags & O_PATH) == 0)
      if (const char* device = machine_device(info, writes); device != nullptr) look.others(std::string(device) + " open: " + target);
    if (all) continue;
    if (target.starts_with("socket:[")) {
      look.at_socket(std::stoull(target.substr(8)), std::stoi(number));
      if (fdinfo_number(fdinfo, "scm_fds:") != 0) look.others("descriptors that wait in an AF_UNIX socket");
    }
    if (!S_ISCHR(info.stx_mode)) continue;
    const char* device = network_device(::makedev(info.stx_rdev_major, info.stx_rdev_minor));
    if (device != nullptr && !policy::allows_socket(image, SBPF_SOCKET_TUN)) look.others(std::string(device) + " open");
  }
  // What is mapped needs no descriptor any more.
  if ((image.header().flags & SBPF_POLICY_DEVICES) == 0)
    for (const auto& entry : fs::directory_iterator(proc + "/map_files", ec))
      if (const char* device = machine_device(stat_without_asking(entry.path()), true); device != nullptr)
        look.others(std::string(device) + " mapped: " + fs::read_symlink(entry.path(), ec).string());
}

}  // namespace sbpf::agent
