// SPDX-License-Identifier: Apache-2.0
// The reference model of network rules (tests/decide/net_model.h) against the kernel: random policies, and random
// sequences of system calls in a sandbox of each. A call that the model refuses must fail, with EPERM where nothing
// else is wrong with it; one that it allows must not fail with EPERM; and of all that arrives at servers outside,
// nothing may have been sent where the model allows nothing.
//   net_differential [SECONDS] [SEED]    the test; the seed is random and printed
//   net_differential steps SEED          inside the sandbox: makes the calls and prints each errno
// Speaks the contract of tests/vm/README.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <thread>

#include "base/fd.h"
#include "tests/live/net_steps.h"

namespace {

using namespace sbpf;
using namespace sbpf::live;
using net_model::Address;
using net_model::Proto;

// ---- inside ----

struct Sockaddr {
  sockaddr_storage storage{};
  socklen_t size = 0;
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

Sockaddr to_sockaddr(const Endpoint& to) {
  Sockaddr out;
  if (net_model::is_v4(to.address) && to.native) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    v4->sin_family = AF_INET;
    std::memcpy(&v4->sin_addr, to.address.bytes.data() + 12, 4);
    v4->sin_port = htons(static_cast<std::uint16_t>(to.port));
    out.size = sizeof *v4;
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    v6->sin6_family = AF_INET6;
    std::memcpy(&v6->sin6_addr, to.address.bytes.data(), 16);
    v6->sin6_port = htons(static_cast<std::uint16_t>(to.port));
    out.size = sizeof *v6;
  }
  return out;
}

int errno_of(long result) { return result < 0 ? errno : 0; }

int send_two(int fd, const Step& step) {
  Sockaddr to[2] = {to_sockaddr(step.to), to_sockaddr(step.also)};
  iovec data[2] = {{const_cast<char*>("one"), 3}, {const_cast<char*>("two"), 3}};
  mmsghdr messages[2]{};
  for (std::size_t i = 0; i < 2; i++) {
    messages[i].msg_hdr.msg_name = to[i].get();
    messages[i].msg_hdr.msg_namelen = to[i].size;
    messages[i].msg_hdr.msg_iov = &data[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  // One by one: several with addresses in one call are refused, whoever they are for.
  const int error = errno_of(::sendmmsg(fd, messages, 1, MSG_DONTWAIT | MSG_NOSIGNAL));
  if (error == 0) (void)::sendmmsg(fd, messages + 1, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  return error;
}

// The same socket, through a message.
int pass(int& fd) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return errno;
  const Fd from(pair[0]), to(pair[1]);
  char byte = 'x', space[CMSG_SPACE(sizeof(int))] = {};
  iovec data{&byte, 1};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (::sendmsg(from.get(), &message, MSG_NOSIGNAL) < 0 || ::recvmsg(to.get(), &message, MSG_CMSG_CLOEXEC) < 0)
    return errno;
  ::close(fd);
  std::memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
  return 0;
}

int make_call(const Step& step, int& fd) {
  Sockaddr to = to_sockaddr(step.to);
  switch (step.call) {
    case Call::open: {
      const int opened = ::socket(step.v6 ? AF_INET6 : AF_INET,
                                  (step.tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (opened < 0) return errno;
      if (fd >= 0) ::close(fd);
      fd = opened;
      return 0;
    }
    case Call::any_socket: {
      const Fd opened(::socket(step.family, step.type | SOCK_CLOEXEC, step.protocol));
      return opened ? 0 : errno;
    }
    case Call::connect:
      return errno_of(::connect(fd, to.get(), to.size));
    case Call::disconnect: {
      sockaddr nobody{};
      return errno_of(::connect(fd, &nobody, sizeof nobody));
    }
    case Call::bind:
      return errno_of(::bind(fd, to.get(), to.size));
    case Call::send:
      return errno_of(::send(fd, "sent", 4, MSG_DONTWAIT | MSG_NOSIGNAL));
    case Call::sendto:
      return errno_of(::sendto(fd, "to", 2, MSG_DONTWAIT | MSG_NOSIGNAL, to.get(), to.size));
    case Call::fast_open:
      return errno_of(::sendto(fd, "fast", 4, MSG_FASTOPEN | MSG_DONTWAIT | MSG_NOSIGNAL, to.get(), to.size));
    case Call::sendmsg: {
      iovec data{const_cast<char*>("msg"), 3};
      const msghdr message{to.get(), to.size, &data, 1, nullptr, 0, 0};
      return errno_of(::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
    }
    case Call::sendmmsg:
      return send_two(fd, step);
    case Call::pass:
      return fd < 0 ? EBADF : pass(fd);
    case Call::dup: {
      const int copy = ::dup(fd);
      if (copy < 0) return errno;
      ::close(fd);
      fd = copy;
      return 0;
    }
    case Call::close: {
      const int result = errno_of(::close(fd));
      fd = -1;
      return result;
    }
  }
  return ENOSYS;
}

// Calls FUNCTION in DEPTH processes below this one; its errno comes back as their exit code.
int below(int depth, const std::function<int()>& function) {
  if (depth == 0) return function();
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(below(depth - 1, function));
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return 255;
  return WEXITSTATUS(status);
}

int take(const Step& step, int& fd) {
  if (step.by == By::child) return below(1, [&] { return make_call(step, fd); });
  if (step.by == By::grandchild) return below(2, [&] { return make_call(step, fd); });
  if (step.by == By::self) return make_call(step, fd);
  int result = 0;
  std::thread([&] { result = make_call(step, fd); }).join();
  return result;
}

int print_steps(std::uint64_t seed) {
  Dice dice(seed);
  (void)random_policy(dice);
  int slots[kSlots];
  for (int& slot : slots) slot = -1;
  std::array<int, kSteps> results{};
  for (int& result : results) {
    const Step step = random_step(dice);
    result = take(step, slots[step.slot]);
  }
  for (const int result : results) std::printf("%d\n", result);
  return 0;
}

// ---- outside ----

struct Server {
  Fd fd;
  int port;
  Proto proto;
  bool v6;
};

std::vector<Server> start_servers() {
  std::vector<Server> servers;
  const int on = 1;
  for (int i = 0; i < kPorts; i++)
    for (const bool v6 : {false, true})
      for (const Proto proto : {Proto::tcp, Proto::udp}) {
        Server server{Fd(::socket(v6 ? AF_INET6 : AF_INET,
                                  (proto == Proto::tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)),
                      kFirstPort + i, proto, v6};
        if (v6) ::setsockopt(server.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
        if (v6) ::setsockopt(server.fd.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on);
        if (!v6) ::setsockopt(server.fd.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on);
        Sockaddr any = to_sockaddr({parse_address(v6 ? "::" : "0.0.0.0"), server.port, true});
        if (::bind(server.fd.get(), any.get(), any.size) != 0) return {};
        if (proto == Proto::tcp && ::listen(server.fd.get(), 512) != 0) return {};
        servers.push_back(std::move(server));
      }
  return servers;
}

Address mapped(const in_addr& v4) {
  Address address;
  address.bytes[10] = address.bytes[11] = 0xff;
  std::memcpy(address.bytes.data() + 12, &v4, 4);
  return address;
}

// The address that a datagram or a connection was sent to; false: there is none.
bool next_arrival(const Server& server, Address& to) {
  if (server.proto == Proto::tcp) {
    const Fd connection(::accept4(server.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    if (!connection || ::getsockname(connection.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return false;
    if (server.v6)
      std::memcpy(to.bytes.data(), &reinterpret_cast<sockaddr_in6*>(&own)->sin6_addr, 16);
    else
      to = mapped(reinterpret_cast<sockaddr_in*>(&own)->sin_addr);
    return true;
  }
  char data[64], space[256];
  iovec buffer{data, sizeof data};
  msghdr message{nullptr, 0, &buffer, 1, space, sizeof space, 0};
  if (::recvmsg(server.fd.get(), &message, MSG_DONTWAIT) < 0) return false;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO)
      to = mapped(reinterpret_cast<const in_pktinfo*>(CMSG_DATA(header))->ipi_addr);
    if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO)
      std::memcpy(to.bytes.data(), CMSG_DATA(header), 16);
  }
  return true;
}

// The kernel takes the wildcard as a destination for loopback: who may send there may send here.
bool may_arrive(const net_model::Policy& policy, const Server& server, const Address& to) {
  std::vector<std::string> spellings = {to_string(to)};
  if (spellings[0] == "127.0.0.1") spellings.insert(spellings.end(), {"0.0.0.0", "::"});
  if (spellings[0] == "::1") spellings.emplace_back("::");
  for (const std::string& spelling : spellings)
    if (net_model::allows_connect(policy.connect, parse_address(spelling), server.port, server.proto)) return true;
  return false;
}

struct Outcome {
  long policies = 0, wrong = 0, arrived = 0;
  std::array<long, kCalls> refused{}, allowed{};
  std::string first;  // disagreements

  void disagree(std::uint64_t seed, const std::string& what) {
    if (wrong++ < 5) first += "steps " + std::to_string(seed) + ": " + what + "; ";
  }
};

void judge(Outcome& outcome, std::uint64_t seed, const net_model::Policy& policy, int number, const Step& step,
           const Slot& slot, int error) {
  const auto call = static_cast<std::size_t>(step.call);
  const std::string said = std::to_string(number) + ", " + to_string(step) + ": errno " + std::to_string(error);
  if (error == EPERM) outcome.refused[call]++;
  const bool done = error == 0 || error == EINPROGRESS;
  if (done) outcome.allowed[call]++;
  switch (verdict(policy, step, slot)) {
    case Verdict::refuse:
      // Something else may be wrong with it, and be found first; these are found after the hooks. (A socket that is
      // bound to an IPv6 address finds no way to IPv4 before them.)
      if (done || error == ECONNREFUSED || (error == ENETUNREACH && !slot.bound))
        outcome.disagree(seed, said + ", the model refuses");
      break;
    case Verdict::allow:
      if (error == EPERM || error == 255) outcome.disagree(seed, said + ", the model allows");
      break;
    case Verdict::either:
      break;
  }
}

void compare(Outcome& outcome, const std::vector<Server>& servers, const std::string& self, std::uint64_t seed) {
  Dice dice(seed);
  const net_model::Policy policy = random_policy(dice);
  const std::string file = "/tmp/net_differential.yaml";
  std::ofstream(file) << to_yaml(policy);
  FILE* pipe = ::popen(
      ("sbpf run -q --policy " + file + " -- " + self + " steps " + std::to_string(seed) + " 2>/dev/null").c_str(),
      "r");
  Slots slots;
  int number = 0, error = 0;
  while (pipe != nullptr && number < kSteps && std::fscanf(pipe, "%d", &error) == 1) {
    const Step step = random_step(dice);
    judge(outcome, seed, policy, number++, step, slots.of(step), error);
    slots.after(step);
  }
  if (pipe == nullptr || ::pclose(pipe) != 0 || number != kSteps)
    outcome.disagree(seed, "ended after " + std::to_string(number) + " steps");
  for (const Server& server : servers)
    for (Address to; next_arrival(server, to); outcome.arrived++)
      if (!may_arrive(policy, server, to))
        outcome.disagree(seed, "something arrived at " + to_string(to) + " port " + std::to_string(server.port));
  outcome.policies++;
}

int check(const char* name, bool good, const std::string& why) {
  if (good)
    std::printf("ok net-differential/%s\n", name);
  else
    std::printf("not ok net-differential/%s: %s\n", name, why.c_str());
  return good ? 0 : 1;
}

int tell(const Outcome& outcome) {
  std::string missing;
  for (std::size_t call = 0; call < kCalls; call++) {
    std::printf("%s: %ld refused, %ld done\n", kCallNames[call], outcome.refused[call], outcome.allowed[call]);
    const Call kind = static_cast<Call>(call);
    const bool judged = kind == Call::any_socket || kind == Call::connect || kind == Call::bind ||
                        kind == Call::sendto || kind == Call::sendmsg || kind == Call::sendmmsg ||
                        kind == Call::fast_open;
    if (judged && outcome.refused[call] == 0) missing += std::string(" ") + kCallNames[call] + " refused";
    if (outcome.allowed[call] == 0) missing += std::string(" ") + kCallNames[call] + " done";
  }
  std::printf("%ld policies of %d steps, %ld arrivals\n", outcome.policies, kSteps, outcome.arrived);
  int failed = check("agrees", outcome.wrong == 0, std::to_string(outcome.wrong) + " differ; " + outcome.first);
  failed += check("both-verdicts-of-all-calls", missing.empty(), "never" + missing);
  failed += check("servers-are-reached", outcome.arrived >= 2 * outcome.policies,
                  std::to_string(outcome.arrived) + " arrivals");
  std::printf("done 3\n");
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "steps") == 0) return print_steps(std::strtoull(argv[2], nullptr, 10));
  char self[4096] = {};
  if (::readlink("/proc/self/exe", self, sizeof self - 1) < 0) return 2;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 1 ? std::atol(argv[1]) : 60);
  std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const std::vector<Server> servers = start_servers();
  if (servers.empty()) {
    std::printf("not ok net-differential/servers: cannot be started\ndone 1\n");
    return 1;
  }
  Outcome outcome;
  // Some policies at least, however slow the machine: a few do not show every call both ways.
  while (std::chrono::steady_clock::now() < end || outcome.policies < 20) compare(outcome, servers, self, seed++);
  return tell(outcome);
}
