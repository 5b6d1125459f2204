// SPDX-License-Identifier: Apache-2.0
// Programs of others that overrule those of sbpf. Each call prints the errno, 0 if it succeeded, and then the number of
// the program.
//   overrule modify FUNCTION VALUE     a modify_return program that has the kernel function return the value, until this
//                                      process ends
//   overrule lsm HOOK VALUE            an LSM program that has the hook return the value, likewise
//   overrule lsm-cgroup HOOK CGROUP    an LSM program of the cgroup alone, which leaves the hook's answer as it is, likewise
//   overrule callers FUNCTION…         loads a modify_return program for each, and prints its name and the errno
//   overrule loaded FUNCTION PROMPT    as modify with 0: says "loaded", and attaches the program when the file PROMPT is there
//   overrule loaded-link FUNCTION PROMPT   likewise, by BPF_LINK_CREATE
//   overrule later CGROUP HOOK         attached for good, beside others, to the cgroup; lifts the denial of those before it
//   overrule bystander CGROUP HOOK     likewise, and leaves their answer as it is
//   overrule link CGROUP HOOK          as later, by a link, until this process ends
//   overrule bystander-link CGROUP HOOK   as bystander, likewise
// HOOK: connect4, connect6, sendmsg4, sendmsg6, bind4, bind6, sock_create, setsockopt; sysctl, of what is written.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fd.h"

namespace {

using sbpf::Fd;

struct Kind {
  const char* name;
  bpf_prog_type program;
  bpf_attach_type attach;
};

constexpr Kind kKinds[] = {{"connect4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT},
                           {"connect6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_CONNECT},
                           {"sendmsg4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP4_SENDMSG},
                           {"sendmsg6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_UDP6_SENDMSG},
                           {"bind4", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_BIND},
                           {"bind6", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET6_BIND},
                           {"sock_create", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE},
                           {"setsockopt", BPF_PROG_TYPE_CGROUP_SOCKOPT, BPF_CGROUP_SETSOCKOPT},
                           {"sysctl", BPF_PROG_TYPE_CGROUP_SYSCTL, BPF_CGROUP_SYSCTL}};

// Prints the answer; true if it succeeded.
bool told(bool done, const Fd& program) {
  const int error = done ? 0 : errno;
  bpf_prog_info info{};
  std::uint32_t size = sizeof info;
  if (program) (void)bpf_obj_get_info_by_fd(program.get(), &info, &size);
  std::printf("%d %u\n", error, info.id);
  std::fflush(stdout);
  return done;
}

// A program that answers for the kernel function of this number, with the value.
Fd load(bpf_prog_type type, bpf_attach_type attach, int function, std::int32_t value) {
  const bpf_insn insns[] = {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach,
              .attach_btf_id = static_cast<__u32>(function));
  return Fd(bpf_prog_load(type, "modifier", "GPL", insns, 2, &options));
}

void wait_for(const char* prompt, const Fd& program) {
  std::puts(program ? "loaded" : "not loaded");
  std::fflush(stdout);
  while (::access(prompt, F_OK) != 0) ::usleep(20000);
}

// Until this process ends.
int stay(const Fd& link, const Fd& program) {
  if (!told(static_cast<bool>(link), program)) return 1;
  while (true) ::pause();
}

int answer(bpf_prog_type type, bpf_attach_type attach, const char* function, std::int32_t value) {
  const Fd program = load(type, attach, libbpf_find_vmlinux_btf_id(function, attach), value);
  return stay(Fd(program ? bpf_raw_tracepoint_open(nullptr, program.get()) : -1), program);
}

int answer_later(const char* function, const char* prompt, bool by_link) {
  const Fd program =
      load(BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, libbpf_find_vmlinux_btf_id(function, BPF_MODIFY_RETURN), 0);
  wait_for(prompt, program);
  if (!program) return 1;
  return stay(Fd(by_link ? bpf_link_create(program.get(), 0, BPF_MODIFY_RETURN, nullptr)
                         : bpf_raw_tracepoint_open(nullptr, program.get())),
              program);
}

int answer_in_cgroup(const char* hook, const char* cgroup) {
  const Fd program = load(BPF_PROG_TYPE_LSM, BPF_LSM_CGROUP, libbpf_find_vmlinux_btf_id(hook, BPF_LSM_CGROUP), 1);
  const Fd group(program ? ::open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  const Fd link(program ? bpf_link_create(program.get(), group.get(), BPF_LSM_CGROUP, nullptr) : -1);
  return stay(link, program);
}

int load_for_each(char** functions) {
  btf* types = btf__load_vmlinux_btf();
  for (; *functions; functions++) {
    const int id = btf__find_by_name_kind(types, *functions, BTF_KIND_FUNC);
    const Fd program = id > 0 ? load(BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, id, 0) : Fd();
    std::printf("%s %d\n", *functions, program ? 0 : id > 0 ? errno : ENOENT);
  }
  btf__free(types);
  return 0;
}

int attach(const std::string& how, const char* cgroup, const std::string& hook) {
  for (const Kind& kind : kKinds) {
    if (hook != kind.name) continue;
    std::vector<bpf_insn> insns;
    if (kind.attach == BPF_CGROUP_SYSCTL && !how.starts_with("bystander"))  // past the next two when it is read
      insns = {{BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, 0, 0},
               {BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 2, 0}};
    if (!how.starts_with("bystander"))
      insns.insert(insns.end(), {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 0},
                                 {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_set_retval}});
    insns.push_back({BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1});
    insns.push_back({BPF_JMP | BPF_EXIT, 0, 0, 0, 0});
    LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = kind.attach);
    const Fd program(bpf_prog_load(kind.program, how.starts_with("bystander") ? "bystander" : "overruler", "GPL",
                                   insns.data(), insns.size(), &options));
    const Fd group(::open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!program || !group) return told(false, program) ? 0 : 1;
    if (!how.ends_with("link"))
      return told(bpf_prog_attach(program.get(), group.get(), kind.attach, BPF_F_ALLOW_MULTI) == 0, program) ? 0 : 1;
    const Fd link(bpf_link_create(program.get(), group.get(), kind.attach, nullptr));
    return stay(link, program);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string(argv[1]) == "callers") return load_for_each(argv + 2);
  if (argc != 4) return 2;
  const std::string how = argv[1];
  if (how == "lsm-cgroup") return answer_in_cgroup(argv[2], argv[3]);
  if (how == "modify") return answer(BPF_PROG_TYPE_TRACING, BPF_MODIFY_RETURN, argv[2], std::atoi(argv[3]));
  if (how == "loaded" || how == "loaded-link") return answer_later(argv[2], argv[3], how == "loaded-link");
  if (how == "lsm") return answer(BPF_PROG_TYPE_LSM, BPF_LSM_MAC, argv[2], std::atoi(argv[3]));
  return attach(how, argv[2], argv[3]);
}
