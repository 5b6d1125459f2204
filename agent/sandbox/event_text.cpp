// SPDX-License-Identifier: Apache-2.0
// What an event means, in words.
#include "agent/sandbox/events.h"

#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <cstring>
#include <optional>

#include "agent/host/fdinfo.h"
#include "agent/host/system_calls.h"
#include "agent/kernel/hooks.h"
#include "agent/sandbox/event_parts.h"
#include "bpf/capabilities.h"
#include "policy/image.h"

namespace sbpf::agent {
namespace {

std::string guard_text(const sbpf_event& e) {
  switch (e.hook) {
    case SBPF_HOOK_task_alloc:
      return "clone into another cgroup";
    case SBPF_HOOK_file_open:
    case SBPF_HOOK_file_receive:
      if (e.task.target_pid != 0)
        return fmt::format("use of a file of process {} outside the sandbox", e.task.target_pid);
      if (e.task.detail == SBPF_DETAIL_OWN_LOCK) return "open of a lock of sbpf's own";
      return e.reason == SBPF_REASON_LEAVE_CGROUP ? "write to a cgroup file" : "write to a file that drives the kernel";
    case SBPF_HOOK_file_fcntl:
    case SBPF_HOOK_file_ioctl:
    case SBPF_HOOK_file_ioctl_compat:
      // By the type of an ioctl: 'v' and ext4's 'f' set generations.
      if (const auto type = e.task.detail >> 8 & 0xff; type == 'v' || type == 'f')
        return "ioctl that sets a file's generation";
      return "signals of a descriptor to another process";
    case SBPF_HOOK_task_setnice:
    case SBPF_HOOK_task_setioprio:
    case SBPF_HOOK_task_setscheduler:
    case SBPF_HOOK_task_setrlimit:
      return fmt::format("{} of process {} outside the sandbox", all_hooks()[e.hook].name, e.task.target_pid);
    case SBPF_HOOK_bpf:
      return fmt::format("bpf(2) command {}", e.task.detail);
    case SBPF_HOOK_task_kill:
      return fmt::format("signal {} to process {} outside the sandbox", e.task.detail, e.task.target_pid);
    case SBPF_HOOK_ptrace_access_check:
    case SBPF_HOOK_ptrace_traceme:
      return fmt::format("tracing between the sandbox and process {} outside", e.task.target_pid);
    default:
      return fmt::format("{} on sbpf's or the system's own mounts", all_hooks()[e.hook].name);
  }
}

std::string task_text(const sbpf_event& event) {
  return fmt::format(" ({}, pid {})", std::string(event.comm, ::strnlen(event.comm, sizeof event.comm)), event.tgid);
}

// When the process began, ns of CLOCK_BOOTTIME.
std::optional<std::uint64_t> start_of(std::uint32_t pid) {
  const auto ticks = start_ticks(static_cast<pid_t>(pid));
  if (!ticks) return std::nullopt;
  return *ticks * (1000000000 / static_cast<std::uint64_t>(::sysconf(_SC_CLK_TCK)));
}

bool is_flow(const sbpf_event& event) {
  return event.reason == SBPF_REASON_FLOW || event.reason == SBPF_REASON_FLOW_ACCEPTED ||
         event.reason == SBPF_REASON_FLOW_ENDED;
}

// The program of a process, if it is the one of then.
std::string program_of(const sbpf_event& event) {
  if (event.tgid == 0) return "";
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink(fmt::format("/proc/{}/exe", event.tgid).c_str(), path.data(), path.size());
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

// Of the kernel's interfaces, of sbpf itself, and of what befell the sandbox.
bool explain_process(Event& event) {
  const sbpf_event& e = event.raw;
  switch (static_cast<sbpf_reason>(e.reason)) {
    case SBPF_REASON_TERMINAL:
      event.text = fmt::format("pseudo-terminal of a session outside, {}", device_text(e.task.detail));
      return true;
    case SBPF_REASON_LEAVE_CGROUP:
    case SBPF_REASON_GUARD:
      event.text = guard_text(e);
      return true;
    case SBPF_REASON_CAPABILITY:
      event.text = fmt::format("capability {}", policy::capability_name(e.task.detail));
      if (e.task.detail < SBPF_CAP_COUNT && e.task.detail != SBPF_CAP_BPF && e.task.detail != SBPF_CAP_PERFMON)
        event.relaxation =
            "process: {kernel: {dangerously_allow_capabilities: [" + policy::capability_name(e.task.detail) + "]}}";
      return true;
    case SBPF_REASON_KERNEL: {
      const auto interface = static_cast<sbpf_kernel_interface>(e.task.detail);
      event.text = fmt::format("kernel interface {}", policy::to_string(interface));
      if (policy::closed_by_default(interface))
        event.allow = fmt::format("process: {{kernel: {{allow: [{}]}}}}", policy::to_string(interface));
      return true;
    }
    case SBPF_REASON_SYSTEM_CALL:
      event.text = fmt::format("system call {}", system_call_name(static_cast<int>(e.task.detail)));
      event.relaxation = "process: {seccomp: dangerously_unconfined}";
      return true;
    case SBPF_REASON_NO_POLICY:
      event.text = "any operation: the sandbox has no policy";
      return true;
    case SBPF_REASON_MOVED_OUT:
      event.text = fmt::format("process {} was moved out of the sandbox by root outside", e.task.target_pid);
      return true;
    case SBPF_REASON_BREAK_GLASS:
      event.text =
          fmt::format("the glass was broken: for {} s the host's root may take sbpf's things down", e.task.detail);
      return true;
    case SBPF_REASON_ISOLATION_LOST:
      event.text = fmt::format("isolation was lost: {} parts of it were missing", e.task.detail);
      return true;
    case SBPF_REASON_ISOLATION_RESTORED:
      event.text = fmt::format("isolation is restored, after {} s at most", e.task.detail);
      return true;
    default:
      return false;
  }
}

// Words and suggestion of one event; the reason decides which of its fields mean something.
void explain_into(Event& event) {
  if (explain_network(event) || explain_flow(event) || explain_files(event) || explain_process(event)) return;
  event.text = fmt::format("unknown reason {}", event.raw.reason);
}

}  // namespace

std::string device_text(std::uint32_t number) {
  return std::to_string(number >> SBPF_MINOR_BITS) + ":" + std::to_string(number & ((1u << SBPF_MINOR_BITS) - 1));
}

Event explain_event(const sbpf_fs_event& raw, const std::string& sandbox, const std::vector<Mount>& its_own) {
  Event event;
  event.raw = raw.event;
  event.sandbox = sandbox;
  if (is_of_name(raw.event)) {
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
  if (raw.n_names + raw.at_root > 0) read_path(raw, its_own, event);
  explain_into(event);
  event.text += task_text(raw.event);
  return event;
}

}  // namespace sbpf::agent
