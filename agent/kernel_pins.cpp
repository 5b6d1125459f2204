// SPDX-License-Identifier: Apache-2.0
// The pins of kernel-wide objects: are they there, and how they come back.
#include <bpf/bpf.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/bpf_info.h"
#include "agent/kernel.h"

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

std::string why_broken(const std::string& path, int fd, char kind) {
  const Fd pinned(bpf_obj_get(path.c_str()));
  if (!pinned) return errno == ENOENT ? "the pin is missing" : std::string("the pin cannot be opened: ") + std::strerror(errno);
  if (fd < 0) return "";
  return identity(pinned.get(), kind) == identity(fd, kind) ? "" : "the pin is one of another object";
}

}  // namespace

std::vector<Kernel::Pin> Kernel::pins() const {
  std::vector<Pin> all = {{"maps/sandboxes", sandboxes_.get()}, {"maps/policies", policies_.get()}, {"maps/rings", rings_.get()},
                          {"maps/names", names_.get()},         {"maps/origins", origins_.get()},   {"maps/cgroup_refs", cgroup_refs_.get()},
                          {"maps/globals", bss_.get()},         {"programs/meta", meta_map_.get()}};
  for (std::size_t i = 0; i < kAsked.size(); i++) all.push_back({std::string("programs/") + kAsked[i], asked_[i].get()});
  for (const Hook& hook : hooks())
    all.push_back(hook.per_sandbox() ? Pin{std::string("programs/") + hook.name, programs_[hook.id].get()}
                                     : Pin{std::string("links/") + hook.name, links_[hook.id].get(), &hook});
  return all;
}

std::vector<Degradation> Kernel::broken_pins() const {
  std::vector<Degradation> broken;
  for (const Pin& pin : pins()) {
    const std::string why = why_broken(std::string(kPinRoot) + "/" + pin.name, pin.fd, kind_of(pin.name));
    if (!why.empty()) broken.push_back({pin.hook ? pin.hook->name : "pin " + pin.name, "pinned", "missing", why});
  }
  return broken;
}

Result<void> Kernel::repair_pins() {
  for (const Pin& pin : pins()) {
    const std::string path = std::string(kPinRoot) + "/" + pin.name;
    if (why_broken(path, pin.fd, kind_of(pin.name)).empty()) continue;
    int fd = pin.fd;
    if (fd < 0 && pin.hook != nullptr) {
      const Fd program(bpf_obj_get((std::string(kPinRoot) + "/programs/" + pin.hook->name).c_str()));
      auto info = program ? program_info(program.get()) : Result<bpf_prog_info>(fail("bpf_info", "no program"));
      LIBBPF_OPTS(bpf_link_create_opts, options);
      if (info && info->id == meta_[pin.hook->id].prog_id)
        links_[pin.hook->id] = Fd(bpf_link_create(program.get(), 0, pin.hook->kind == HookKind::trace ? BPF_TRACE_RAW_TP : BPF_LSM_MAC, &options));
      fd = links_[pin.hook->id].get();
    }
    if (fd < 0)
      return fail("program_attach", "hook " + pin.name + " cannot be attached again: " + std::strerror(errno),
                  "end the sandboxes and run `sbpf unload`, then start again", errno);
    (void)::unlink(path.c_str());
    if (bpf_obj_pin(fd, path.c_str()) != 0)
      return fail("pin", "cannot pin " + path + " again: " + std::strerror(errno),
                  "end the sandboxes and run `sbpf unload`, then start again", errno);
  }
  return {};
}

}  // namespace sbpf::agent
