// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <set>

#include "agent/host/bpf_info.h"
#include "agent/host/cgroup.h"
#include "agent/host/paths.h"
#include "agent/host/resolver_cgroup.h"
#include "agent/host/sentinel_cgroup.h"
#include "agent/kernel/fit.h"
#include "agent/kernel/gate.h"
#include "agent/kernel/guard.h"
#include "bpf/sbpf.digest.h"
#include "bpf/sbpf.skel.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

const std::string kRoot{kPinRoot};
const char* const kMetaPin = "/programs/meta";
const std::string kNew = kRoot + "_new";  // filled first, then renamed: pins are all there or not at all

struct MapName {
  const char* pin;
  Fd Kernel::*member;
};

// What libbpf said last: the only place where it names the program that a load failed on.
std::string& libbpf_log() {
  static std::string log;
  return log;
}

int keep_libbpf_log(libbpf_print_level level, const char* format, va_list args) {
  if (level == LIBBPF_DEBUG) return 0;
  std::array<char, 1024> line{};
  const int n = std::vsnprintf(line.data(), line.size(), format, args);
  if (n > 0 && libbpf_log().size() < 1 << 20) libbpf_log() += line.data();
  return n;
}

std::string failed_program() {
  const std::string& log = libbpf_log();
  constexpr std::string_view kMark = "prog 'hook_";
  const auto at = log.rfind(kMark);
  if (at == std::string::npos) return "";
  const auto begin = at + kMark.size();
  return log.substr(begin, log.find('\'', begin) - begin);
}

Result<Fd> open_pin(const std::string& path) {
  Fd fd(bpf_obj_get(path.c_str()));
  if (!fd && errno == EPERM)
    return fail("not_the_agent", "another executable loaded sbpf's programs, or this one is being traced",
                "use that executable (the `exe` of a running `sbpf run` in /proc is it, also when it was replaced; an upgrade "
                "keeps it in /usr/lib/sbpf/agents), or its `sbpf hand-over`",
                EPERM);
  if (!fd && seen_by_error(errno) == Seen::unknown)
    return fail("cannot_tell", "cannot open pin " + path + ": " + std::strerror(errno), hint_for(errno), errno);
  if (!fd)
    return fail("pins_broken", "cannot open pin " + path + ": " + std::strerror(errno),
                "a pin of sbpf was removed; end the sandboxes and run `sbpf unload`", errno);
  return fd;
}

Result<void> pin_fd(int fd, const std::string& path) {
  if (bpf_obj_pin(fd, path.c_str()) == 0) return {};
  return fail("pin", "cannot pin " + path + ": " + std::strerror(errno),
              "mount bpffs at /sys/fs/bpf: mount -t bpf bpf /sys/fs/bpf", errno);
}

Error load_error(int error) {
  const std::string hook = failed_program();
  Error e;
  e.code = "program_load";
  e.sys_errno = -error;
  e.message = "the kernel refused to load " + (hook.empty() ? "sbpf's programs" : "hook " + hook) + ": " +
              std::strerror(-error);
  e.hint = "run `sbpf preflight` for what this host lacks";
  e.domain = hook.empty() ? "" : "network";
  for (const Hook& h : hooks())
    if (hook == h.name) e.domain = domain_name(h.domain);
  return e;
}

}  // namespace

struct Kernel::Object {
  sbpf_bpf* skeleton = nullptr;
  ~Object() { sbpf_bpf__destroy(skeleton); }
};

Kernel::Kernel() = default;
Kernel::Kernel(Kernel&& other) noexcept { *this = std::move(other); }
Kernel& Kernel::operator=(Kernel&& other) noexcept {
  std::swap(object_, other.object_);
  std::swap(sandboxes_, other.sandboxes_);
  std::swap(policies_, other.policies_);
  std::swap(compared_, other.compared_);
  std::swap(rings_, other.rings_);
  std::swap(told_, other.told_);
  std::swap(names_, other.names_);
  std::swap(cgroup_refs_, other.cgroup_refs_);
  std::swap(bss_, other.bss_);
  std::swap(meta_map_, other.meta_map_);
  std::swap(origins_, other.origins_);
  std::swap(queries_, other.queries_);
  std::swap(iterators_, other.iterators_);
  std::swap(programs_, other.programs_);
  std::swap(links_, other.links_);
  std::swap(meta_, other.meta_);
  std::swap(globals_, other.globals_);
  std::swap(loaded_, other.loaded_);
  std::swap(map_ids_, other.map_ids_);
  return *this;
}
Kernel::~Kernel() {
  if (globals_) ::munmap(globals_, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

Result<void> Kernel::map_globals() {
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE,
                        MAP_SHARED, bss_.get(), 0);
  if (memory == MAP_FAILED)
    return fail("cannot_tell", std::string("cannot map the gate: ") + std::strerror(errno), hint_for(errno), errno);
  globals_ = static_cast<KernelGlobals*>(memory);
  return {};
}

Result<Kernel> Kernel::load(const Kernel* old) {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keep_libbpf_log);
  libbpf_log().clear();
  Kernel kernel;
  kernel.object_ = std::make_unique<Object>();
  sbpf_bpf* skeleton = kernel.object_->skeleton = sbpf_bpf__open();
  if (!skeleton) return tl::unexpected<Error>(load_error(-errno));
  if (auto fitted = fit_to_kernel(*skeleton); !fitted) return tl::unexpected<Error>(fitted.error());
  if (old)
    if (auto shared = old->share_maps(*skeleton); !shared) return tl::unexpected<Error>(shared.error());
  if (const int error = sbpf_bpf__load(skeleton); error != 0) return tl::unexpected<Error>(load_error(error));

  const auto dup_fd = [](int fd) { return Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3)); };
  kernel.sandboxes_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_sandboxes));
  kernel.policies_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_policies));
  kernel.compared_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_compared));
  kernel.rings_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_rings));
  kernel.told_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_told));
  kernel.names_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_names));
  kernel.cgroup_refs_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_cgroup_refs));
  kernel.bss_ = dup_fd(bpf_map__fd(skeleton->maps.bss));
  kernel.origins_ = dup_fd(bpf_map__fd(skeleton->maps.sbpf_origins));
  const auto program_fd = [&](const std::string& name) {
    const bpf_program* program = bpf_object__find_program_by_name(skeleton->obj, name.c_str());
    return dup_fd(program ? bpf_program__fd(program) : -1);
  };
  for (std::size_t i = 0; i < kQueries.size(); i++) kernel.queries_[i] = program_fd(std::string("sbpf_") + kQueries[i]);
  for (const Hook& hook : hooks()) {
    kernel.programs_[hook.id] = program_fd(std::string("hook_") + hook.name);
    if (hook.per_sandbox()) continue;
    kernel.links_[hook.id] = attach_to_host(hook, kernel.programs_[hook.id].get());
    if (!kernel.links_[hook.id]) {
      const int error = errno;
      auto failure = fail("program_attach", std::string("cannot attach hook ") + hook.name + ": " + std::strerror(error),
                          error == E2BIG ? "another LSM BPF user fills this hook; end it"
                                         : "run `sbpf preflight` for what this host lacks",
                          error);
      failure.value().domain = domain_name(hook.domain);
      return failure;
    }
  }
  if (auto mapped = kernel.map_globals(); !mapped) return tl::unexpected<Error>(mapped.error());
  if (auto set = set_root(kernel); !set) return tl::unexpected<Error>(set.error());
  if (auto recorded = kernel.record_meta(); !recorded) return tl::unexpected<Error>(recorded.error());
  if (auto agent = become_agent(kernel); !agent) return tl::unexpected<Error>(agent.error());
  return kernel;
}

Result<void> Kernel::record_meta() {
  LIBBPF_OPTS(bpf_map_create_opts, options);
  meta_map_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sbpf_meta", sizeof(std::uint32_t), sizeof(sbpf_meta),
                                SBPF_HOOK_COUNT, &options));
  if (!meta_map_) return fail("program_load", std::string("cannot make map meta: ") + std::strerror(errno), "", errno);
  for (const Hook& hook : hooks()) {
    sbpf_meta& meta = meta_[hook.id];
    auto program = program_info(programs_[hook.id].get());
    if (!program) return tl::unexpected<Error>(program.error());
    meta.prog_id = program->id;
    std::memcpy(meta.tag, program->tag, sizeof meta.tag);
    if (!hook.per_sandbox()) {
      auto link = link_info(links_[hook.id].get());
      if (!link) return tl::unexpected<Error>(link.error());
      meta.link_id = link->id;
      meta.target = target_of(*link);
    }
    std::memcpy(meta.object_sha256, sbpf_object_sha256, sizeof meta.object_sha256);
    std::memcpy(meta.layout_sha256, sbpf_layout_sha256, sizeof meta.layout_sha256);
    const std::uint32_t key = hook.id;
    if (bpf_map_update_elem(meta_map_.get(), &key, &meta, BPF_ANY) != 0)
      return fail("program_load", std::string("cannot fill map meta: ") + std::strerror(errno), "", errno);
  }
  if (bpf_map_freeze(meta_map_.get()) != 0)
    return fail("program_load", std::string("cannot freeze map meta: ") + std::strerror(errno), "", errno);
  return {};
}

namespace {
std::string hex_of(const unsigned char (&digest)[32]) {
  std::array<std::uint8_t, 32> bytes{};
  std::memcpy(bytes.data(), digest, bytes.size());
  return policy::hex(bytes);
}
}  // namespace

std::string programs_digest() { return hex_of(sbpf_object_sha256); }
std::string layout_digest() { return hex_of(sbpf_layout_sha256); }

bool Kernel::is_pinned() {
  std::error_code ec;
  return fs::exists(kRoot, ec);
}

void Kernel::remove_all() {
  std::error_code ec;
  fs::remove_all(kNew, ec);
  // At once: of what is half removed nobody could tell what it was.
  if (::rename(kRoot.c_str(), kNew.c_str()) != 0) fs::remove_all(kRoot, ec);
  fs::remove_all(kNew, ec);
  end_sentinels();
  if (auto root = root_cgroup()) (void)remove_cgroup(root->path());
  collect_names_cgroups();
}

Result<void> Kernel::pin() const {
  std::error_code ec;
  fs::remove_all(kNew, ec);
  for (const char* dir : {"", "/maps", "/sandboxes", "/building"}) {
    if (::mkdir((kNew + dir).c_str(), 0700) != 0)
      return fail("pin", "cannot make " + kNew + dir + ": " + std::strerror(errno),
                  "mount bpffs at /sys/fs/bpf: mount -t bpf bpf /sys/fs/bpf", errno);
  }
  const auto pin_all = [&]() -> Result<void> {
    for (const auto& [fd, name] : {std::pair{sandboxes_.get(), "sandboxes"}, {policies_.get(), "policies"}, {compared_.get(), "compared"},
                                   {rings_.get(), "rings"}, {told_.get(), "told"}, {names_.get(), "names"}, {origins_.get(), "origins"},
                                   {cgroup_refs_.get(), "cgroup_refs"}, {bss_.get(), "globals"}})
      if (auto r = pin_fd(fd, kNew + "/maps/" + name); !r) return r;
    if (auto r = pin_programs(kNew); !r) return r;
    // What is pinned of the programs in force is reached through one link, by which an upgrade puts others in their place.
    for (const auto& [name, target] : {std::pair{"/now", loaded_name(loaded_)}, {"/programs", std::string("now/programs")},
                                       {"/links", std::string("now/links")}})
      if (::symlink(target.c_str(), (kNew + name).c_str()) != 0)
        return fail("pin", "cannot make " + kNew + name + ": " + std::strerror(errno), "", errno);
    if (::rename(kNew.c_str(), kRoot.c_str()) != 0)
      return fail("pin", "cannot rename " + kNew + ": " + std::strerror(errno), "", errno);
    return guard_pins(*this, kRoot);
  };
  auto done = pin_all();
  if (!done) fs::remove_all(kNew, ec);
  return done;
}

Result<void> Kernel::pin_programs(const std::string& root) const {
  const std::string directory = root + "/" + loaded_name(loaded_);
  for (const char* dir : {"", "/programs", "/links"})
    if (::mkdir((directory + dir).c_str(), 0700) != 0)
      return fail("pin", "cannot make " + directory + dir + ": " + std::strerror(errno), "", errno);
  for (const Hook& hook : hooks()) {
    if (auto r = pin_fd(programs_[hook.id].get(), directory + "/programs/" + hook.name); !r) return r;
    if (!hook.per_sandbox())
      if (auto r = pin_fd(links_[hook.id].get(), directory + "/links/" + hook.name); !r) return r;
  }
  for (std::size_t i = 0; i < kQueries.size(); i++)
    if (auto r = pin_fd(queries_[i].get(), directory + "/programs/" + kQueries[i]); !r) return r;
  return pin_fd(meta_map_.get(), directory + kMetaPin);
}

Result<Kernel> Kernel::open() {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keep_libbpf_log);
  if (pinned() == Seen::unknown)
    return fail("cannot_tell", "it cannot be told whether sbpf's programs are loaded: " + kRoot + " cannot be looked at" +
                                   (errno == 0 ? "" : std::string(": ") + std::strerror(errno)),
                errno == 0 ? "mount the host's BPF filesystem at /sys/fs/bpf, or run sbpf where it is visible" : hint_for(errno), errno);
  if (!is_pinned())
    return fail("not_loaded", "sbpf's programs are not loaded on this host", "start a sandbox with `sbpf run`");
  Kernel kernel;
  kernel.loaded_ = number_in_force();  // before what it stands for: an upgrade in between makes this object an outdated one
  for (const auto& [fd, name] :
       {std::pair{&kernel.sandboxes_, "/maps/sandboxes"}, {&kernel.policies_, "/maps/policies"}, {&kernel.compared_, "/maps/compared"}, {&kernel.rings_, "/maps/rings"},
        {&kernel.told_, "/maps/told"}, {&kernel.names_, "/maps/names"}, {&kernel.origins_, "/maps/origins"}, {&kernel.cgroup_refs_, "/maps/cgroup_refs"},
        {&kernel.bss_, "/maps/globals"}, {&kernel.meta_map_, kMetaPin}}) {
    auto pin = open_pin(kRoot + name);
    if (!pin) return tl::unexpected<Error>(pin.error());
    *fd = std::move(*pin);
  }
  std::array<std::uint32_t, SBPF_HOOK_COUNT> keys{};
  std::uint32_t next = 0, count = SBPF_HOOK_COUNT;
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  errno = 0;
  if ((bpf_map_lookup_batch(kernel.meta_map_.get(), nullptr, &next, keys.data(), kernel.meta_.data(), &count, &options) != 0 &&
       errno != ENOENT) ||  // ENOENT: that was all of it
      count != SBPF_HOOK_COUNT) {
    if (errno != 0 && errno != ENOENT && errno != EINVAL)
      return fail("cannot_tell", std::string("what was recorded of the programs cannot be read: ") + std::strerror(errno), hint_for(errno), errno);
    return fail("stale_programs", "the pinned programs are of another version of sbpf",
                "end the sandboxes and run `sbpf unload`");
  }
  set_hooks_present([&kernel](const Hook& hook) { return kernel.meta_[hook.id].prog_id != 0; });
  for (std::size_t i = 0; i < kQueries.size(); i++) {
    kernel.queries_[i] = Fd(bpf_obj_get((kRoot + "/programs/" + kQueries[i]).c_str()));
    if (!kernel.queries_[i] && seen_by_error(errno) == Seen::unknown) return tl::unexpected<Error>(open_pin(kRoot + "/programs/" + kQueries[i]).error());
  }
  // A missing program or link is for status to report, not a reason to be blind. Programs only of hooks that each sandbox
  // attaches anew: what the others run is asked of their links.
  for (const Hook& hook : hooks()) {
    const bool each = hook.per_sandbox();
    const std::string path = kRoot + (each ? "/programs/" : "/links/") + hook.name;
    Fd& fd = (each ? kernel.programs_ : kernel.links_)[hook.id];
    fd = Fd(bpf_obj_get(path.c_str()));
    if (!fd && pin_seen(errno, path) == Seen::unknown) return tl::unexpected<Error>(open_pin(path).error());
  }
  if (std::memcmp(kernel.meta_[0].layout_sha256, sbpf_layout_sha256, sizeof sbpf_layout_sha256) != 0)
    return fail("stale_programs", "the pinned programs are of another version of sbpf",
                "end the sandboxes and run `sbpf unload`");
  if (auto mapped = kernel.map_globals(); !mapped) return tl::unexpected<Error>(mapped.error());
  return kernel;
}

Result<Kernel> Kernel::ensure() {
  if (is_pinned()) {
    auto kernel = open();
    if (!kernel) return kernel;
    // What a link is and what it runs is read back with the status, once.
    for (const Hook& hook : hooks())
      if (!(hook.per_sandbox() ? kernel->programs_ : kernel->links_)[hook.id])
        return fail("pins_broken", std::string("hook ") + hook.name + " is pinned but not in force: " +
                                       (hook.per_sandbox() ? "program missing" : "link pin is missing"),
                    "end the sandboxes and run `sbpf unload`, then start again");
    // Whoever could open the maps is the agent, or came through a break-glass window to take over.
    if (auto agent = become_agent(*kernel); !agent) return tl::unexpected<Error>(agent.error());
    return kernel;
  }
  // What a killed one left of its pins would still judge.
  std::error_code ec;
  fs::remove_all(kNew, ec);
  auto kernel = load();
  if (kernel) {
    auto pinned = kernel->pin();
    if (pinned) return kernel;
    kernel = tl::unexpected<Error>(pinned.error());
  }
  remove_all();
  return kernel;
}

}  // namespace sbpf::agent
