// SPDX-License-Identifier: Apache-2.0
#include "agent/guard.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <syslog.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "agent/inodes.h"
#include "agent/mounts.h"
#include "agent/sandbox.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kNsPerSecond = 1000000000;
constexpr unsigned kMinorBits = 20;  // of the kernel's dev_t

std::string reason_of(const sbpf_guard& guard) {
  return std::string(guard.reason, ::strnlen(guard.reason, sizeof guard.reason));
}

// The mount that this process sees at `point`, and the one below it; the last one covers those before.
bool find_mount(const std::string& point, std::uint32_t& id, std::uint32_t& parent) {
  bool found = false;
  for (const Mount& mount : own_mounts()) {
    if (mount.point != point) continue;
    id = mount.id;
    parent = mount.parent;
    found = true;
  }
  return found;
}

}  // namespace

Result<void> become_agent(const Kernel& kernel) {
  Fd self(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  auto inodes = open_inodes(kernel);
  if (!inodes) return tl::unexpected<Error>(inodes.error());
  const auto found = inodes->find(self.get());
  if (found == inodes->end())
    return fail("guard", "sbpf cannot tell which executable it is", "run it from a file, with /proc mounted", errno);
  sbpf_fs_inode& agent = kernel.globals().guard.agent;
  agent.dev = found->second.dev;
  agent.generation = found->second.generation;
  __atomic_store_n(&agent.ino, found->second.ino, __ATOMIC_SEQ_CST);  // the last: with it the guard begins
  return {};
}

Result<Fd> lock_host_to_load() {
  using namespace std::chrono_literals;
  const auto makes = [](const char* name) {
    return Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(std::uint32_t), sizeof(std::uint32_t), 1, nullptr));
  };
  for (auto left = 20s / 20ms; !Kernel::is_pinned() && !makes("sbpf_guarded"); left--) {
    // Whoever may not make any map is told so by the load, with what lacks.
    if (errno != EPERM || !makes("anyone")) break;
    if (left == 0)
      return fail("guarded", "programs of another sbpf executable are unloaded but still held by a process",
                  "end what still runs of it (`sbpf run`, `sbpf events --follow`), then start again", EPERM);
    std::this_thread::sleep_for(20ms);
  }
  return lock_host();
}

Result<void> guard_pins(const Kernel& kernel, const std::string& directory) {
  sbpf_guard& guard = kernel.globals().guard;
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0)
    return fail("guard", "cannot find " + directory + ": " + std::strerror(errno), "", errno);
  // Unknown where bpffs is no mount of its own here: then only its entries are guarded.
  (void)find_mount("/sys/fs/bpf", guard.pins_mount, guard.pins_parent);
  guard.pins_ino = info.st_ino;
  __atomic_store_n(&guard.pins_dev, major(info.st_dev) << kMinorBits | minor(info.st_dev), __ATOMIC_SEQ_CST);
  return {};
}

std::optional<Degradation> guard_degradation(const Kernel& kernel) {
  const sbpf_guard& guard = kernel.globals().guard;
  const std::uint64_t now = boottime_ns();
  if (guard.open_until > now)
    return Degradation{"break-glass", "closed",
                       "open for " + std::to_string((guard.open_until - now) / kNsPerSecond + 1) + " s",
                       "host root may take sbpf's things down: " + reason_of(guard)};
  if (guard.let_through > 0)
    return Degradation{"break-glass", "closed", std::to_string(guard.let_through) + " operations let through",
                       "what they changed cannot all be read back (" + reason_of(guard) +
                           "): end the sandboxes and run `sbpf unload`"};
  return std::nullopt;
}

void announce_to(const Kernel& kernel, std::uint64_t cgroup_id, sbpf_reason reason, std::uint32_t detail) {
  sbpf_announcement input{};
  input.cgroup_id = cgroup_id;
  input.reason = reason;
  input.detail = detail;
  input.verdict = SBPF_ALLOW;
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &input, .ctx_size_in = sizeof input);
  (void)bpf_prog_test_run_opts(kernel.announce(), &options);
}

void announce(const Kernel& kernel, sbpf_reason reason, std::uint32_t detail) {
  for (const sbpf_sandbox& record : records(kernel)) announce_to(kernel, record.cgroup_id, reason, detail);
}

void audit(const std::string& text) {
  ::openlog("sbpf", LOG_PID, LOG_AUTH);
  ::syslog(LOG_WARNING, "%s (uid %u, parent %d)", text.c_str(), ::getuid(), ::getppid());
  ::closelog();
}

Result<void> break_glass(const std::string& reason, std::chrono::seconds window) {
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  sbpf_guard& guard = kernel->globals().guard;
  if (window.count() == 0) {
    audit("break-glass window closed");
    __atomic_store_n(&guard.open_until, std::uint64_t{0}, __ATOMIC_SEQ_CST);
    return {};
  }
  // Told before it opens: afterwards who tells could be gone.
  audit("break-glass for " + std::to_string(window.count()) + " s: " + reason);
  announce(*kernel, SBPF_REASON_BREAK_GLASS, static_cast<std::uint32_t>(window.count()));
  std::memset(guard.reason, 0, sizeof guard.reason);
  std::memcpy(guard.reason, reason.data(), std::min(reason.size(), sizeof guard.reason - 1));
  const std::uint64_t until = boottime_ns() + static_cast<std::uint64_t>(window.count()) * kNsPerSecond;
  __atomic_store_n(&guard.open_until, until, __ATOMIC_SEQ_CST);
  return {};
}

}  // namespace sbpf::agent
