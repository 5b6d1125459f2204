// SPDX-License-Identifier: Apache-2.0
// The pins of kernel-wide objects: are they there, how they come back, and what the links behind them run.
#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstring>

#include "agent/host/bpf_info.h"
#include "agent/host/cgroup.h"
#include "agent/host/paths.h"
#include "agent/kernel/kernel.h"

namespace sbpf::agent {
namespace {

// The kind of an object behind a descriptor and its number; the bytes of the kernel's answer begin with the number for
// maps and behind a type for links and programs, so each kind is asked for by its own call.
struct Identity {
  char kind = 0;  // 'm', 'p', 'l'; 0: none of them
  std::uint32_t id = 0;
  bool operator==(const Identity&) const = default;
};

Identity identity(int fd, char kind) {
  if (kind == 'm') {
    auto info = map_info(fd);
    return info ? Identity{kind, info->id} : Identity{};
  }
  if (kind == 'p') {
    auto info = program_info(fd);
    return info ? Identity{kind, info->id} : Identity{};
  }
  auto info = link_info(fd);
  return info ? Identity{kind, info->id} : Identity{};
}

// By the directory that it is in: maps, programs, links. What was recorded of the programs lies with them.
char kind_of(const std::string& name) { return name == "programs/meta" ? 'm' : name.front(); }

// `unclear`: set where that cannot be told.
std::string why_broken(const std::string& path, int fd, char kind, bool& unclear) {
  const Fd pinned(bpf_obj_get(path.c_str()));
  unclear = !pinned && pin_seen(errno, path) == Seen::unknown;
  if (!pinned)
    return errno == ENOENT ? "the pin is missing" : std::string("the pin cannot be opened: ") + std::strerror(errno);
  if (fd < 0) return "";
  return identity(pinned.get(), kind) == identity(fd, kind) ? "" : "the pin is one of another object";
}

}  // namespace

std::vector<Kernel::Pin> Kernel::pins() const {
  std::vector<Pin> all;
  for (const auto& [name, map] : kMaps) all.push_back({std::string("maps/") + name, (objects_.*map).get()});
  all.push_back({"programs/meta", objects_.meta.get()});
  for (std::size_t i = 0; i < kQueries.size(); i++)
    all.push_back({std::string("programs/") + kQueries[i], objects_.queries[i].get()});
  for (const Hook& hook : hooks())
    all.push_back(hook.per_sandbox() ? Pin{std::string("programs/") + hook.name, objects_.programs[hook.id].get()}
                                     : Pin{std::string("links/") + hook.name, objects_.links[hook.id].get(), &hook});
  return all;
}

// A link to a cgroup can be detached, or given another program, which LSM links cannot. Empty if nothing of that was
// done.
std::string Kernel::why_idle(const Hook* hook) const {
  if (hook == nullptr || hook->kind != HookKind::root || !objects_.links[hook->id]) return "";
  const HookStatus now = host_status(*hook, false);
  if (now.unclear) return "";
  bool unclear = false;
  if (!now.attached || now.prog_id == objects_.recorded[hook->id].prog_id) return now.reason;
  return program_mismatch(*hook, now.prog_id, unclear);
}

std::vector<Degradation> Kernel::broken_pins(bool of_links_alone, std::string* why_unclear) const {
  std::vector<Degradation> broken;
  for (const Pin& pin : pins()) {
    if (of_links_alone && pin.hook == nullptr) continue;
    bool unclear = false;
    std::string why = why_broken(std::string(kPinRoot) + "/" + pin.name, pin.fd, kind_of(pin.name), unclear);
    if (why.empty()) why = why_idle(pin.hook);
    if (unclear && why_unclear && why_unclear->empty()) *why_unclear = fmt::format("pin {}: {}", pin.name, why);
    if (unclear) continue;
    if (!why.empty()) broken.push_back({pin.hook ? pin.hook->name : "pin " + pin.name, "pinned", "missing", why});
  }
  return broken;
}

Fd attach_to_host(const Hook& hook, int program) {
  LIBBPF_OPTS(bpf_link_create_opts, options);
  if (hook.kind != HookKind::root)
    return Fd(bpf_link_create(program, 0, hook.kind == HookKind::trace ? BPF_TRACE_RAW_TP : BPF_LSM_MAC, &options));
  const auto mount = cgroup2_mount();
  const Fd root(mount ? ::open(mount->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1);
  return Fd(bpf_link_create(program, root.get(), static_cast<bpf_attach_type>(cgroup_attach_type(hook)), &options));
}

std::uint32_t target_of(const bpf_link_info& link) {
  if (link.type == BPF_LINK_TYPE_TRACING) return link.tracing.target_btf_id;
  return link.type == BPF_LINK_TYPE_CGROUP ? static_cast<std::uint32_t>(link.cgroup.cgroup_id) : 0;
}

Result<void> Kernel::repair_pins() {
  for (const Pin& pin : pins()) {
    const std::string path = std::string(kPinRoot) + "/" + pin.name;
    bool unclear = false;
    const bool idle = !why_idle(pin.hook).empty();
    if ((why_broken(path, pin.fd, kind_of(pin.name), unclear).empty() && !idle) || unclear) continue;
    int fd = idle ? -1 : pin.fd;
    if (fd < 0 && pin.hook != nullptr) {
      // By its number: another one may lie under its name.
      const Fd program(bpf_prog_get_fd_by_id(objects_.recorded[pin.hook->id].prog_id));
      // Where that fails, the link of before goes on to say that it is not in force.
      if (Fd link = program ? attach_to_host(*pin.hook, program.get()) : Fd(); link) {
        fd = link.get();
        objects_.links[pin.hook->id] = std::move(link);
      }
    }
    if (fd < 0)
      return fail("program_attach", SystemError{errno, "end the sandboxes and run `sbpf unload`, then start again"},
                  "hook {} cannot be attached again", pin.name);
    (void)::unlink(path.c_str());
    if (bpf_obj_pin(fd, path.c_str()) != 0)
      return fail("pin", SystemError{errno, "end the sandboxes and run `sbpf unload`, then start again"},
                  "cannot pin {} again", path);
  }
  return {};
}

Seen Kernel::pinned() {
  const std::string root{kPinRoot};
  struct stat info {};
  if (::stat(root.c_str(), &info) == 0) return Seen::there;
  return errno == ENOENT ? pin_seen(ENOENT, root) : Seen::unknown;
}

namespace {

bool is_on_bpffs(const std::string& path) {
  struct statfs filesystem {};
  return ::statfs(path.c_str(), &filesystem) == 0 && filesystem.f_type == BPF_FS_MAGIC;
}

// May the pin, or a directory on the way to it, not be opened? The kernel says EACCES of what is no pin, too, and only
// pins are regular files there.
bool is_forbidden(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return errno == EACCES;
  return S_ISREG(info.st_mode) && is_on_bpffs(path);
}

}  // namespace

Seen pin_seen(int error, const std::string& path) {
  if (seen_by_pin_error(error) == Seen::unknown) return Seen::unknown;
  const bool forbidden = error == EACCES && is_forbidden(path);
  const bool visible = is_on_bpffs(std::string(kPinRoot.substr(0, kPinRoot.rfind('/'))));
  errno = error;
  return visible && !forbidden ? Seen::absent : Seen::unknown;
}

std::string Kernel::program_mismatch(const Hook& hook, std::uint32_t prog_id, bool& unclear) const {
  const sbpf_meta& meta = objects_.recorded[hook.id];
  if (prog_id != meta.prog_id) return fmt::format("another program runs at this link (id {})", prog_id);
  Fd program(bpf_prog_get_fd_by_id(prog_id));
  if (!program) {
    unclear = seen_by_error(errno) == Seen::unknown;
    return fmt::format("program cannot be read back: {}", std::strerror(errno));
  }
  std::vector<std::uint32_t> map_ids(64);
  auto info = program_info(program.get(), &map_ids);
  if (!info) return info.error().message;
  if (std::memcmp(info->tag, meta.tag, sizeof meta.tag) != 0) return "program tag is not the one recorded at load";
  if (map_ids_.empty())
    for (const auto& [name, one] : kMaps)
      if (auto map = map_info((objects_.*one).get())) map_ids_.insert(map->id);
  std::size_t known = 0;
  for (std::uint32_t id : map_ids) known += map_ids_.count(id);
  // All programs use the gate or the storage; none but that of the root cgroup uses fewer than two of these maps.
  return known >= (hook.kind == HookKind::root ? 1u : 2u) ? "" : "program does not use sbpf's maps";
}

HookStatus Kernel::host_status(const Hook& hook, bool program) const {
  HookStatus status;
  status.hook = &all_hooks()[hook.id];
  status.canary = "not run";
  if (!objects_.links[hook.id]) {
    status.reason = "link pin is missing";
    return status;
  }
  auto link = link_info(objects_.links[hook.id].get());
  if (!link) {
    status.reason = link.error().message;
    status.unclear = true;
    return status;
  }
  const sbpf_meta& meta = objects_.recorded[hook.id];
  status.link_id = link->id;
  status.prog_id = link->prog_id;
  status.prog_tag = tag_text(meta.tag);
  const bool lsm = hook.kind == HookKind::lsm;
  if (link->type != (lsm                           ? BPF_LINK_TYPE_TRACING
                     : hook.kind == HookKind::root ? BPF_LINK_TYPE_CGROUP
                                                   : BPF_LINK_TYPE_RAW_TRACEPOINT))
    status.reason = "pin is a link of another kind";
  else if (lsm && link->tracing.attach_type != BPF_LSM_MAC)
    status.reason = "pin is not an LSM link";
  else if (hook.kind == HookKind::root &&
           link->cgroup.attach_type != static_cast<std::uint32_t>(cgroup_attach_type(hook)))
    status.reason = "link is of another kind of hook";
  else if (target_of(*link) != meta.target)
    status.reason = lsm                     ? "link is attached to another kernel function"
                    : target_of(*link) == 0 ? "link was detached"
                                            : "link is attached to another cgroup";
  else if (program)
    status.reason = program_mismatch(hook, link->prog_id, status.unclear);
  status.attached = status.reason.empty();
  return status;
}

}  // namespace sbpf::agent
