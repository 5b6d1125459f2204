// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/overruling_programs.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fcntl.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "agent/host/bpf_info.h"
#include "agent/kernel/hooks.h"

namespace sbpf::agent {

namespace fs = std::filesystem;

namespace {

constexpr std::uint32_t kMostPrograms = 64;  // of one hook of a cgroup; the kernel takes no more

// Of the hooks that refuse; and of options, which the LSM judges before.
Result<std::vector<std::uint32_t>> in_force(int cgroup_fd, bpf_attach_type type) {
  std::vector<std::uint32_t> ids(kMostPrograms);
  std::uint32_t count = kMostPrograms, flags = 0;
  if (bpf_prog_query(cgroup_fd, type, BPF_F_QUERY_EFFECTIVE, &flags, ids.data(), &count) != 0)
    return fail("overruled", SystemError{errno}, "the kernel does not say what runs after sbpf's programs");
  ids.resize(count);
  return ids;
}

// Errors: "bpf_info", also of one that ended meanwhile.
Result<bpf_prog_info> info_of(std::uint32_t id) {
  const Fd program(bpf_prog_get_fd_by_id(id));
  return program ? program_info(program.get()) : Result<bpf_prog_info>(fail("bpf_info", "no such program", "", errno));
}

std::string name_of_program(std::uint32_t id) {
  const auto info = info_of(id);
  if (!info) return fmt::format("program {}", id);
  return fmt::format("program {} (id {}, tag {}, loaded by uid {})",
                     std::string(info->name, ::strnlen(info->name, sizeof info->name)), id, tag_text(info->tag),
                     info->created_by_uid);
}

bool is_among(const std::vector<Later>& all, const Later& one) { return std::ranges::find(all, one) != all.end(); }

// `from`: of the programs in force for a hook, in their order, the first one to count. Errors: "overruled".
template <typename From>
Result<std::vector<Later>> others_from(const Kernel& kernel, int cgroup_fd, From&& from) {
  std::vector<Later> later;
  for (const Hook& hook : hooks()) {
    if (hook.kind != HookKind::cgroup) continue;
    auto ids = in_force(cgroup_fd, static_cast<bpf_attach_type>(cgroup_attach_type(hook)));
    if (!ids) return tl::unexpected<Error>(ids.error());
    const std::uint32_t own = kernel.meta(hook.id).prog_id;
    for (auto after = from(*ids, own); after != ids->end(); ++after)
      if (*after != own) later.push_back({hook.name, *after});
  }
  auto options = in_force(cgroup_fd, BPF_CGROUP_SETSOCKOPT);
  if (!options) return tl::unexpected<Error>(options.error());
  for (const std::uint32_t id : *options) later.push_back({"setsockopt", id});
  return later;
}

// Takes the trusted ones out, and gives them; one that ended meanwhile goes, too. Errors: "bpf_info": one cannot be
// asked.
Result<std::vector<Later>> take_trusted(std::vector<Later>& later, const std::vector<policy::ProgramTag>& trusted) {
  std::vector<Later> taken, rest;
  if (trusted.empty()) return taken;
  for (Later& one : later) {
    const auto info = info_of(one.prog_id);
    if (!info && info.error().sys_errno == ENOENT) continue;
    if (!info) return tl::unexpected<Error>(info.error());
    const bool is_trusted = std::ranges::find(trusted, std::to_array(info->tag)) != trusted.end();
    (is_trusted ? taken : rest).push_back(std::move(one));
  }
  later = std::move(rest);
  return taken;
}

}  // namespace

// A cgroup's own programs run first, and those of the root last.
Result<std::vector<Later>> programs_after(const Kernel& kernel, int cgroup_fd) {
  return others_from(kernel, cgroup_fd, [](const std::vector<std::uint32_t>& ids, std::uint32_t own) {
    return std::ranges::find(ids, own);
  });
}

Result<std::vector<Later>> programs_above(const Kernel& kernel, int parent_fd) {
  return others_from(kernel, parent_fd,
                     [](const std::vector<std::uint32_t>& ids, std::uint32_t) { return ids.begin(); });
}

Result<std::vector<Later>> later_programs(const Kernel& kernel, const Cgroup& cgroup,
                                          const std::vector<policy::ProgramTag>& trusted) {
  auto later = programs_after(kernel, cgroup.fd());
  if (!later) return later;
  // Those of a cgroup below are asked before ours and cannot overrule them; but options are judged by the LSM, before
  // all of them.
  const int error = cgroup.visit([&](const std::string& path) {
    if (path == cgroup.path()) return 0;
    const Fd below(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!below) return errno;
    const auto options = in_force(below.get(), BPF_CGROUP_SETSOCKOPT);
    if (!options) return options.error().sys_errno;
    for (const std::uint32_t id : *options)
      if (const Later one{"setsockopt", id}; !is_among(*later, one)) later->push_back(one);
    return 0;
  });
  if (error != 0) return fail("overruled", SystemError{error}, "the cgroups below cannot be asked for their programs");
  if (auto taken = take_trusted(*later, trusted); !taken) return taken;
  return later;
}

Result<std::vector<Later>> LaterSeen::newcomers(Result<std::vector<Later>> later,
                                                const std::vector<policy::ProgramTag>& trusted) {
  if (!later) return later;
  auto taken = take_trusted(*later, trusted);
  if (!taken) return taken;
  std::vector<Later> fresh;
  for (const Later& one : *later) {
    if (is_among(known_, one)) continue;
    if (first_ || is_among(trusted_, one))
      known_.push_back(one);
    else
      fresh.push_back(one);
  }
  first_ = false;
  trusted_ = std::move(*taken);
  return fresh;
}

std::string describe(const Later& later) {
  return fmt::format("{} runs after sbpf's for {} and may overrule it", name_of_program(later.prog_id), later.hook);
}

Result<std::vector<Lost>> patched_functions(const std::string& root) {
  std::vector<Lost> lost;
  std::error_code ec;
  if (!fs::exists(root, ec) && !ec && fs::exists(fs::path(root).parent_path(), ec)) return lost;
  // PATCH/OBJECT/FUNCTION,POSITION
  for (fs::recursive_directory_iterator at(root, ec), end; !ec && at != end; at.increment(ec)) {
    if (at.depth() != 2) continue;
    const std::string name = at->path().filename(), function = name.substr(0, name.find(','));
    if (!hook_called_by(function)) continue;
    const std::string patch = at->path().parent_path().parent_path().filename();
    lost.push_back({"overruled", fmt::format("live patch {} replaces {}, which calls sbpf's hook", patch, function)});
  }
  if (ec)
    return fail("overruled",
                fmt::format("cannot read which functions live patches replace, in {}: {}", root, ec.message()), "",
                ec.value());
  return lost;
}

Result<std::vector<Lost>> modified_functions(const Kernel& kernel) {
  std::vector<Lost> lost;
  auto modifiers = read_records<sbpf_modifier>(kernel.iterator(Query::modifiers), kernel.query(Query::modifiers),
                                               nullptr, "overruled", "programs that modify functions");
  if (!modifiers) return tl::unexpected<Error>(modifiers.error());
  if (modifiers->empty()) return lost;
  const std::unique_ptr<btf, decltype(&btf__free)> types(btf__load_vmlinux_btf(), btf__free);
  if (!types) return fail("overruled", SystemError{errno}, "cannot read the kernel's BTF");
  for (const sbpf_modifier& one : *modifiers) {
    const btf_type* type = btf__type_by_id(types.get(), one.btf_id);
    const std::string function = type ? btf__name_by_offset(types.get(), type->name_off) : "";
    if (hook_called_by(function))
      lost.push_back({"overruled", fmt::format("{} answers in the place of {}, which calls sbpf's hook",
                                               name_of_program(one.prog_id), function)});
  }
  return lost;
}

}  // namespace sbpf::agent
