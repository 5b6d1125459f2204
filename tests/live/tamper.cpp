// SPDX-License-Identifier: Apache-2.0
// What host root could try on sbpf's own objects, one a call; prints the errno, 0 if it succeeded.
//   tamper link-create CGROUP PIN            makes a link of nobody's; prints its number
//   tamper answer CGROUP PIN ADDRESS ERRNO   pins a program that answers connects to the IPv4 address with the errno, whatever
//                                            the programs of cgroups below said; 0 allows them
//   tamper link-detach ID                    of the link with this number
//   tamper link-update ID                    has it run a program that allows everything, with the storage of the one before
//                                            if that can be opened: newer kernels replace none by one without
//   tamper prog-detach CGROUP ID             of the program from the cgroup
//   tamper map-by-id ID | map-read-by-id ID | map-by-pin PATH    opens the map (for writing; for reading)
//   tamper map-of ID N                       prints the number of the N-th map that the program uses
//   tamper policy-copy PIN ID                puts another map in the place of this cgroup's policy, with the same contents
//   tamper gate-off PATH                     has the pinned gate know no sandbox of `sbpf run`
//   tamper levels-off PATH                   … none that was attached
//   tamper extend ID                         loads a program for the place of the program's function highest_level
//   tamper extend-link ID                    the same, says "loaded", waits for a line, and puts it there
//   tamper umount|umount-lazy PATH           tamper mount PATH       tamper mount-shared PATH, umount-shared PATH: from
//                                            a mount namespace of its own, from which mounts still spread
//   tamper mount-new PATH                    the same by fsopen, fsmount and move_mount
//   tamper move-mount|rename|link|symlink PATH PATH       tamper unlink|rmdir|mkdir PATH
//   tamper pin PATH PATH                     of a map that is pinned at the first
//   tamper ptrace|vm-write PID               tamper getfd PID FD
// -1: what is to be tampered with is not there.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "base/fd.h"
#include "bpf/abi.h"

namespace {

using sbpf::Fd;
using Words = std::vector<std::string>;

int result(long value) { return value < 0 ? errno : 0; }
std::uint32_t number(const std::string& word) { return static_cast<std::uint32_t>(std::stoul(word)); }

// A program that allows everything, and uses this storage if there is one.
Fd allowing_program(bpf_prog_type type, bpf_attach_type attach_type, int storage) {
  std::vector<bpf_insn> allow;
  if (storage >= 0)
    // NOLINTNEXTLINE(misc-redundant-expression): two of these are 0, and name the instruction
    allow = {{BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, storage},
             {0, 0, 0, 0, 0},
             {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_2, 0, 0, 0},
             {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_get_local_storage}};
  allow.push_back({BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1});
  allow.push_back({BPF_JMP | BPF_EXIT, 0, 0, 0, 0});
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type);
  return Fd(bpf_prog_load(type, "allow", "GPL", allow.data(), allow.size(), &options));
}

// The maps of a program, which who may not open maps learns from it.
std::vector<std::uint32_t> maps_of(int program, bpf_prog_info& info) {
  std::vector<std::uint32_t> ids(64);
  std::uint32_t size = sizeof info;
  info = {};
  info.map_ids = reinterpret_cast<std::uintptr_t>(ids.data());
  info.nr_map_ids = 64;
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0) return {};
  ids.resize(info.nr_map_ids);
  return ids;
}

// Of an object that is not sbpf's; its number.
int link_create(const std::string& cgroup, const std::string& pin) {
  Fd directory(::open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd program = allowing_program(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, -1);
  LIBBPF_OPTS(bpf_link_create_opts, options);
  Fd link(bpf_link_create(program.get(), directory.get(), BPF_CGROUP_INET4_CONNECT, &options));
  bpf_link_info info{};
  std::uint32_t size = sizeof info;
  if (!link || bpf_obj_pin(link.get(), pin.c_str()) != 0) return -1;
  return bpf_obj_get_info_by_fd(link.get(), &info, &size) == 0 ? static_cast<int>(info.id) : -1;
}

// It runs after the programs of the cgroups below, and sets what the system call returns.
int answer(const std::string& cgroup, const std::string& pin, const std::string& address, const std::string& error) {
  in_addr wanted{};
  if (::inet_pton(AF_INET, address.c_str(), &wanted) != 1) return EINVAL;
  const auto value = static_cast<std::int32_t>(number(error));
  const std::int16_t user_ip4 = offsetof(bpf_sock_addr, user_ip4);
  const bpf_insn code[] = {{BPF_LDX | BPF_MEM | BPF_W, BPF_REG_2, BPF_REG_1, user_ip4, 0},
                           {BPF_JMP32 | BPF_JNE | BPF_K, BPF_REG_2, 0, 4, static_cast<std::int32_t>(wanted.s_addr)},
                           {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, -value},
                           {BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_set_retval},
                           {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, value == 0 ? 1 : 0},
                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
                           {BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 1},
                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const Fd directory(::open(cgroup.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_CGROUP_INET4_CONNECT);
  const Fd program(bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "answer", "GPL", code, std::size(code), &options));
  if (!program) return errno;
  LIBBPF_OPTS(bpf_link_create_opts, where);
  const Fd link(bpf_link_create(program.get(), directory.get(), BPF_CGROUP_INET4_CONNECT, &where));
  return link ? result(bpf_obj_pin(link.get(), pin.c_str())) : errno;
}

int link_update(const std::string& id) {
  const Fd link(bpf_link_get_fd_by_id(number(id)));
  bpf_link_info about{};
  std::uint32_t size = sizeof about;
  if (!link || bpf_obj_get_info_by_fd(link.get(), &about, &size) != 0) return -1;
  const Fd before(bpf_prog_get_fd_by_id(about.prog_id));
  bpf_prog_info info{};
  Fd storage;
  for (const std::uint32_t map_id : maps_of(before.get(), info)) {
    Fd map(bpf_map_get_fd_by_id(map_id));
    bpf_map_info map_info{};
    size = sizeof map_info;
    if (map && bpf_obj_get_info_by_fd(map.get(), &map_info, &size) == 0 && map_info.type == BPF_MAP_TYPE_CGROUP_STORAGE)
      storage = std::move(map);
  }
  const Fd program = allowing_program(static_cast<bpf_prog_type>(info.type),
                                      static_cast<bpf_attach_type>(about.cgroup.attach_type), storage.get());
  return program ? result(bpf_link_update(link.get(), program.get(), nullptr)) : -1;
}

template <typename Part>
int gate_off(const std::string& pin, Part sbpf_gate::*part) {
  const Fd map(bpf_obj_get(pin.c_str()));
  if (!map) return errno;
  void* memory = ::mmap(nullptr, sizeof(sbpf_gate), PROT_READ | PROT_WRITE, MAP_SHARED, map.get(), 0);
  if (memory == MAP_FAILED) return errno;
  __atomic_store_n(&(static_cast<sbpf_gate*>(memory)->*part), Part{0}, __ATOMIC_SEQ_CST);
  return 0;
}

int map_of(const std::string& program_id, const std::string& index) {
  const Fd program(bpf_prog_get_fd_by_id(number(program_id)));
  bpf_prog_info info{};
  const auto ids = maps_of(program.get(), info);
  return number(index) < ids.size() ? static_cast<int>(ids[number(index)]) : 0;
}

// An extension whose type is one of its target's functions; EINVAL and the like are the verifier's and no refusal of
// ours.
int extend(const std::string& id, bool link) {
  Fd target(bpf_prog_get_fd_by_id(number(id)));
  bpf_prog_info info{};
  std::uint32_t size = sizeof info;
  if (!target || bpf_obj_get_info_by_fd(target.get(), &info, &size) != 0) return -1;
  btf* types = btf__load_from_kernel_by_id(info.btf_id);
  if (types == nullptr) return -1;
  int global = 0;  // a function of one scalar argument
  const std::uint32_t n = btf__type_cnt(types);
  for (std::uint32_t i = 1; i < n && global == 0; i++) {
    const btf_type* type = btf__type_by_id(types, i);
    const char* name = btf__name_by_offset(types, type->name_off);
    if (btf_is_func(type) && std::strcmp(name, "highest_level") == 0) global = static_cast<int>(i);
  }
  if (global == 0) return -1;
  // The extension's own types: the same prototype.
  btf* own = btf__new_empty();
  const int word = btf__add_int(own, "int", 4, BTF_INT_SIGNED), bits = btf__add_int(own, "unsigned int", 4, 0);
  const int prototype = btf__add_func_proto(own, word);
  btf__add_func_param(own, "bits", bits);
  const int function = btf__add_func(own, "evil", BTF_FUNC_GLOBAL, prototype);
  if (btf__load_into_kernel(own) != 0) return -1;
  const bpf_insn zero[] = {{BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const bpf_func_info where{0, static_cast<__u32>(function)};
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.attach_btf_id = static_cast<__u32>(global);
  options.attach_prog_fd = static_cast<__u32>(target.get());
  options.prog_btf_fd = static_cast<__u32>(btf__fd(own));
  options.func_info = &where;
  options.func_info_cnt = 1;
  options.func_info_rec_size = sizeof where;
  Fd program(bpf_prog_load(BPF_PROG_TYPE_EXT, "evil", "GPL", zero, 2, &options));
  if (!program || !link) return program ? 0 : errno;
  std::puts("loaded");
  std::fflush(stdout);
  (void)std::getchar();
  LIBBPF_OPTS(bpf_link_create_opts, to, .target_btf_id = static_cast<__u32>(global));
  return result(Fd(bpf_link_create(program.get(), target.get(), BPF_CGROUP_INET_INGRESS, &to)).get());
}

// Mounts of this namespace spread to the one that it was made from, where that one's are shared.
int in_shared_namespace(const std::string& path, bool mount) {
  if (::mount(nullptr, "/", nullptr, MS_SHARED | MS_REC, nullptr) != 0 || ::unshare(CLONE_NEWNS) != 0) return -1;
  return result(mount ? ::mount("none", path.c_str(), "tmpfs", 0, nullptr) : ::umount2(path.c_str(), MNT_DETACH));
}

int move_mount(const std::string& from, const std::string& to) {
  return result(::syscall(SYS_move_mount, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), 0));
}

int mount_new(const std::string& to) {
  const Fd made(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!made || ::syscall(SYS_fsconfig, made.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return -1;
  const Fd mount(static_cast<int>(::syscall(SYS_fsmount, made.get(), FSMOUNT_CLOEXEC, 0)));
  if (!mount) return -1;
  return result(::syscall(SYS_move_mount, mount.get(), "", AT_FDCWD, to.c_str(), MOVE_MOUNT_F_EMPTY_PATH));
}

int trace(pid_t pid) {
  if (::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr) != 0) return errno;
  ::waitpid(pid, nullptr, __WALL);
  ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
  return 0;
}

// Nothing is at address 0: EFAULT comes after the permission.
int vm_write(pid_t pid) {
  char byte = 0;
  iovec here{&byte, 1}, there{nullptr, 1};
  return result(::process_vm_writev(pid, &here, 1, &there, 1, 0));
}

int getfd(pid_t pid, const std::string& fd) {
  Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return result(Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), number(fd), 0))).get());
}

int policy_copy(const std::string& pin, const std::string& cgroup) {
  const Fd policies(bpf_obj_get(pin.c_str()));
  const std::uint64_t cgroup_id = std::stoull(cgroup);
  std::uint32_t id = 0, size = sizeof(bpf_map_info);
  if (bpf_map_lookup_elem(policies.get(), &cgroup_id, &id) != 0) return -1;
  const Fd from(bpf_map_get_fd_by_id(id));
  bpf_map_info info{};
  if (bpf_obj_get_info_by_fd(from.get(), &info, &size) != 0) return -1;
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = info.map_flags);
  const Fd to(bpf_map_create(static_cast<bpf_map_type>(info.type), info.name, info.key_size, info.value_size,
                             info.max_entries, &options));
  if (!to) return -1;
  std::vector<char> key(info.key_size), next(info.key_size), value(info.value_size);
  for (const char* last = nullptr; bpf_map_get_next_key(from.get(), last, next.data()) == 0; last = key.data()) {
    key = next;
    if (bpf_map_lookup_elem(from.get(), key.data(), value.data()) != 0 ||
        bpf_map_update_elem(to.get(), key.data(), value.data(), BPF_ANY) != 0)
      return -1;
  }
  const int fd = to.get();
  return result(bpf_map_update_elem(policies.get(), &cgroup_id, &fd, BPF_ANY));
}

int carry_out(const Words& w) {
  const std::string& what = w[0];
  const std::string one = w.size() > 1 ? w[1] : "", two = w.size() > 2 ? w[2] : "";
  if (what == "link-detach") {
    Fd link(bpf_link_get_fd_by_id(number(one)));
    return link ? result(bpf_link_detach(link.get())) : -1;
  }
  if (what == "link-create") return link_create(one, two);
  if (what == "answer") return w.size() == 5 ? answer(one, two, w[3], w[4]) : -1;
  if (what == "link-update") return link_update(one);
  if (what == "prog-detach") {
    Fd cgroup(::open(one.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), program(bpf_prog_get_fd_by_id(number(two)));
    return program ? result(bpf_prog_detach2(program.get(), cgroup.get(), BPF_CGROUP_INET4_CONNECT)) : -1;
  }
  if (what == "map-by-id") return result(Fd(bpf_map_get_fd_by_id(number(one))).get());
  if (what == "map-read-by-id") {
    bpf_attr attr{};
    attr.map_id = number(one);
    attr.open_flags = BPF_F_RDONLY;
    return result(Fd(static_cast<int>(::syscall(SYS_bpf, BPF_MAP_GET_FD_BY_ID, &attr, sizeof attr))).get());
  }
  if (what == "map-by-pin") return result(Fd(bpf_obj_get(one.c_str())).get());
  if (what == "map-of") return map_of(one, two);
  if (what == "policy-copy") return policy_copy(one, two);
  if (what == "gate-off") return gate_off(one, &sbpf_gate::root_id);
  if (what == "levels-off") return gate_off(one, &sbpf_gate::other_levels);
  if (what == "extend" || what == "extend-link") return extend(one, what == "extend-link");
  if (what == "umount") return result(::umount2(one.c_str(), 0));
  if (what == "umount-lazy") return result(::umount2(one.c_str(), MNT_DETACH));
  if (what == "mount") return result(::mount("none", one.c_str(), "tmpfs", 0, nullptr));
  if (what == "mount-new") return mount_new(one);
  if (what == "mount-shared") return in_shared_namespace(one, true);
  if (what == "umount-shared") return in_shared_namespace(one, false);
  if (what == "move-mount") return move_mount(one, two);
  if (what == "rename") return result(std::rename(one.c_str(), two.c_str()));
  if (what == "link") return result(::link(one.c_str(), two.c_str()));
  if (what == "symlink") return result(::symlink(one.c_str(), two.c_str()));
  if (what == "mkdir") return result(::mkdir(one.c_str(), 0700));
  if (what == "pin") return result(bpf_obj_pin(Fd(bpf_obj_get(one.c_str())).get(), two.c_str()));
  if (what == "unlink") return result(::unlink(one.c_str()));
  if (what == "rmdir") return result(::rmdir(one.c_str()));
  if (what == "ptrace") return trace(static_cast<pid_t>(number(one)));
  if (what == "vm-write") return vm_write(static_cast<pid_t>(number(one)));
  if (what == "getfd") return getfd(static_cast<pid_t>(number(one)), two);
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::printf("%d\n", carry_out(Words(argv + 1, argv + argc)));
}
