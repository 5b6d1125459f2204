// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/host_checks.h"

#include <linux/capability.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <optional>

#include "agent/host/cgroup.h"
#include "agent/kernel/kernel.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr const char* kLsmList = "/sys/kernel/security/lsm";

bool has_bpf(const std::string& list) { return (fmt::format(",{},", list)).find(",bpf,") != std::string::npos; }

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
    broken(c, fmt::format("/sys/kernel/btf/vmlinux cannot be read: {}", std::strerror(errno)),
           "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y (Debian 12's are), and do not hide /sys/kernel/btf");
  return c;
}

Check check_lsm() {
  Check c =
      check("lsm", "all", "look for bpf in /sys/kernel/security/lsm; where there is no such file, the canary tells");
  const std::string list = lsm_list();
  if (has_bpf(list)) return c;
  // Where securityfs is not mounted the canary tells: no LSM program would deny it anything.
  if (list.empty() && !has_lsm_list()) return c;
  if (list.empty()) return broken(c, fmt::format("{} cannot be read", kLsmList), "run sbpf as root of the host");
  return broken(c,
                fmt::format("the kernel's active LSM list is {}: without bpf, LSM programs attach and never run", list),
                fmt::format("add to the kernel command line: lsm={},bpf (`sbpf preflight --fix` does so)", list));
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
  if (!missing.empty()) broken(c, fmt::format("missing {}", missing), fmt::format("run sbpf as root with {}", missing));
  return c;
}

Check check_namespaces() {
  Check c = check("namespaces", "all", "stat /proc/self/ns/pid and /proc/self/ns/user");
  struct stat pid {
  }, user{};
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

// What check_host() finds missing first, as an error of `run`.
std::optional<Error> first_missing() {
  for (const Check& c : check_host()) {
    if (c.ok) continue;
    Error e;
    e.code = ErrorCode::relayed("missing_" + c.name);
    e.message = c.reason;
    e.hint = c.fix;
    e.domain = c.domain == "all" ? "" : c.domain;
    return e;
  }
  return std::nullopt;
}

}  // namespace

bool has_lsm_list() { return ::access(kLsmList, F_OK) == 0 || errno != ENOENT; }

std::string lsm_list() { return read_file(kLsmList); }

Seen bpf_lsm_seen() {
  const std::string list = lsm_list();
  if (has_bpf(list)) return Seen::there;
  return list.empty() ? Seen::unknown : Seen::absent;
}

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

std::vector<Check> check_host() {
  return {check_cgroup2(),  check_bpffs(),        check_btf(),        check_lsm(),
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

}  // namespace sbpf::agent
