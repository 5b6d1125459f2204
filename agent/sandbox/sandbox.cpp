// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <future>

#include "agent/host/bpf_info.h"
#include "agent/host/paths.h"
#include "agent/kernel/inner_maps.h"
#include "agent/sandbox/ended.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/policy_text.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

// Filled here, then renamed: the pins of a sandbox are all there or not at all.
std::string building_dir(const std::string& name) { return std::string(kPinRoot) + "/building/" + name; }
// A resolver that was begun before an upgrade reads what the sbpf of then wrote: what is written otherwise has another
// name, so that a swap is refused and not answered by nobody.
constexpr const char* kResolverRules = "/resolver_policy";

// A run that ends late finds its name with another sandbox, if someone took its own down meanwhile.
bool is_name_of_another(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name) {
  const auto first = std::ranges::find_if(all_hooks(), &Hook::per_sandbox);
  const Fd pin(bpf_obj_get(link_pin(name, *first).c_str()));
  const auto link = pin ? link_info(pin.get()) : Result<bpf_link_info>(fail("bpf_info", ""));
  if (link && link->cgroup.cgroup_id == cgroup_id) return false;  // the pins are its own
  bool whole = true;
  const auto all = read_registry(kernel, &whole);
  // Where not all can be read, the pins know whose they are.
  if (!whole && link) return true;
  return std::ranges::any_of(
      all, [&](const sbpf_sandbox& record) { return name == record.name && record.cgroup_id != cgroup_id; });
}

std::uint32_t flags_of(const SandboxSpec& spec, const policy::Image& image) {
  const std::uint32_t policy = image.header().flags;
  std::uint32_t flags = spec.flags;
  if (spec.resolver != nullptr) flags |= SBPF_SANDBOX_HOST_NAMES;
  if ((policy & SBPF_POLICY_PATHS) != 0) flags |= SBPF_SANDBOX_FS;
  if ((policy & SBPF_POLICY_RECORD) != 0) flags |= SBPF_SANDBOX_FLOWS;
  return flags;
}

Result<void> attach_links(const Kernel& kernel, const Cgroup& cgroup, std::uint32_t flags, std::vector<Fd>& links) {
  for (const Hook& hook : hooks_of(flags)) {
    if (!hook.per_sandbox()) continue;
    LIBBPF_OPTS(bpf_link_create_opts, options);
    Fd link(bpf_link_create(kernel.program(hook.id), cgroup.fd(),
                            static_cast<bpf_attach_type>(cgroup_attach_type(hook)), &options));
    if (!link) {
      const int error = errno;
      auto failure = fail(
          "program_attach",
          SystemError{error,
                      error == EPERM ? "another program holds this cgroup exclusively (attached without MULTI)" : ""},
          "cannot attach hook {} to {}", hook.name, cgroup.path());
      failure.value().domain = domain_name(hook.domain);
      return failure;
    }
    links.push_back(std::move(link));
  }
  return {};
}

Result<void> pin_sandbox(const SandboxSpec& spec, std::uint32_t flags, const std::vector<Fd>& links) {
  const std::string building = building_dir(spec.name);
  std::error_code ec;
  fs::remove_all(building, ec);
  if (::mkdir(building.c_str(), 0700) != 0) return fail("pin", SystemError{errno}, "cannot make {}", building);
  const auto pin = [&](const Fd& object, const std::string& path) -> Result<void> {
    if (bpf_obj_pin(object.get(), path.c_str()) == 0) return {};
    const int error = errno;
    fs::remove_all(building, ec);
    return fail("pin", SystemError{error}, "cannot pin {}", path);
  };
  std::size_t i = 0;
  for (const Hook& hook : hooks_of(flags))
    if (hook.per_sandbox())
      if (auto pinned = pin(links[i++], building + "/" + hook.name); !pinned) return pinned;
  if (spec.resolver != nullptr && spec.resolver->rules)
    if (auto pinned = pin(spec.resolver->rules, building + kResolverRules); !pinned) return pinned;
  if (::rename(building.c_str(), pin_directory(spec.name).c_str()) != 0) {
    const int error = errno;
    fs::remove_all(building, ec);
    return fail("pin", SystemError{error}, "cannot rename {}", building);
  }
  return {};
}

// At once: the removal of a pin only schedules it, and until then the cgroup's sockets are denied for want of a policy.
void detach_links(const std::string& dir) {
  std::error_code ec;
  for (const auto& pin : fs::directory_iterator(dir, ec))
    if (Fd link(bpf_obj_get(pin.path().c_str())); link) (void)bpf_link_detach(link.get());  // a map's pin is refused
}

// Does it in a thread, or at get() where there can be none. What changes a map of maps waits for a grace period: two
// that wait together share one.
template <typename Work>
auto beside(Work work) {
  return std::async([work] {
    (void)::unshare(CLONE_FS);  // or the caller could enter no mount namespace until this thread is gone
    return work();
  });
}

Result<void> make_record(const Kernel& kernel, const Cgroup& cgroup, const SandboxSpec& spec,
                         const policy::Image& image) {
  sbpf_sandbox record{};
  record.cgroup_id = cgroup.id();
  record.level = cgroup.level();
  record.flags = flags_of(spec, image);
  std::strncpy(record.name, spec.name.c_str(), sizeof record.name - 1);
  for (std::size_t i = 0; i < spec.stdio_inode.size(); i++) record.stdio_inode[i] = spec.stdio_inode[i];
  record.created_ns = boottime_ns();
  record.own_netns = spec.own_netns;
  record.relayed = spec.relayed;
  const std::uint64_t id = cgroup.id();
  if (bpf_map_update_elem(kernel.sandboxes(), &id, &record, BPF_NOEXIST) != 0)
    return fail("sandbox_setup", SystemError{errno, errno == E2BIG ? "this host holds the most sandboxes it can" : ""},
                "cannot make the sandbox record");
  return {};
}

}  // namespace

void forget_cgroup(const Kernel& kernel, std::uint64_t cgroup_id) {
  bpf_map_delete_elem(kernel.sandboxes(), &cgroup_id);
  // After the record, without which nobody makes it again.
  EventLog::remove(cgroup_id);
  drop_policy_text(cgroup_id);
  auto ring = beside([&kernel, cgroup_id] { return bpf_map_delete_elem(kernel.rings(), &cgroup_id); });
  for (const int map : {kernel.policies(), kernel.host_names(), kernel.told()}) bpf_map_delete_elem(map, &cgroup_id);
  ring.get();
}

Result<void> set_up(const Kernel& kernel, const Cgroup& cgroup, const SandboxSpec& spec, const policy::Image& image,
                    bool pinned, std::vector<Fd>& links) {
  const std::uint64_t id = cgroup.id();
  const std::uint32_t flags = flags_of(spec, image);
  std::optional<JournalEntry> changing(std::in_place, kernel, JournalEntry::set_up, id, spec.name);
  const auto steps = [&]() -> Result<void> {
    // From the first link on, sockets of the cgroup are denied everything until its storage names a policy.
    if (auto r = attach_links(kernel, cgroup, flags, links); !r) return r;
    sbpf_cgroup_ref ref{
        id, 0, 0, ref_flags(image, spec.own_netns != 0), image.header().generation, 0, digest_of(image.header()), 0};
    if (spec.resolver != nullptr) {
      const int opened = spec.resolver->opened.get();
      if (opened >= 0 && bpf_map_update_elem(kernel.host_names(), &id, &opened, BPF_ANY) != 0)
        return fail("sandbox_setup", SystemError{errno}, "cannot set the sandbox's map of names");
      ref.dns4_be = htons(spec.resolver->port4);
      ref.dns6_be = htons(spec.resolver->port6);
    }
    auto ring = beside([&kernel, id] { return EventLog::begin(kernel, id); });
    auto published = publish(kernel, id, image);
    if (auto r = ring.get(); !r) return r;
    if (!published) return published;
    if (bpf_map_update_elem(kernel.cgroup_refs(), &id, &ref, BPF_ANY) != 0)
      return fail("sandbox_setup", SystemError{errno}, "cannot set the cgroup's storage");
    if (auto r = make_record(kernel, cgroup, spec, image); !r) return r;
    if (pinned)
      if (auto r = pin_sandbox(spec, flags, links); !r) return r;
    // One more level at most: no need to ask for all sandboxes.
    if (flags & SBPF_SANDBOX_ATTACHED)
      __atomic_fetch_or(&kernel.globals().gate.other_levels, 1u << cgroup.level(), __ATOMIC_SEQ_CST);
    return {};
  };
  auto done = steps();
  if (!done) {
    links.clear();
    changing.reset();
    take_down(kernel, id, spec.name);
  }
  return done;
}

void take_down(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name) {
  const JournalEntry changing(kernel, JournalEntry::take_down, cgroup_id, name);
  const auto record = find_record(kernel, cgroup_id);
  if (record) (void)mark_ended(*record);
  std::error_code ec;
  if (!is_name_of_another(kernel, cgroup_id, name))
    for (const std::string& dir : {pin_directory(name), building_dir(name)}) {
      detach_links(dir);
      fs::remove_all(dir, ec);
    }
  forget_cgroup(kernel, cgroup_id);
  forget_verdicts(kernel);
  if (!record || (record->flags & SBPF_SANDBOX_ATTACHED) != 0) refresh_levels(kernel);
}

// The gate looks only at levels that carry a sandbox outside our own root.
void refresh_levels(const Kernel& kernel) {
  std::uint32_t levels = 0;
  bool whole = true;
  for (const sbpf_sandbox& record : read_registry(kernel, &whole))
    if (record.flags & SBPF_SANDBOX_ATTACHED) levels |= 1u << record.level;
  if (!whole) levels |= kernel.globals().gate.other_levels;  // of those that could not be read
  __atomic_store_n(&kernel.globals().gate.other_levels, levels, __ATOMIC_SEQ_CST);
}

Fd open_resolver_rules(const std::string& name) {
  return Fd(bpf_obj_get((pin_directory(name) + kResolverRules).c_str()));
}

Fd open_host_names(const Kernel& kernel, std::uint64_t cgroup_id) {
  return open_inner_map(kernel.host_names(), cgroup_id);
}

Fd open_ring(const Kernel& kernel, std::uint64_t cgroup_id) { return open_inner_map(kernel.rings(), cgroup_id); }

std::string pin_directory(const std::string& name) { return std::string(kPinRoot) + "/sandboxes/" + name; }

std::string link_pin(const std::string& name, const Hook& hook) { return pin_directory(name) + "/" + hook.name; }

void drop_unfinished() {
  std::error_code ec;
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(building_dir(""), ec)) left.push_back(entry.path());
  for (const std::string& directory : left) {
    detach_links(directory);
    fs::remove_all(directory, ec);
  }
}

Result<void> have_sandboxes_run(const Kernel& kernel) {
  for (const sbpf_sandbox& record : read_registry(kernel))
    for (const Hook& hook : hooks_of(record.flags)) {
      if (!hook.per_sandbox()) continue;
      const Fd link(bpf_obj_get(link_pin(record.name, hook).c_str()));
      if (!link) continue;  // a loss, which `sbpf watch` answers, and mends with the programs in force
      auto info = link_info(link.get());
      if (info && info->prog_id == kernel.meta(hook.id).prog_id) continue;
      if (bpf_link_update(link.get(), kernel.program(hook.id), nullptr) != 0)
        return fail("upgrade", SystemError{errno, std::string(kNotUpgraded)},
                    "the kernel does not take another program for hook {} of sandbox {}", hook.name, record.name);
    }
  return {};
}

}  // namespace sbpf::agent
