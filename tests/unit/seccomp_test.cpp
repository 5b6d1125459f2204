// SPDX-License-Identifier: Apache-2.0
// What the compiled filters do, in children of this process: seccomp needs no privilege.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <set>

#include "agent/host/system_calls.h"
#include "agent/launch/refused_calls.h"
#include "agent/launch/seccomp_ready.h"
#include "policy/seccomp.h"

namespace sbpf::agent {
namespace {

using policy::Capabilities;
using policy::Seccomp;
using policy::SeccompKind;

SeccompFilters compiled(const Seccomp& seccomp, const Capabilities& keep = {}) {
  auto filters = compile_seccomp(seccomp, keep);
  EXPECT_TRUE(filters) << (filters ? "" : filters.error().message);
  return filters ? *filters : SeccompFilters{};
}

Seccomp built_in(SeccompKind kind) {
  Seccomp seccomp;
  seccomp.kind = kind;
  return seccomp;
}

Seccomp custom(const std::string& text) { return {SeccompKind::file, "/p.json", "", text, {}}; }

constexpr int kKilled = 1000;  // and the signal

// Under the filters, in a child: the errno of `call`, 0 if it succeeded, kKilled + N if signal N ended it.
int under(const SeccompFilters& filters, const std::function<long()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || install_seccomp(filters, -1) != 0) ::_exit(255);
    const long result = call();
    ::_exit(result == -1 ? errno : 0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? kKilled + WTERMSIG(status) : WEXITSTATUS(status);
}

// As under(), while this process answers what the filter asks: the calls that were told.
std::vector<int> told_under(SeccompKind kind, const std::function<void()>& calls) {
  Launch launch{{}, compiled(built_in(kind)), -1};
  auto refused = RefusedCalls::make(launch, built_in(kind));
  EXPECT_TRUE(refused);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || install_seccomp(launch.filters, launch.listener_to) != 0)
      ::_exit(255);
    ::close(launch.listener_to);
    calls();
    ::_exit(0);
  }
  refused->child_started();
  std::vector<int> told;
  while (refused->fd() >= 0) {
    pollfd waiting{refused->fd(), POLLIN, 0};
    EXPECT_GE(::poll(&waiting, 1, 60000), 1);
    refused->take([&](const RefusedCall& call) {
      EXPECT_EQ(call.pid, child);
      told.push_back(call.number);
    });
    refused->pass();
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
  return told;
}

bool same(const SeccompFilters& a, const SeccompFilters& b) {
  const auto steps_agree = [](const sock_filter& x, const sock_filter& y) {
    return x.code == y.code && x.jt == y.jt && x.jf == y.jf && x.k == y.k;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), steps_agree);
  });
}

// They would be compiled for the kernel of the machine that builds.
TEST(SeccompReady, profiles_mean_the_same_on_every_kernel) {
  for (const char* name : {"default", "strict"})
    EXPECT_EQ(policy::built_in_seccomp(name).value().find("minKernel"), std::string::npos) << name;
}

TEST(SeccompReady, is_what_would_be_compiled_now) {
  const Capabilities some{.keep = {0}};
  for (const SeccompKind kind :
       {SeccompKind::builtin_default, SeccompKind::builtin_strict, SeccompKind::dangerously_unconfined})
    for (const Capabilities& keep : {Capabilities{}, some})
      EXPECT_TRUE(same(seccomp_filters(built_in(kind), keep).value(), compiled(built_in(kind), keep)));
  EXPECT_FALSE(same(compiled(built_in(SeccompKind::builtin_default)), compiled(built_in(SeccompKind::builtin_strict))));
}

template <typename... Args>
std::function<long()> call(long number, Args... args) {
  return [=] { return ::syscall(number, args...); };
}

const Seccomp kDefault = built_in(SeccompKind::builtin_default), kStrict = built_in(SeccompKind::builtin_strict);

TEST(Seccomp, unconfined_has_no_filter) {
  EXPECT_TRUE(compiled(built_in(SeccompKind::dangerously_unconfined)).empty());
}

TEST(Seccomp, ordinary_calls_are_let_through) {
  for (const Seccomp& profile : {kDefault, kStrict}) {
    const SeccompFilters filters = compiled(profile);
    EXPECT_EQ(under(filters, call(SYS_getppid)), 0);
    EXPECT_EQ(under(filters, call(SYS_openat, AT_FDCWD, "/", O_RDONLY)), 0);
    EXPECT_EQ(under(filters, [] { return ::fork() < 0 ? -1L : 0L; }), 0);
    EXPECT_EQ(under(filters, [] { return static_cast<long>(::execl("/bin/true", "true", nullptr)); }), 0);
    EXPECT_EQ(under(filters,
                    [] {
                      return ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1L
                                                                                                                : 0L;
                    }),
              0);
  }
}

TEST(Seccomp, dangerous_calls_are_refused_as_such) {
  const SeccompFilters none, filters = compiled(kDefault), strict = compiled(kStrict);
  for (const long number :
       {SYS_mount,         SYS_umount2,      SYS_bpf,         SYS_perf_event_open, SYS_userfaultfd,
        SYS_keyctl,        SYS_add_key,      SYS_request_key, SYS_io_uring_setup,  SYS_unshare,
        SYS_setns,         SYS_kexec_load,   SYS_init_module, SYS_finit_module,    SYS_delete_module,
        SYS_reboot,        SYS_swapon,       SYS_pivot_root,  SYS_chroot,          SYS_open_by_handle_at,
        SYS_acct,          SYS_quotactl,     SYS_fsopen,      SYS_open_tree,       SYS_move_mount,
        SYS_mount_setattr, SYS_settimeofday, SYS_syslog,      SYS_fanotify_init}) {
    EXPECT_EQ(under(filters, call(number, -1, -1, -1, -1, -1)), EPERM) << number;
    EXPECT_EQ(under(strict, call(number, -1, -1, -1, -1, -1)), EPERM) << number;
  }
  // The control: the call gets there and finds its own fault.
  EXPECT_EQ(under(none, call(SYS_umount2, nullptr, -1)), EINVAL);
  EXPECT_EQ(under(none, call(SYS_add_key, nullptr, nullptr, nullptr, 0, 0)), EFAULT);
}

TEST(Seccomp, debuggers_work_by_default_and_not_under_strict) {
  const auto trace_me = call(SYS_ptrace, 0 /* PTRACE_TRACEME */, 0, 0, 0);
  EXPECT_EQ(under({}, trace_me), 0);
  EXPECT_EQ(under(compiled(kDefault), trace_me), 0);
  EXPECT_EQ(under(compiled(kStrict), trace_me), EPERM);
  const auto vm_read = call(SYS_process_vm_readv, ::getpid(), nullptr, 0, nullptr, 0, 0);
  EXPECT_EQ(under({}, vm_read), 0);
  EXPECT_EQ(under(compiled(kStrict), vm_read), EPERM);
  const auto no_random = call(SYS_personality, 0x40000);
  EXPECT_EQ(under(compiled(kDefault), no_random), 0);
  EXPECT_EQ(under(compiled(kStrict), no_random), EPERM);
  EXPECT_EQ(under({}, call(SYS_personality, 0x400000)), 0);  // READ_IMPLIES_EXEC
  EXPECT_NE(under(compiled(kDefault), call(SYS_personality, 0x400000)), 0);
}

TEST(Seccomp, clone_makes_processes_but_no_namespaces) {
  const auto clone = [](unsigned long flags) {
    return [flags] {
      const long child = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
      if (child == 0) ::_exit(0);
      return child;
    };
  };
  for (const Seccomp& profile : {kDefault, kStrict}) {
    EXPECT_EQ(under(compiled(profile), clone(0)), 0);
    for (const unsigned long flag :
         {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWPID, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWCGROUP})
      EXPECT_EQ(under(compiled(profile), clone(flag)), ENOSYS) << flag;
    EXPECT_EQ(under(compiled(profile), call(SYS_clone3, nullptr, 0)), ENOSYS);
  }
  EXPECT_EQ(under({}, call(SYS_clone3, nullptr, 0)), EINVAL);
  // With the capability kept the calls are there again.
  EXPECT_EQ(under(compiled(kDefault, {false, {21}}), call(SYS_clone3, nullptr, 0)), EINVAL);
  EXPECT_EQ(under(compiled(kDefault, {false, {21}}), call(SYS_umount2, nullptr, -1)), EINVAL);
}

TEST(Seccomp, calls_that_no_one_knows_yet_do_not_exist) {
  for (const Seccomp& profile : {kDefault, kStrict}) EXPECT_EQ(under(compiled(profile), call(1000)), ENOSYS);
}

TEST(Seccomp, nobody_types_into_the_terminal) {
  const auto request = [](unsigned long number) { return call(SYS_ioctl, -1, number, nullptr); };
  for (const Seccomp& profile : {kDefault, kStrict, custom(R"({"defaultAction": "SCMP_ACT_ALLOW"})")}) {
    const SeccompFilters filters = compiled(profile);
    for (const unsigned long upper : {0ul, 1ul << 32, 0xfffffffful << 32}) {
      EXPECT_EQ(under({}, request(upper | TIOCSTI)), EBADF);
      EXPECT_EQ(under(filters, request(upper | TIOCSTI)), EPERM);
      EXPECT_EQ(under(filters, request(upper | 0x541c)), EPERM);  // TIOCLINUX
      EXPECT_EQ(under(filters, request(upper | TIOCGWINSZ)), EBADF);
    }
  }
}

#if defined(__x86_64__)
long int80(long number) {
  long result = 0;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

TEST(Seccomp, other_architectures_do_not_get_around_it) {
  constexpr long kGetpid32 = 20, kMount32 = 21, kX32 = 0x40000000;
  for (const Seccomp& profile : {kDefault, kStrict}) {
    const SeccompFilters filters = compiled(profile);
    EXPECT_EQ(under(filters, [] { return int80(kGetpid32); }), ENOSYS);
    EXPECT_EQ(under(filters, [] { return int80(kMount32); }), ENOSYS);
    EXPECT_EQ(under(filters, call(kX32 | SYS_getpid)), ENOSYS);
    EXPECT_EQ(under(filters, call(kX32 | SYS_mount, nullptr, nullptr, nullptr, 0, nullptr)), ENOSYS);
  }
  // A profile that names them filters them alike.
  const SeccompFilters filters = compiled(custom(
      R"({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
          "syscalls": [{"names": ["mount", "fchmodat2"], "action": "SCMP_ACT_ERRNO", "errnoRet": 77}]})"));
  EXPECT_EQ(under(filters, call(SYS_mount, nullptr, nullptr, nullptr, 0, nullptr)), 77);
  EXPECT_EQ(under(filters, call(kX32 | SYS_mount, nullptr, nullptr, nullptr, 0, nullptr)), 77);
  EXPECT_EQ(under(filters, call(452, -1, nullptr, 0, 0)), 77);
  if (const int without = under({}, [] { return int80(kGetpid32); }); without == 0) {
    EXPECT_EQ(under(filters, [] { return int80(kGetpid32); }), 0);
    EXPECT_EQ(under(filters, [] { return int80(kMount32); }), 77);
  }
}
#endif

TEST(Seccomp, profiles_of_ones_own_do_what_they_say) {
  const auto one = [](const char* action) {
    return compiled(
        custom(std::string(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["getppid"], "action": ")") +
               action + "\"}]}"));
  };
  EXPECT_EQ(under(one("SCMP_ACT_ERRNO"), call(SYS_getppid)), EPERM);
  EXPECT_EQ(under(one("SCMP_ACT_KILL_PROCESS"), call(SYS_getppid)), kKilled + SIGSYS);
  EXPECT_EQ(under(one("SCMP_ACT_KILL"), call(SYS_getppid)), kKilled + SIGSYS);
  EXPECT_EQ(under(one("SCMP_ACT_TRAP"), call(SYS_getppid)), kKilled + SIGSYS);
  EXPECT_EQ(under(one("SCMP_ACT_LOG"), call(SYS_getppid)), 0);
  // Entries count by kept capabilities, machine and kernel.
  const Seccomp conditional = custom(R"({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
      {"names": ["getppid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 71, "excludes": {"caps": ["CAP_CHOWN"]}},
      {"names": ["getppid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 72, "includes": {"caps": ["CAP_CHOWN", "CAP_KILL"]}},
      {"names": ["getuid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 73, "includes": {"arches": ["s390x"]}},
      {"names": ["getgid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 74, "includes": {"minKernel": "4.8"}},
      {"names": ["getegid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 75, "includes": {"minKernel": "99.0"}}]})");
  EXPECT_EQ(under(compiled(conditional), call(SYS_getppid)), 71);
  EXPECT_EQ(under(compiled(conditional, {false, {0}}), call(SYS_getppid)), 0);
  EXPECT_EQ(under(compiled(conditional, {false, {0, 5}}), call(SYS_getppid)), 72);
  EXPECT_EQ(under(compiled(conditional, {true, {}}), call(SYS_getppid)), 72);
  EXPECT_EQ(under(compiled(conditional), call(SYS_getuid)), 0);
  EXPECT_EQ(under(compiled(conditional), call(SYS_getgid)), 74);
  EXPECT_EQ(under(compiled(conditional), call(SYS_getegid)), 0);
}

TEST(Seccomp, mistakes_of_a_profile_are_found) {
  const auto error_of = [](const std::string& rules, const std::string& more = "") {
    const auto filters = compile_seccomp(
        custom("{\"defaultAction\": \"SCMP_ACT_ERRNO\"" + more + ",\n\"syscalls\": [\n" + rules + "]}"), {});
    EXPECT_FALSE(filters) << rules;
    return filters ? "" : filters.error().code.str() + " " + filters.error().message;
  };
  EXPECT_NE(error_of(R"({"names": ["raed"], "action": "SCMP_ACT_ALLOW"})")
                .find("/p.json:3:1: syscalls[0]: no system call is named raed"),
            std::string::npos);
  EXPECT_NE(
      error_of(R"({"names": ["read"], "action": "SCMP_ACT_ALLOW"}, {"names": ["read"], "action": "SCMP_ACT_LOG"})")
          .find("another action"),
      std::string::npos);
  EXPECT_NE(error_of("", R"(, "architectures": ["SCMP_ARCH_S390X"])").find("not for this machine"), std::string::npos);
  EXPECT_EQ(error_of("{").rfind("invalid_policy", 0), 0u);
}

// What is exported is what is enforced: both give the same programs.
TEST(Seccomp, the_export_compiles_to_the_same_filter) {
  for (const char* name : {"default", "strict"}) {
    const std::string text =
        policy::oci_json(policy::parse_seccomp(policy::built_in_seccomp(name).value(), name).value());
    const SeccompFilters a = compiled(name == std::string("strict") ? kStrict : kDefault), b = compiled(custom(text));
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size());
      EXPECT_TRUE(std::equal(a[i].begin(), a[i].end(), b[i].begin(), [](const sock_filter& x, const sock_filter& y) {
        return x.code == y.code && x.jt == y.jt && x.jf == y.jf && x.k == y.k;
      }));
    }
  }
}

// Every call of this machine was thought of: what is in no list would be ENOSYS by accident.
TEST(Seccomp, the_built_in_profiles_name_every_call) {
  for (const char* name : {"default", "strict"}) {
    std::set<std::string> named;
    const policy::SeccompProfile profile = policy::parse_seccomp(policy::built_in_seccomp(name).value(), name).value();
    for (const auto& rule : profile.rules) named.insert(rule.names.begin(), rule.names.end());
    for (int number = 0; number < 600; number++) {
      char* call_name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
      if (call_name == nullptr) continue;
      EXPECT_TRUE(named.contains(call_name)) << name << ": " << call_name;
      std::free(call_name);
    }
  }
}

TEST(Seccomp, what_a_filter_refuses_is_told_and_refused) {
  const auto refuse = [](int number) {
    if (::syscall(number, 0, 0, 0, 0, 0) != -1 || errno != EPERM) ::_exit(1);
  };
  EXPECT_EQ(told_under(SeccompKind::builtin_default,
                       [&] {
                         refuse(SYS_keyctl);
                         refuse(SYS_reboot);
                         (void)::syscall(SYS_getppid);
                         if (::syscall(SYS_clone3, 0, 0) != -1 || errno != ENOSYS) ::_exit(2);
                         refuse(SYS_keyctl);
                       }),
            (std::vector<int>{SYS_keyctl, SYS_reboot, SYS_keyctl}));
  EXPECT_TRUE(told_under(SeccompKind::builtin_strict, [] {}).empty());
}

TEST(Seccomp, calls_have_their_names) {
  EXPECT_EQ(system_call_name(SYS_keyctl), "keyctl");
  EXPECT_EQ(system_call_name(469), "file_setattr");
  EXPECT_EQ(system_call_name(9999), "number 9999");
  EXPECT_EQ(system_call_number("file_setattr"), 469);
  EXPECT_EQ(system_call_number("nothing"), std::nullopt);
}

}  // namespace
}  // namespace sbpf::agent
