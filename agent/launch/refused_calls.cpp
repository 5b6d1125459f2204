// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/refused_calls.h"

#include <bpf/bpf.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <fmt/core.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/file.h"

namespace sbpf::agent {
namespace {

// The kernel copies as much as its own structures have, which may be more than those of our headers.
constexpr std::size_t kRoom = 512;
static_assert(sizeof(seccomp_notif) < kRoom && sizeof(seccomp_notif_resp) < kRoom);

struct OneDescriptor {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> space{};
  char word = 0;
  iovec part{&word, 1};
  msghdr message{};
  OneDescriptor() {
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = space.data();
    message.msg_controllen = space.size();
  }
};

// Its /proc/PID/status would say all of this, but has a number for each of 65536 groups.
RefusedCall refused(const seccomp_notif& call) {
  const auto thread = static_cast<pid_t>(call.pid);
  RefusedCall refused{call.data.nr, thread, thread, 0, ""};
  const std::string path = fmt::format("/proc/{}", thread);
  std::error_code error;
  if (const std::filesystem::directory_iterator first(path + "/task", error); !error && first != end(first))
    refused.pid = std::atoi(first->path().filename().c_str());
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) refused.uid = info.st_uid;
  refused.program = read_file(path + "/comm");
  if (refused.program.ends_with('\n')) refused.program.pop_back();
  return refused;
}

}  // namespace

void ask(Launch& launch, int listener_to) {
  for (sock_filter& step : launch.filters.back())
    if (step.code == (BPF_RET | BPF_K) && step.k == (SECCOMP_RET_ERRNO | EPERM)) step.k = SECCOMP_RET_USER_NOTIF;
  launch.listener_to = listener_to;
}

Result<RefusedCalls> RefusedCalls::make(Launch& launch, const policy::Seccomp& seccomp) {
  const bool built_in =
      seccomp.kind == policy::SeccompKind::builtin_default || seccomp.kind == policy::SeccompKind::builtin_strict;
  if (!built_in) return RefusedCalls();
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail("spawn", SystemError{errno}, "cannot make a pair of sockets");
  RefusedCalls calls;
  calls.socket_ = Fd(ends[0]);
  calls.child_end_ = Fd(ends[1]);
  ask(launch, calls.child_end_.get());
  return calls;
}

std::uint64_t RefusedCalls::child_inode() const {
  struct stat info {};
  return child_end_ && ::fstat(child_end_.get(), &info) == 0 ? info.st_ino : 0;
}

int send_listener(int to, int listener) {
  OneDescriptor passed;
  cmsghdr* control = CMSG_FIRSTHDR(&passed.message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof listener);
  std::memcpy(CMSG_DATA(control), &listener, sizeof listener);
  return ::sendmsg(to, &passed.message, MSG_NOSIGNAL) == 1 ? 0 : errno;
}

// The socket is of no more use: the program's process sends one, or has ended without.
void RefusedCalls::take_listener() {
  OneDescriptor passed;
  const ssize_t n = ::recvmsg(socket_.get(), &passed.message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  socket_.reset();
  const cmsghdr* control = n == 1 ? CMSG_FIRSTHDR(&passed.message) : nullptr;
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) return;
  int listener = -1;
  std::memcpy(&listener, CMSG_DATA(control), sizeof listener);
  listener_ = Fd(listener);
}

// Who went away meanwhile is told of no more.
void RefusedCalls::answer(const std::function<void(const RefusedCall&)>& told) {
  alignas(seccomp_notif) std::array<char, kRoom> asked{}, answered{};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, asked.data()) != 0) return;
  seccomp_notif call{};
  std::memcpy(&call, asked.data(), sizeof call);
  // It waits for the answer, and so is still who it was.
  const RefusedCall who = refused(call);
  seccomp_notif_resp response{};
  response.id = call.id;
  response.error = -EPERM;
  std::memcpy(answered.data(), &response, sizeof response);
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, answered.data()) == 0) told(who);
}

void RefusedCalls::take(const std::function<void(const RefusedCall&)>& told) {
  if (!listener_) return take_listener();
  // The watch waits meanwhile.
  constexpr std::chrono::milliseconds kLongest{20};
  const auto until = std::chrono::steady_clock::now() + kLongest;
  // Without a caller that waits the kernel would let this one wait.
  for (; !is_over_rate() && std::chrono::steady_clock::now() < until; answered_++) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, 0) < 0 && errno == EINTR) continue;
    if ((waiting.revents & POLLHUP) != 0) return listener_.reset();  // nobody has the filter any more
    if ((waiting.revents & POLLIN) == 0) return;
    answer(told);
  }
}

void announce_call(const Kernel& kernel, std::uint64_t cgroup_id, const RefusedCall& call) {
  sbpf_announcement input{};
  input.cgroup_id = cgroup_id;
  input.reason = SBPF_REASON_SYSTEM_CALL;
  input.detail = static_cast<std::uint32_t>(call.number);
  input.verdict = SBPF_DENY;
  input.pid = static_cast<std::uint32_t>(call.pid);
  input.tid = static_cast<std::uint32_t>(call.thread);
  input.uid = call.uid;
  call.program.copy(input.name, sizeof input.name - 1);
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &input, .ctx_size_in = sizeof input);
  (void)bpf_prog_test_run_opts(kernel.query(Query::announce), &options);
}

Event event_of(const RefusedCall& call, const std::string& sandbox) {
  sbpf_fs_event raw{};
  raw.event.hook = SBPF_NO_HOOK;
  raw.event.domain = SBPF_DOMAIN_PROCESS;
  raw.event.verdict = SBPF_DENY;
  raw.event.reason = SBPF_REASON_SYSTEM_CALL;
  raw.event.sys_errno = EPERM;
  raw.event.times = 1;
  raw.event.tgid = static_cast<std::uint32_t>(call.pid);
  raw.event.tid = static_cast<std::uint32_t>(call.thread);
  raw.event.uid = call.uid;
  raw.event.task.detail = static_cast<std::uint32_t>(call.number);
  call.program.copy(raw.event.comm, sizeof raw.event.comm - 1);
  return explain_event(raw, sandbox, {});
}

}  // namespace sbpf::agent
