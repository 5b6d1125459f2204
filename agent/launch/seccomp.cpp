// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/seccomp.h"

#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>

#include "agent/host/system_calls.h"
#include "base/fd.h"
#include "base/kernel_version.h"
#include "policy/seccomp.h"

namespace sbpf::agent {
namespace {

using policy::Diagnostic;
using policy::SeccompAction;
using policy::SeccompArg;
using policy::SeccompCondition;
using policy::SeccompOp;
using policy::SeccompProfile;
using policy::SeccompRule;

struct Release {
  void operator()(void* context) const { ::seccomp_release(context); }
};
using Context = std::unique_ptr<void, Release>;

// In profiles of container engines, and on no architecture that this libseccomp knows.
constexpr std::string_view kForeignCalls[] = {"uretprobe", "riscv_flush_icache", "riscv_hwprobe"};

// The machine as profiles name it.
struct Machine {
  std::uint32_t token;
  const char* oci;                                                 // of architectures and archMap
  const char* engine;                                              // of includes.arches
  std::vector<std::pair<std::string_view, std::uint32_t>> others;  // that its kernels may run, too
};

const Machine& machine() {
#if defined(__x86_64__)
  static const Machine kMachine{SCMP_ARCH_X86_64,
                                "SCMP_ARCH_X86_64",
                                "amd64",
                                {{"SCMP_ARCH_X86", SCMP_ARCH_X86}, {"SCMP_ARCH_X32", SCMP_ARCH_X32}}};
#elif defined(__aarch64__)
  static const Machine kMachine{SCMP_ARCH_AARCH64, "SCMP_ARCH_AARCH64", "arm64", {{"SCMP_ARCH_ARM", SCMP_ARCH_ARM}}};
#else
#error "which architecture is this?"
#endif
  return kMachine;
}

bool is_kept(unsigned capability, const policy::Capabilities& keep) {
  return keep.dangerously_all || std::binary_search(keep.keep.begin(), keep.keep.end(), capability);
}

// All of `includes` must hold, and nothing of `excludes`.
bool counts(const SeccompRule& rule, const policy::Capabilities& keep) {
  const auto kept = [&](unsigned cap) { return is_kept(cap, keep); };
  const auto here = [](const std::string& arch) { return arch == machine().engine; };
  const SeccompCondition &in = rule.includes, &ex = rule.excludes;
  return std::all_of(in.caps.begin(), in.caps.end(), kept) &&
         (in.arches.empty() || std::any_of(in.arches.begin(), in.arches.end(), here)) &&
         (!in.min_kernel || kernel_at_least(*in.min_kernel)) && std::none_of(ex.caps.begin(), ex.caps.end(), kept) &&
         std::none_of(ex.arches.begin(), ex.arches.end(), here) && !(ex.min_kernel && kernel_at_least(*ex.min_kernel));
}

std::uint32_t action_of(SeccompAction action, std::optional<unsigned> error) {
  switch (action) {
    case SeccompAction::allow:
      return SCMP_ACT_ALLOW;
    case SeccompAction::log:
      return SCMP_ACT_LOG;
    case SeccompAction::deny:
      return SCMP_ACT_ERRNO(error.value_or(policy::kSeccompErrno));
    case SeccompAction::trap:
      return SCMP_ACT_TRAP;
    case SeccompAction::kill_thread:
      return SCMP_ACT_KILL_THREAD;
    case SeccompAction::kill_process:
      return SCMP_ACT_KILL_PROCESS;
  }
  return SCMP_ACT_KILL_PROCESS;
}

scmp_arg_cmp comparison(const SeccompArg& arg) {
  const auto compare = [](SeccompOp op) {
    switch (op) {
      case SeccompOp::ne:
        return SCMP_CMP_NE;
      case SeccompOp::lt:
        return SCMP_CMP_LT;
      case SeccompOp::le:
        return SCMP_CMP_LE;
      case SeccompOp::eq:
        return SCMP_CMP_EQ;
      case SeccompOp::ge:
        return SCMP_CMP_GE;
      case SeccompOp::gt:
        return SCMP_CMP_GT;
      case SeccompOp::masked_eq:
        return SCMP_CMP_MASKED_EQ;
    }
    return SCMP_CMP_EQ;
  };
  return {arg.index, compare(arg.op), arg.value, arg.value_two};
}

tl::unexpected<Error> wrong(const policy::Location& where, std::string key, std::string message, std::string hint) {
  std::string text =
      policy::format({Diagnostic{where, "seccomp", std::move(key), std::move(message), std::move(hint)}});
  while (text.ends_with('\n')) text.pop_back();
  return fail("invalid_policy", fmt::format("the seccomp profile is not valid\n{}", text));
}

tl::unexpected<Error> of_library(const char* what, int code) {
  return fail("seccomp", SystemError{-code}, "libseccomp cannot {}", what);
}

// One filter, and for which architectures.
class Builder {
 public:
  Result<void> start(std::uint32_t default_action, const std::vector<std::uint32_t>& others) {
    default_ = default_action;
    context_.reset(::seccomp_init(default_action));
    if (!context_) return fail("seccomp", "libseccomp cannot start a filter", "", ENOMEM);
    // The filter is flat but for a search tree; no_new_privs is a step of its own.
    if (int r = ::seccomp_attr_set(context_.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2); r != 0)
      return of_library("optimise", r);
    if (int r = ::seccomp_attr_set(context_.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)); r != 0)
      return of_library("refuse other architectures", r);
    for (const std::uint32_t arch : others)
      if (int r = ::seccomp_arch_add(context_.get(), arch); r != 0) return of_library("add an architecture", r);
    return {};
  }

  // A rule for what a name means; libseccomp leaves out architectures that do not have the call. 0, or -errno.
  int add(const std::string& name, std::uint32_t action, const std::vector<scmp_arg_cmp>& args) {
    if (action == default_) return 0;
    const auto number = system_call_number(name);
    if (!number)
      return std::find(std::begin(kForeignCalls), std::end(kForeignCalls), name) == std::end(kForeignCalls) ? -ESRCH
                                                                                                            : 0;
    return ::seccomp_rule_add_array(context_.get(), action, *number, static_cast<unsigned>(args.size()), args.data());
  }

  Result<std::vector<sock_filter>> finish() {
    const Fd memory(::memfd_create("seccomp", MFD_CLOEXEC));
    if (!memory) return fail("seccomp", "cannot make a memory file", "", errno);
    if (int r = ::seccomp_export_bpf(context_.get(), memory.get()); r != 0) return of_library("compile the filter", r);
    struct stat info {};
    if (::fstat(memory.get(), &info) != 0) return fail("seccomp", "cannot read the filter", "", errno);
    std::vector<sock_filter> program(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
    if (program.empty() || program.size() > BPF_MAXINSNS)
      return fail(
          "seccomp",
          fmt::format("the seccomp filter has {} instructions; the kernel takes 1 to {}", program.size(), BPF_MAXINSNS),
          "shorten the profile: conditions on arguments take most");
    if (::pread(memory.get(), program.data(), static_cast<std::size_t>(info.st_size), 0) != info.st_size)
      return fail("seccomp", "cannot read the filter", "", errno);
    return program;
  }

 private:
  Context context_;
  std::uint32_t default_ = 0;
};

// Of those that the profile names, those that this machine's kernel may run besides its own.
Result<std::vector<std::uint32_t>> other_architectures(const SeccompProfile& profile) {
  std::vector<std::string> named = profile.architectures;
  for (const policy::SeccompArch& arch : profile.arch_map) {
    if (arch.name != machine().oci) continue;
    named.push_back(arch.name);
    named.insert(named.end(), arch.sub.begin(), arch.sub.end());
  }
  const bool own = std::find(named.begin(), named.end(), machine().oci) != named.end();
  if (!own && !(profile.architectures.empty() && profile.arch_map.empty()))
    return fail("invalid_policy",
                fmt::format("the seccomp profile is not for this machine: it does not name {}", machine().oci),
                "add it to architectures");
  std::vector<std::uint32_t> tokens;
  for (const auto& [name, token] : machine().others)
    if (std::find(named.begin(), named.end(), name) != named.end()) tokens.push_back(token);
  return tokens;
}

// Two actions for one call would be decided by the order in which a library happens to compare.
class Conflicts {
 public:
  bool clash(const std::string& name, std::uint32_t action, bool conditional) {
    const auto [found, fresh] = seen_.try_emplace(name, std::pair(action, conditional));
    return !fresh && found->second.first != action && !(found->second.second && conditional);
  }

 private:
  std::map<std::string, std::pair<std::uint32_t, bool>> seen_;
};

Result<std::vector<sock_filter>> compile_profile(const SeccompProfile& profile, const policy::Capabilities& keep) {
  auto others = other_architectures(profile);
  if (!others) return tl::unexpected<Error>(others.error());
  Builder builder;
  if (auto started = builder.start(action_of(profile.default_action, profile.default_errno), *others); !started)
    return tl::unexpected<Error>(started.error());
  Conflicts conflicts;
  for (std::size_t i = 0; i < profile.rules.size(); ++i) {
    const SeccompRule& rule = profile.rules[i];
    if (!counts(rule, keep)) continue;
    const std::uint32_t action = action_of(rule.action, rule.errno_ret);
    std::vector<scmp_arg_cmp> args;
    for (const SeccompArg& arg : rule.args) args.push_back(comparison(arg));
    for (const std::string& name : rule.names) {
      const std::string key = "syscalls[" + std::to_string(i) + "]";
      if (conflicts.clash(name, action, !args.empty()))
        return wrong(rule.where, key, fmt::format("{} has another action in an entry before", name),
                     "remove it from one of them");
      const int added = builder.add(name, action, args);
      if (added == -ESRCH)
        return wrong(rule.where, key, fmt::format("no system call is named {}", name),
                     "remove it: what is not listed gets defaultAction");
      if (added != 0 && added != -EEXIST)
        return wrong(rule.where, key,
                     fmt::format("libseccomp refuses the rule for {}: {}", name, std::strerror(-added)),
                     "simplify its conditions");
    }
  }
  return builder.finish();
}

Result<std::vector<sock_filter>> compile_terminal_guard(const std::vector<std::uint32_t>& others) {
  Builder builder;
  if (auto started = builder.start(SCMP_ACT_ALLOW, others); !started) return tl::unexpected<Error>(started.error());
  // The kernel looks at the lower half of the request only, so that the filter must, too.
  constexpr std::uint64_t kTiocLinux = 0x541c, kLowerHalf = 0xffffffff;
  for (const std::uint64_t request : {std::uint64_t{TIOCSTI}, kTiocLinux}) {
    const scmp_arg_cmp is_it{1, SCMP_CMP_MASKED_EQ, kLowerHalf, request};
    if (int r = builder.add("ioctl", SCMP_ACT_ERRNO(EPERM), {is_it}); r != 0)
      return of_library("guard the terminal", r);
  }
  return builder.finish();
}

}  // namespace

Result<SeccompFilters> compile_seccomp(const policy::Seccomp& seccomp, const policy::Capabilities& keep) {
  if (seccomp.kind == policy::SeccompKind::dangerously_unconfined) return SeccompFilters{};
  const bool of_file = seccomp.kind == policy::SeccompKind::file;
  const std::string text =
      of_file ? seccomp.text : policy::built_in_seccomp(policy::to_string(seccomp.kind)).value_or("");
  auto profile = policy::parse_seccomp(text, of_file ? seccomp.path : std::string(policy::to_string(seccomp.kind)));
  if (!profile)
    return fail("invalid_policy", fmt::format("the seccomp profile is not valid\n{}", policy::format(profile.error())));
  auto others = other_architectures(*profile);
  if (!others) return tl::unexpected<Error>(others.error());
  auto filter = compile_profile(*profile, keep);
  if (!filter) return tl::unexpected<Error>(filter.error());
  auto guard = compile_terminal_guard(*others);
  if (!guard) return tl::unexpected<Error>(guard.error());
  return SeccompFilters{std::move(*guard), std::move(*filter)};
}

}  // namespace sbpf::agent
