// SPDX-License-Identifier: Apache-2.0
// By sock_diag(7), which names a socket's cgroup and can end it.
#include "agent/sandbox/connections.h"

#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>
#include <utility>

#include "agent/host/network_namespace.h"
#include "agent/host/resolver_cgroup.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kHeldStates = ~(1u << TCP_TIME_WAIT);  // nobody holds what waits

tl::unexpected<Error> connections_error(const char* what) {
  const int error = errno;
  return fail("flows",
              SystemError{error, error == EOPNOTSUPP ? "the kernel needs CONFIG_INET_DIAG_DESTROY"
                                 : error == ENOENT   ? "the kernel needs the modules inet_diag, tcp_diag and udp_diag"
                                                     : ""},
              "cannot {}", what);
}

struct Request {
  nlmsghdr header;
  inet_diag_req_v2 body;
};

Request request_of(std::uint16_t type, std::uint16_t flags, int family, int protocol) {
  Request request{};
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = type;
  request.header.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | flags);
  request.body.sdiag_family = static_cast<std::uint8_t>(family);
  request.body.sdiag_protocol = static_cast<std::uint8_t>(protocol);
  request.body.idiag_states = kHeldStates;
  return request;
}

// A socket as the kernel lists it.
struct Listed {
  Connection flow;
  int family = 0, protocol = 0;
  inet_diag_sockid id{};
  std::uint64_t cgroup_id = 0, inode = 0;
  std::uint64_t cookie() const { return std::uint64_t{id.idiag_cookie[1]} << 32 | id.idiag_cookie[0]; }
};

policy::Address address_of(int family, const std::uint32_t (&words)[4]) {
  return policy::address_from(words, family == AF_INET ? 4 : 16);
}

Listed listed_of(const nlmsghdr& header, int protocol) {
  const auto* message = static_cast<const inet_diag_msg*>(NLMSG_DATA(&header));
  Listed listed;
  listed.family = message->idiag_family;
  listed.protocol = protocol;
  listed.id = message->id;
  listed.inode = message->idiag_inode;
  listed.flow.tcp = protocol == IPPROTO_TCP;
  listed.flow.listens = listed.flow.tcp && message->idiag_state == TCP_LISTEN;
  listed.flow.local = address_of(listed.family, message->id.idiag_src);
  listed.flow.remote = address_of(listed.family, message->id.idiag_dst);
  listed.flow.local_port = ntohs(message->id.idiag_sport);
  listed.flow.remote_port = ntohs(message->id.idiag_dport);
  auto left = static_cast<int>(header.nlmsg_len - NLMSG_LENGTH(sizeof *message));
  for (const auto* part = reinterpret_cast<const nlattr*>(message + 1); left >= static_cast<int>(sizeof *part);) {
    if (part->nla_len < sizeof *part || part->nla_len > left) break;
    if (part->nla_type == INET_DIAG_CGROUP_ID && part->nla_len >= sizeof *part + sizeof listed.cgroup_id)
      std::memcpy(&listed.cgroup_id, part + 1, sizeof listed.cgroup_id);
    const int size = NLA_ALIGN(part->nla_len);
    left -= size;
    part = reinterpret_cast<const nlattr*>(reinterpret_cast<const char*>(part) + size);
  }
  return listed;
}

// The network namespace that the calling thread is in.
class Diag {
 public:
  Diag() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}

  Result<void> list(int family, int protocol, std::vector<Listed>& out) {
    const Request request = request_of(SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, family, protocol);
    if (!socket_ || ::send(socket_.get(), &request, sizeof request, 0) != sizeof request)
      return connections_error("list the sandbox's sockets");
    alignas(nlmsghdr) std::array<char, 65536> buffer;
    while (true) {
      const ssize_t n = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return connections_error("list the sandbox's sockets");
      auto left = static_cast<unsigned>(n);
      for (auto* header = reinterpret_cast<nlmsghdr*>(buffer.data()); NLMSG_OK(header, left);
           header = NLMSG_NEXT(header, left)) {
        if (header->nlmsg_type == NLMSG_DONE) return {};
        if (header->nlmsg_type == NLMSG_ERROR) {
          errno = -static_cast<const nlmsgerr*>(NLMSG_DATA(header))->error;
          return connections_error("list the sandbox's sockets");
        }
        out.push_back(listed_of(*header, protocol));
      }
    }
  }

  Result<void> destroy(const Listed& listed) {
    Request request = request_of(SOCK_DESTROY, NLM_F_ACK, listed.family, listed.protocol);
    request.body.id = listed.id;
    struct {
      nlmsghdr header;
      nlmsgerr error;
      std::array<char, 512> rest;
    } answer;
    if (::send(socket_.get(), &request, sizeof request, 0) != sizeof request ||
        ::recv(socket_.get(), &answer, sizeof answer, 0) < static_cast<ssize_t>(NLMSG_LENGTH(sizeof answer.error)))
      return connections_error("end a socket of the sandbox");
    errno = -answer.error.error;
    if (errno == 0 || errno == ENOENT) return {};  // gone by itself
    return connections_error("end a socket of the sandbox");
  }

  const Fd& socket() const { return socket_; }

 private:
  Fd socket_;
};

void turn_round(Connection& flow) {
  std::swap(flow.local, flow.remote);
  std::swap(flow.local_port, flow.remote_port);
}

// What the policy forbids of the sockets in this thread's network namespace that `concerns` picks, as it leaves them,
// goes to `found`.
// `own_netns`: sbpf_sandbox.own_netns.
using Found = std::function<Result<void>(Diag&, const Listed&, const std::string&)>;
Result<void> look_here(const Kernel& kernel, const policy::Image& image, std::uint64_t own_netns,
                       const std::function<bool(Listed&)>& concerns, const Found& found) {
  Diag diag;
  const auto netns = network_cookie(diag.socket());
  const bool in_own_netns = own_netns != 0 && netns && *netns == own_netns;
  std::vector<Listed> all;
  for (const int family : {AF_INET, AF_INET6})
    for (const int protocol : {IPPROTO_TCP, IPPROTO_UDP})
      if (auto listed = diag.list(family, protocol, all); !listed) return listed;
  // To list a socket gives it its cookie.
  auto proxied = proxied_connections(kernel);
  if (!proxied) return tl::unexpected<Error>(proxied.error());
  std::map<std::uint64_t, ProxiedConnection> by_cookie;
  for (const ProxiedConnection& one : *proxied) by_cookie.emplace(one.cookie, one);
  for (Listed& listed : all) {
    if (const auto at = by_cookie.find(listed.cookie()); at != by_cookie.end()) listed.flow.proxied = at->second;
    listed.flow.in_own_netns = in_own_netns;
    if (!concerns(listed)) continue;
    const std::string part = forbidden_part(listed.flow, image);
    if (part.empty()) continue;
    if (auto told = found(diag, listed, part); !told) return told;
  }
  return {};
}

// In a thread of its own, which ends there.
Result<void> in_namespace(int network, const std::function<Result<void>()>& work) {
  Result<void> result;
  std::thread([&] {
    if (::setns(network, CLONE_NEWNET) != 0)
      result = connections_error("enter the sandbox's network namespace");
    else
      result = work();
  }).join();
  return result;
}

std::set<std::uint64_t> cgroups_of(const Cgroup& cgroup) {
  std::set<std::uint64_t> ids{cgroup.id()};
  std::error_code ec;
  for (const auto& entry : fs::recursive_directory_iterator(cgroup.path(), ec))
    if (entry.is_directory(ec))
      if (auto child = Cgroup::open(entry.path())) ids.insert(child->id());
  return ids;
}

}  // namespace

std::string forbidden_part(const Connection& flow, const policy::Image& image) {
  if ((image.header().flags & SBPF_POLICY_NET_ALLOW_ALL) != 0) return "";
  const auto allowed = [&](sbpf_rule_kind kind, const policy::Address& address, std::uint16_t port, bool in_own_netns,
                           std::uint32_t* rule = nullptr) {
    policy::NetQuery query;
    query.kind = kind;
    query.proto = flow.tcp ? SBPF_PROTO_TCP : SBPF_PROTO_UDP;
    query.address = address;
    query.port = port;
    query.in_own_netns = in_own_netns;
    return policy::allows(image, query, rule);
  };
  const auto text = [](const policy::Address& address, std::uint16_t port) {
    return policy::to_string(address) + ":" + std::to_string(port);
  };
  const auto local_allowed = [&](bool in_own_netns) {
    return allowed(SBPF_RULE_BIND, flow.local, flow.local_port, in_own_netns);
  };
  if (flow.listens)
    return local_allowed(flow.in_own_netns) ? "" : "listens on tcp " + text(flow.local, flow.local_port);
  // The reply of a server: its listener's address is the one that a rule must allow. That all of its own loopback is
  // open to it is no such rule, or a client bound there would be taken for a server.
  if (flow.remote_port == 0 || (!flow.by_relay && local_allowed(false))) return "";
  const policy::Address& to = flow.proxied ? flow.proxied->address : flow.remote;
  const std::uint16_t port = flow.proxied ? flow.proxied->port : flow.remote_port;
  std::uint32_t rule = policy::kNoRule;
  const std::optional<policy::Via> via = flow.proxied ? std::optional(flow.proxied->proxy) : std::nullopt;
  // It must go where the policy leads it, too.
  if (allowed(SBPF_RULE_CONNECT, to, port, flow.in_own_netns, &rule) && policy::via_of(image, rule) == via) return "";
  return fmt::format("{} connection to {}", flow.tcp ? "tcp" : "udp", text(to, port));
}

namespace {

// In each network namespace that a process of the cgroup is in, and in the host's: who holds a socket may be elsewhere.
Result<void> look_in_networks(const Cgroup& cgroup, const std::function<Result<void>()>& work) {
  auto pids = cgroup.processes();
  if (!pids) return tl::unexpected<Error>(pids.error());
  pids->push_back(1);
  std::map<ino_t, Fd> networks;
  for (const pid_t pid : *pids) {
    Fd network(::open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (network && ::fstat(network.get(), &info) == 0) networks.try_emplace(info.st_ino, std::move(network));
  }
  for (const auto& [inode, network] : networks)
    if (auto done = in_namespace(network.get(), work); !done) return done;
  return {};
}

}  // namespace

Result<std::vector<std::string>> cut_connections(const Kernel& kernel, const Cgroup& cgroup, const policy::Image& image,
                                                 const std::set<std::uint64_t>& inodes) {
  std::vector<std::string> cut;
  if ((image.header().flags & SBPF_POLICY_AUDIT) != 0) return cut;  // it only tells
  const std::set<std::uint64_t> cgroups = cgroups_of(cgroup);
  const auto record = find_record(kernel, cgroup.id());
  const std::uint64_t own_netns = record ? record->own_netns : 0;
  Result<std::optional<Cgroup>> relay;
  if (own_netns != 0) relay = open_resolver_cgroup(relay_of(record->name));
  if (!relay) return tl::unexpected<Error>(relay.error());
  const auto concerns = [&](Listed& one) {
    if (cgroups.contains(one.cgroup_id) || inodes.contains(one.inode)) return true;
    one.flow.by_relay = one.flow.in_own_netns || (*relay && one.cgroup_id == (*relay)->id());
    // In the sandbox's own network they are the other ends of its connections, which may be closed by now.
    if (one.flow.in_own_netns) turn_round(one.flow);
    return one.flow.by_relay && !one.flow.listens && one.flow.local_port != 0;
  };
  std::set<std::string> cut_of_relay;
  const Found end = [&](Diag& diag, const Listed& one, const std::string& part) -> Result<void> {
    if (auto destroyed = diag.destroy(one); !destroyed) return destroyed;
    if (one.flow.by_relay)
      cut_of_relay.insert(part);
    else
      cut.push_back(part);
    return {};
  };
  // Twice: a connect that the old policy let through may become a socket that is listed only then.
  for (int pass = 0; pass < 2; pass++)
    if (auto done = look_in_networks(cgroup, [&] { return look_here(kernel, image, own_netns, concerns, end); }); !done)
      return tl::unexpected<Error>(done.error());
  std::erase_if(cut_of_relay, [&](const std::string& part) { return std::ranges::find(cut, part) != cut.end(); });
  cut.insert(cut.end(), cut_of_relay.begin(), cut_of_relay.end());
  return cut;
}

Result<std::vector<std::string>> connections_held_outside(const Kernel& kernel, const Cgroup& cgroup,
                                                          const policy::Image& image,
                                                          const std::set<std::uint64_t>& held_inside) {
  std::vector<std::string> found;
  if ((image.header().flags & SBPF_POLICY_NET_ALLOW_ALL) != 0) return found;
  const std::set<std::uint64_t> cgroups = cgroups_of(cgroup);
  // One without an inode is being closed, or waits to be accepted: nobody holds it.
  const auto concerns = [&](const Listed& one) {
    return one.inode != 0 && cgroups.contains(one.cgroup_id) && !held_inside.contains(one.inode);
  };
  const Found note = [&](Diag&, const Listed&, const std::string& part) -> Result<void> {
    found.push_back(fmt::format("{}, held by a process outside", part));
    return {};
  };
  if (auto done = look_in_networks(cgroup, [&] { return look_here(kernel, image, 0, concerns, note); }); !done)
    return tl::unexpected<Error>(done.error());
  return found;
}

}  // namespace sbpf::agent
