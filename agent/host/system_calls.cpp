// SPDX-License-Identifier: Apache-2.0
#include "agent/host/system_calls.h"

#include <seccomp.h>

#include <fmt/core.h>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace sbpf::agent {
namespace {

// Calls that are newer than Debian 12's libseccomp. Since 424 the numbers are the same on every architecture.
struct NewCall {
  std::string_view name;
  int number;
};
constexpr NewCall kNewCalls[] = {
    {"cachestat", 451},         {"fchmodat2", 452},         {"map_shadow_stack", 453}, {"futex_wake", 454},
    {"futex_wait", 455},        {"futex_requeue", 456},     {"statmount", 457},        {"listmount", 458},
    {"lsm_get_self_attr", 459}, {"lsm_set_self_attr", 460}, {"lsm_list_modules", 461}, {"mseal", 462},
    {"setxattrat", 463},        {"getxattrat", 464},        {"listxattrat", 465},      {"removexattrat", 466},
    {"open_tree_attr", 467},    {"file_getattr", 468},      {"file_setattr", 469}};

}  // namespace

std::optional<int> system_call_number(const std::string& name) {
  if (const int number = ::seccomp_syscall_resolve_name(name.c_str()); number != __NR_SCMP_ERROR) return number;
  for (const NewCall& call : kNewCalls)
    if (call.name == name) return call.number;
  return std::nullopt;
}

std::string system_call_name(int number) {
  struct Free {
    void operator()(char* text) const { std::free(text); }
  };
  if (const std::unique_ptr<char, Free> name(::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number)); name)
    return name.get();
  for (const NewCall& call : kNewCalls)
    if (call.number == number) return std::string(call.name);
  return fmt::format("number {}", number);
}

}  // namespace sbpf::agent
