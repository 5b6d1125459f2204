// SPDX-License-Identifier: Apache-2.0
#include "agent/host.h"

#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "agent/bring_up.h"
#include "agent/canary.h"
#include "agent/change.h"
#include "agent/fs_view.h"
#include "agent/guard.h"
#include "agent/kernel.h"
#include "agent/sandbox.h"
#include "base/file.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace {

Check check(std::string name, std::string domain, std::string probe) {
  Check c;
  c.name = std::move(name);
  c.domain = std::move(domain);
  c.probe = std::move(probe);
  c.ok = true;
  return c;
}

Check& broken(Check& c, std::string reason, std::string fix) {
  c.ok = false;
  c.reason = std::move(reason);
  c.fix = std::move(fix);
  return c;
}

Check check_cgroup2() {
  Check c = check("cgroup2", "all", "find the cgroup2 mount of the host's hierarchy");
  if (auto mount = cgroup2_mount(); !mount) broken(c, mount.error().message, mount.error().hint);
  return c;
}

Check check_bpffs() {
  Check c = check("bpffs", "all", "statfs /sys/fs/bpf");
  struct statfs info {};
  if (::statfs("/sys/fs/bpf", &info) != 0 || info.f_type != BPF_FS_MAGIC)
    broken(c, "no bpffs is mounted at /sys/fs/bpf", "mount -t bpf bpf /sys/fs/bpf");
  return c;
}

Check check_btf() {
  Check c = check("btf", "all", "read /sys/kernel/btf/vmlinux");
  if (::access("/sys/kernel/btf/vmlinux", R_OK) != 0)
    broken(c, std::string("/sys/kernel/btf/vmlinux cannot be read: ") + std::strerror(errno),
           "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian 12's are), and do not hide /sys/kernel/btf");
  return c;
}

Check check_lsm() {
  Check c = check("lsm", "all", "look for bpf in /sys/kernel/security/lsm");
  const std::string list = read_file("/sys/kernel/security/lsm");
  if (bpf_lsm_active()) return c;
  if (list.empty())
    return broken(c, "/sys/kernel/security/lsm cannot be read", "mount -t securityfs securityfs /sys/kernel/security");
  return broken(c, "the kernel's active LSM list is " + list + ": without bpf, LSM programs attach and never run",
                "add to the kernel command line: lsm=" + list + ",bpf");
}

Check check_lockdown() {
  Check c = check("lockdown", "network", "read /sys/kernel/security/lockdown");
  const std::string modes = read_file("/sys/kernel/security/lockdown");
  if (modes.find("[confidentiality]") != std::string::npos)
    broken(c, "kernel lockdown is in confidentiality mode: programs may not read socket addresses from kernel memory",
           "boot with lockdown=integrity or none");
  return c;
}

Check check_capabilities() {
  Check c = check("capabilities", "all", "read the effective capabilities");
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  ::syscall(SYS_capget, &header, data.data());
  const std::uint64_t have = data[0].effective | static_cast<std::uint64_t>(data[1].effective) << 32;
  const auto has = [&](int cap) { return (have >> cap & 1) != 0; };
  std::string missing;
  const auto need = [&](int cap, const char* name) {
    if (!has(cap)) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  // SYS_ADMIN stands in for BPF, PERFMON and NET_ADMIN in bpf(2); a cgroup is opened by its id with DAC_READ_SEARCH.
  need(CAP_SYS_ADMIN, "CAP_SYS_ADMIN");
  need(CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH");
  need(CAP_SYS_CHROOT, "CAP_SYS_CHROOT");  // to come back from a sandbox's mount namespace
  if (!missing.empty()) broken(c, "missing " + missing, "run sbpf as root with " + missing);
  return c;
}

Check check_namespaces() {
  Check c = check("namespaces", "all", "stat /proc/self/ns/pid and /proc/self/ns/user");
  struct stat pid {}, user {};
  // Inode numbers of the first namespaces are fixed by the kernel (proc_ns.h).
  if (::stat("/proc/self/ns/pid", &pid) != 0 || pid.st_ino != 0xEFFFFFFC)
    broken(c, "not in the host's pid namespace", "run with the host's pid namespace (containers: --pid=host)");
  else if (::stat("/proc/self/ns/user", &user) != 0 || user.st_ino != 0xEFFFFFFD)
    broken(c, "not in the host's user namespace", "run as root of the host, not of a user namespace");
  return c;
}

Check check_seccomp() {
  Check c = check("seccomp", "all", "call bpf(2) with no valid command");
  errno = 0;
  ::syscall(SYS_bpf, 0x7fff, nullptr, 0);
  if (errno == ENOSYS || (errno == EPERM && read_file("/proc/self/status").find("Seccomp:\t2") != std::string::npos))
    broken(c, "a seccomp filter refuses bpf(2)", "allow bpf in the seccomp profile that sbpf runs under");
  return c;
}

// As for any policy that has rules for files: openat2(2), and the kernel's own word for what was found.
Result<void> try_paths(const Kernel& kernel) {
  policy::Policy files;
  files.filesystem.requested = true;
  files.filesystem.rules.push_back({});
  files.filesystem.rules.back().path = "/usr";
  auto seat = own_seat();
  if (!seat) return tl::unexpected<Error>(seat.error());
  auto view = look_up(kernel, files, *seat);
  if (view) return {};
  return fail(std::move(view.error()), "the paths of a policy");
}

// Every hook attached in a cgroup of its own, and a canary denied by each. `programs`: it did not come so far.
struct Tried {
  std::optional<Error> programs, canary;
};

Tried try_hooks() {
  auto begun = BringUp::begin_unpinned();
  if (!begun) return {begun.error(), {}};
  BringUp& up = **begun;
  SandboxSpec spec;
  spec.name = "preflight-" + std::to_string(::getpid());
  if (auto made = up.make_cgroup(spec.name, {}); !made) return {made.error(), {}};
  if (auto looked_up = try_paths(up.kernel()); !looked_up) return {looked_up.error(), {}};
  policy::Policy nothing;
  nothing.name = "preflight";
  auto image = policy::compile(nothing, 1, policy::empty_view(nothing));
  if (!image) return {image.error(), {}};
  SandboxNames names;  // no resolver, but the hooks that go with one
  names.port4 = SBPF_DNS_PORT;
  spec.names = &names;
  spec.flags |= SBPF_SANDBOX_FLOWS;  // likewise
  // Its links are pinned nowhere: the watch takes that for no loss, and whoever comes after a killed one takes it down.
  const Change changing(up.kernel(), Change::set_up, up.cgroup().id(), spec.name);
  if (auto set_up = up.set_up(up.cgroup(), spec, *image); !set_up) return {set_up.error(), {}};
  auto report = run_canary(up.kernel(), up.cgroup(), *image, SBPF_SANDBOX_NAMES);
  up.take_down();
  if (!report) return {{}, report.error()};
  if (!report->ok())
    return {{}, Error{"canary", report->detail, "run sbpf where bpf is in the kernel's LSM list and no tool detaches programs", 0, "", false}};
  return {};
}

void check_by_doing(std::vector<Check>& checks) {
  Check programs = check("programs", "all", "load and attach every hook, unpinned");
  Check canary = check("canary", "all", "have each hook deny a canary in a cgroup of its own");
  const Tried tried = try_hooks();
  if (tried.programs) {
    broken(programs, tried.programs->message, tried.programs->hint);
    broken(canary, "not run: the programs are not in force", programs.fix);
  }
  if (tried.canary) broken(canary, tried.canary->message, tried.canary->hint);
  checks.push_back(programs);
  checks.push_back(canary);
}

// What check_host() finds missing first, as an error of `run`.
std::optional<Error> first_missing() {
  for (const Check& c : check_host()) {
    if (c.ok) continue;
    Error e;
    e.code = "missing_" + c.name;
    e.message = c.reason;
    e.hint = c.fix;
    e.domain = c.domain == "all" ? "" : c.domain;
    return e;
  }
  return std::nullopt;
}

bool has_bpf(const std::string& list) { return ("," + list + ",").find(",bpf,") != std::string::npos; }

}  // namespace

bool bpf_lsm_active() { return has_bpf(read_file("/sys/kernel/security/lsm")); }

Seen bpf_lsm_seen() {
  const std::string list = read_file("/sys/kernel/security/lsm");
  if (has_bpf(list)) return Seen::there;
  return list.empty() ? Seen::unknown : Seen::absent;
}

std::vector<Check> check_host() {
  return {check_cgroup2(), check_bpffs(),      check_btf(),        check_lsm(),
          check_lockdown(), check_capabilities(), check_namespaces(), check_seccomp()};
}

Error explain_failure(Error fallback) { return first_missing().value_or(std::move(fallback)); }

Result<Kernel> ready_kernel() {
  if (!Kernel::is_pinned())
    if (auto missing = first_missing()) return tl::unexpected<Error>(std::move(*missing));
  auto kernel = Kernel::ensure();
  if (!kernel) return tl::unexpected<Error>(explain_failure(kernel.error()));
  return kernel;
}

Preflight preflight() {
  Preflight result;
  utsname name{};
  ::uname(&name);
  result.kernel = name.release;
  result.checks = check_host();
  bool plausible = true;
  for (const Check& c : result.checks) plausible = plausible && c.ok;
  if (plausible) {
    check_by_doing(result.checks);
  } else {
    for (const char* what : {"programs", "canary"}) {
      Check c = check(what, "all", "");
      broken(c, "not run: see the checks above", "mend what is named above first");
      result.checks.push_back(c);
    }
  }
  return result;
}

}  // namespace sbpf::agent
