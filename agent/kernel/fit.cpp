// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/fit.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "agent/kernel/hooks.h"
#include "agent/kernel/kernel.h"
#include "bpf/sbpf.skel.h"

namespace sbpf::agent {
namespace {

using Btf = std::unique_ptr<btf, decltype(&btf__free)>;

constexpr bpf_insn instruction(int code, int to, int from, int offset, std::int32_t value) {
  return {static_cast<__u8>(code), static_cast<__u8>(to), static_cast<__u8>(from), static_cast<__s16>(offset), value};
}

// Address of a symbol of the kernel's, of up to 11 characters; 0 if it does not tell. A program asks for it, as the
// kernel takes seconds on a slow machine to write out /proc/kallsyms.
std::uint64_t symbol_address(std::string_view name) {
  constexpr int kNameAt = -16, kAddressAt = -24;
  std::int32_t words[3] = {};
  const auto size = static_cast<std::int32_t>(name.size() + 1);
  if (name.size() >= sizeof words) return 0;
  std::memcpy(words, name.data(), name.size());
  // NOLINTBEGIN(misc-redundant-expression): some are 0
  constexpr int kStore = BPF_ST | BPF_MEM, kCopy = BPF_ALU64 | BPF_MOV | BPF_X, kSet = BPF_ALU64 | BPF_MOV | BPF_K,
                kAdd = BPF_ALU64 | BPF_ADD | BPF_K;
  // NOLINTEND(misc-redundant-expression)
  const bpf_insn program[] = {
      instruction(kCopy, BPF_REG_6, BPF_REG_1, 0, 0),
      instruction(kStore | BPF_W, BPF_REG_10, 0, kNameAt, words[0]),
      instruction(kStore | BPF_W, BPF_REG_10, 0, kNameAt + 4, words[1]),
      instruction(kStore | BPF_W, BPF_REG_10, 0, kNameAt + 8, words[2]),
      instruction(kStore | BPF_DW, BPF_REG_10, 0, kAddressAt, 0),
      // bpf_kallsyms_lookup_name(name, size, flags, address)
      instruction(kCopy, BPF_REG_1, BPF_REG_10, 0, 0),
      instruction(kAdd, BPF_REG_1, 0, 0, kNameAt),
      instruction(kSet, BPF_REG_2, 0, 0, size),
      instruction(kSet, BPF_REG_3, 0, 0, 0),
      instruction(kCopy, BPF_REG_4, BPF_REG_10, 0, 0),
      instruction(kAdd, BPF_REG_4, 0, 0, kAddressAt),
      instruction(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_kallsyms_lookup_name),
      // The context is where the answer goes.
      instruction(BPF_LDX | BPF_MEM | BPF_DW, BPF_REG_1, BPF_REG_10, kAddressAt, 0),
      instruction(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_6, BPF_REG_1, 0, 0),
      instruction(kSet, BPF_REG_0, 0, 0, 0),
      instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0),
  };
  LIBBPF_OPTS(bpf_prog_load_opts, how, .prog_flags = BPF_F_SLEEPABLE);
  const Fd fd(bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "sbpf_symbol", "GPL", program, std::size(program), &how));
  std::uint64_t address = 0;
  LIBBPF_OPTS(bpf_test_run_opts, run, .ctx_in = &address, .ctx_size_in = sizeof address);
  if (!fd || bpf_prog_test_run_opts(fd.get(), &run) != 0) return 0;
  return address;
}

bool has_function(const Btf& types, const std::string& name) {
  return btf__find_by_name_kind(types.get(), name.c_str(), BTF_KIND_FUNC) > 0;
}

// In bytes; nothing if there is no such structure or member.
std::optional<std::uint32_t> offset_of(const Btf& types, const char* structure, std::string_view member) {
  const int id = btf__find_by_name_kind(types.get(), structure, BTF_KIND_STRUCT);
  if (id <= 0) return std::nullopt;
  const btf_type* type = btf__type_by_id(types.get(), static_cast<std::uint32_t>(id));
  for (std::uint32_t i = 0; i < btf_vlen(type); i++)
    if (member == btf__name_by_offset(types.get(), btf_members(type)[i].name_off))
      return btf_member_bit_offset(type, i) / 8;
  return std::nullopt;
}

// Of these hooks the kernel's callers take a positive answer for leave (`if (error < 0)`): bpf(2) and what it opens,
// user namespaces and keys. For all others whatever is not 0 refuses.
constexpr std::array kLiftable = {SBPF_HOOK_bpf,           SBPF_HOOK_bpf_map,   SBPF_HOOK_bpf_prog,
                                  SBPF_HOOK_userns_create, SBPF_HOOK_key_alloc, SBPF_HOOK_key_permission};

// What a program of others must not be attached to, while ours are loaded: with it ours would not be asked.
void find_overruled(sbpf_bpf& skeleton, const Btf& vmlinux) {
  constexpr std::string_view kHook = "bpf_lsm_";
  for (std::uint32_t id = 1; id < btf__type_cnt(vmlinux.get()); id++) {
    const btf_type* type = btf__type_by_id(vmlinux.get(), id);
    if (!btf_is_func(type)) continue;
    const std::string_view name = btf__name_by_offset(vmlinux.get(), type->name_off);
    if (const auto called = hook_called_by(name)) skeleton.rodata->sbpf_callers[*called] = id;
    if (!name.starts_with(kHook)) continue;
    for (const sbpf_hook hook : kLiftable)
      if (name.substr(kHook.size()) == all_hooks()[hook].name) skeleton.rodata->sbpf_liftable[hook] = id;
  }
}

// Leaves the programs without an answer if the module is not loaded.
void find_btrfs(sbpf_bpf& skeleton, const Btf& vmlinux) {
  const Btf module(btf__load_module_btf("btrfs", vmlinux.get()), btf__free);
  const Btf& types = module ? module : vmlinux;
  const auto root = offset_of(types, "btrfs_inode", "root"), inode = offset_of(types, "btrfs_inode", "vfs_inode"),
             dev = offset_of(types, "btrfs_root", "anon_dev");
  if (!root || !inode || !dev) return;
  skeleton.rodata->sbpf_btrfs_root = static_cast<std::int32_t>(*root) - static_cast<std::int32_t>(*inode);
  skeleton.rodata->sbpf_btrfs_dev = *dev;
}

// From the inode in a filesystem's own structure to a member behind it. 0: its module is not loaded, or has it
// elsewhere.
std::uint32_t behind_inode(const Btf& vmlinux, const char* module_name, const char* structure, const char* inode_member,
                           const char* member) {
  const Btf module(btf__load_module_btf(module_name, vmlinux.get()), btf__free);
  const Btf& types = module ? module : vmlinux;
  const auto inode = offset_of(types, structure, inode_member), at = offset_of(types, structure, member);
  return inode && at && *at > *inode ? *at - *inode : 0;
}

}  // namespace

Result<void> fit_to_kernel(sbpf_bpf& skeleton) {
  const Btf vmlinux(btf__load_vmlinux_btf(), btf__free);
  if (!vmlinux)
    return fail("no_btf", SystemError{errno, "use a kernel with CONFIG_DEBUG_INFO_BTF"},
                "cannot read the kernel's BTF");
  set_hooks_present([&](const Hook& hook) { return has_function(vmlinux, std::string("bpf_lsm_") + hook.name); });
  std::set<std::string> wanted;
  for (const char* name : kQueries) wanted.insert(std::string("sbpf_") + name);
  for (const Hook& hook : hooks()) wanted.insert(std::string("hook_") + hook.name);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton.obj) if (!wanted.contains(bpf_program__name(program)))
      bpf_program__set_autoload(program, false);
#if defined(__x86_64__)
  skeleton.rodata->sbpf_rename_lock = symbol_address("rename_lock");
#endif
  skeleton.rodata->sbpf_chrdevs = symbol_address("chrdevs");
  skeleton.rodata->sbpf_misc_list = symbol_address("misc_list");
  skeleton.rodata->sbpf_rdonly_cast = has_function(vmlinux, "bpf_rdonly_cast") ? 1 : 0;
  if (const int id = btf__find_by_name_kind(vmlinux.get(), "bpf_lsm_inode_setattr", BTF_KIND_FUNC); id > 0) {
    const btf_type* function = btf__type_by_id(vmlinux.get(), static_cast<std::uint32_t>(id));
    const btf_type* prototype = btf__type_by_id(vmlinux.get(), function->type);
    skeleton.rodata->sbpf_setattr_dentry = btf_vlen(prototype) == 3 ? 1 : 0;
  }
  find_btrfs(skeleton, vmlinux);
  skeleton.rodata->sbpf_overlay_upper = behind_inode(vmlinux, "overlay", "ovl_inode", "vfs_inode", "__upperdentry");
  skeleton.rodata->sbpf_fuse_nodeid = behind_inode(vmlinux, "fuse", "fuse_inode", "inode", "nodeid");
  find_overruled(skeleton, vmlinux);
  return {};
}

}  // namespace sbpf::agent
