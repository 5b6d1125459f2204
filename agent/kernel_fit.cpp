// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel_fit.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "agent/agent.h"
#include "bpf/sbpf.skel.h"

namespace sbpf::agent {
namespace {

using Btf = std::unique_ptr<btf, decltype(&btf__free)>;

// Address of a symbol of the kernel; 0 if it has none of this name, or does not tell.
std::uint64_t kernel_symbol(std::string_view wanted) {
  std::ifstream symbols("/proc/kallsyms");
  for (std::string address, type, name, line; std::getline(symbols, line);) {
    if (line.find(wanted) == std::string::npos) continue;
    std::istringstream(line) >> address >> type >> name;
    if (name == wanted) return std::strtoull(address.c_str(), nullptr, 16);
  }
  return 0;
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

}  // namespace

Result<void> fit_to_kernel(sbpf_bpf& skeleton) {
  const Btf vmlinux(btf__load_vmlinux_btf(), btf__free);
  if (!vmlinux) return fail("no_btf", std::string("cannot read the kernel's BTF: ") + std::strerror(errno),
                            "use a kernel with CONFIG_DEBUG_INFO_BTF", errno);
  set_hooks_present([&](const Hook& hook) { return has_function(vmlinux, std::string("bpf_lsm_") + hook.name); });
  std::set<std::string> wanted{"sbpf_inodes"};
  for (const Hook& hook : hooks()) wanted.insert(std::string("hook_") + hook.name);
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton.obj)
    if (wanted.count(bpf_program__name(program)) == 0) bpf_program__set_autoload(program, false);
#if defined(__x86_64__)
  skeleton.rodata->sbpf_rename_lock = kernel_symbol("rename_lock");
#endif
  skeleton.rodata->sbpf_rdonly_cast = has_function(vmlinux, "bpf_rdonly_cast") ? 1 : 0;
  if (const int id = btf__find_by_name_kind(vmlinux.get(), "bpf_lsm_inode_setattr", BTF_KIND_FUNC); id > 0) {
    const btf_type* function = btf__type_by_id(vmlinux.get(), static_cast<std::uint32_t>(id));
    const btf_type* prototype = btf__type_by_id(vmlinux.get(), function->type);
    skeleton.rodata->sbpf_setattr_dentry = btf_vlen(prototype) == 3 ? 1 : 0;
  }
  find_btrfs(skeleton, vmlinux);
  return {};
}

}  // namespace sbpf::agent
