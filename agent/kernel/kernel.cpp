// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/kernel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
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

// Of a map or a program that no hook runs.
std::string object_name(const char* name) { return std::string("sbpf_") + name; }

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
    return fail(
        "not_the_agent", "another executable loaded sbpf's programs, or this one is being traced",
        "use that executable (the `exe` of a running `sbpf run` in /proc is it, also when it was replaced; an upgrade "
        "keeps it in /usr/lib/sbpf/agents), or its `sbpf hand-over`",
        EPERM);
  if (!fd && seen_by_error(errno) == Seen::unknown)
    return fail("cannot_tell", SystemError{errno, hint_for(errno)}, "cannot open pin {}", path);
  if (!fd)
    return fail("pins_broken", SystemError{errno, "a pin of sbpf was removed; end the sandboxes and run `sbpf unload`"},
                "cannot open pin {}", path);
  return fd;
}

Result<void> pin_fd(int fd, const std::string& path) {
  if (bpf_obj_pin(fd, path.c_str()) == 0) return {};
  return fail("pin", SystemError{errno, "mount bpffs at /sys/fs/bpf: mount -t bpf bpf /sys/fs/bpf"}, "cannot pin {}",
              path);
}

Error load_error(int error) {
  const std::string hook = failed_program();
  Error e;
  e.code = "program_load";
  e.sys_errno = -error;
  e.message = fmt::format("the kernel refused to load {}: {}", hook.empty() ? "sbpf's programs" : "hook " + hook,
                          std::strerror(-error));
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
  std::swap(objects_, other.objects_);
  std::swap(iterators_, other.iterators_);
  std::swap(map_ids_, other.map_ids_);
  std::swap(globals_, other.globals_);
  return *this;
}
Kernel::~Kernel() {
  if (globals_) ::munmap(globals_, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

Result<void> Kernel::map_globals() {
  void* memory = ::mmap(nullptr, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE, MAP_SHARED,
                        objects_.globals.get(), 0);
  if (memory == MAP_FAILED) return fail("cannot_tell", SystemError{errno, hint_for(errno)}, "cannot map the gate");
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
  for (const auto& [name, map] : kMaps)
    kernel.objects_.*map = dup_fd(bpf_map__fd(
        map == &KernelObjects::globals ? skeleton->maps.bss
                                       : bpf_object__find_map_by_name(skeleton->obj, object_name(name).c_str())));
  const auto program_fd = [&](const std::string& name) {
    const bpf_program* program = bpf_object__find_program_by_name(skeleton->obj, name.c_str());
    return dup_fd(program ? bpf_program__fd(program) : -1);
  };
  for (std::size_t i = 0; i < kQueries.size(); i++) kernel.objects_.queries[i] = program_fd(object_name(kQueries[i]));
  for (const Hook& hook : hooks()) {
    kernel.objects_.programs[hook.id] = program_fd(std::string("hook_") + hook.name);
    if (hook.per_sandbox()) continue;
    kernel.objects_.links[hook.id] = attach_to_host(hook, kernel.objects_.programs[hook.id].get());
    if (!kernel.objects_.links[hook.id]) {
      const int error = errno;
      auto failure = fail("program_attach",
                          SystemError{error, error == E2BIG ? "another LSM BPF user fills this hook; end it"
                                                            : "run `sbpf preflight` for what this host lacks"},
                          "cannot attach hook {}", hook.name);
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
  objects_.meta = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "sbpf_meta", sizeof(std::uint32_t), sizeof(sbpf_meta),
                                    SBPF_HOOK_COUNT, &options));
  if (!objects_.meta) return fail("program_load", SystemError{errno}, "cannot make map meta");
  for (const Hook& hook : hooks()) {
    sbpf_meta& meta = objects_.recorded[hook.id];
    auto program = program_info(objects_.programs[hook.id].get());
    if (!program) return tl::unexpected<Error>(program.error());
    meta.prog_id = program->id;
    std::memcpy(meta.tag, program->tag, sizeof meta.tag);
    if (!hook.per_sandbox()) {
      auto link = link_info(objects_.links[hook.id].get());
      if (!link) return tl::unexpected<Error>(link.error());
      meta.link_id = link->id;
      meta.target = target_of(*link);
    }
    std::memcpy(meta.object_sha256, sbpf_object_sha256, sizeof meta.object_sha256);
    std::memcpy(meta.layout_sha256, sbpf_layout_sha256, sizeof meta.layout_sha256);
    const std::uint32_t key = hook.id;
    if (bpf_map_update_elem(objects_.meta.get(), &key, &meta, BPF_ANY) != 0)
      return fail("program_load", SystemError{errno}, "cannot fill map meta");
  }
  if (bpf_map_freeze(objects_.meta.get()) != 0)
    return fail("program_load", SystemError{errno}, "cannot freeze map meta");
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
  collect_resolver_cgroups();
}

Result<void> Kernel::pin() const {
  std::error_code ec;
  fs::remove_all(kNew, ec);
  for (const char* dir : {"", "/maps", "/sandboxes", "/building"}) {
    if (::mkdir((kNew + dir).c_str(), 0700) != 0)
      return fail("pin", SystemError{errno, "mount bpffs at /sys/fs/bpf: mount -t bpf bpf /sys/fs/bpf"},
                  "cannot make {}{}", kNew, dir);
  }
  const auto pin_all = [&]() -> Result<void> {
    for (const auto& [name, map] : kMaps)
      if (auto r = pin_fd((objects_.*map).get(), kNew + "/maps/" + name); !r) return r;
    if (auto r = pin_programs(kNew); !r) return r;
    // What is pinned of the programs in force is reached through one link, by which an upgrade puts others in their
    // place.
    for (const auto& [name, target] : {std::pair{"/now", loaded_name(objects_.loaded)},
                                       {"/programs", std::string("now/programs")},
                                       {"/links", std::string("now/links")}})
      if (::symlink(target.c_str(), (kNew + name).c_str()) != 0)
        return fail("pin", SystemError{errno}, "cannot make {}{}", kNew, name);
    if (::rename(kNew.c_str(), kRoot.c_str()) != 0) return fail("pin", SystemError{errno}, "cannot rename {}", kNew);
    return guard_pins(*this, kRoot);
  };
  auto done = pin_all();
  if (!done) fs::remove_all(kNew, ec);
  return done;
}

Result<void> Kernel::pin_programs(const std::string& root) const {
  const std::string directory = root + "/" + loaded_name(objects_.loaded);
  for (const char* dir : {"", "/programs", "/links"})
    if (::mkdir((directory + dir).c_str(), 0700) != 0)
      return fail("pin", SystemError{errno}, "cannot make {}{}", directory, dir);
  for (const Hook& hook : hooks()) {
    if (auto r = pin_fd(objects_.programs[hook.id].get(), directory + "/programs/" + hook.name); !r) return r;
    if (!hook.per_sandbox())
      if (auto r = pin_fd(objects_.links[hook.id].get(), directory + "/links/" + hook.name); !r) return r;
  }
  for (std::size_t i = 0; i < kQueries.size(); i++)
    if (auto r = pin_fd(objects_.queries[i].get(), directory + "/programs/" + kQueries[i]); !r) return r;
  return pin_fd(objects_.meta.get(), directory + kMetaPin);
}

Result<void> Kernel::open_programs() {
  for (std::size_t i = 0; i < kQueries.size(); i++) {
    const std::string path = kRoot + "/programs/" + kQueries[i];
    objects_.queries[i] = Fd(bpf_obj_get(path.c_str()));
    if (!objects_.queries[i] && seen_by_error(errno) == Seen::unknown)
      return tl::unexpected<Error>(open_pin(path).error());
  }
  // A missing program or link is for status to report, not a reason to be blind. Programs only of hooks that each
  // sandbox attaches anew: what the others run is asked of their links.
  for (const Hook& hook : hooks()) {
    const bool each = hook.per_sandbox();
    const std::string path = kRoot + (each ? "/programs/" : "/links/") + hook.name;
    Fd& fd = (each ? objects_.programs : objects_.links)[hook.id];
    fd = Fd(bpf_obj_get(path.c_str()));
    if (!fd && pin_seen(errno, path) == Seen::unknown) return tl::unexpected<Error>(open_pin(path).error());
  }
  return {};
}

Result<Kernel> Kernel::open() {
  libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
  libbpf_set_print(keep_libbpf_log);
  if (pinned() == Seen::unknown)
    return fail("cannot_tell",
                fmt::format("it cannot be told whether sbpf's programs are loaded: {} cannot be looked at{}", kRoot,
                            errno == 0 ? "" : fmt::format(": {}", std::strerror(errno))),
                errno == 0 ? "mount the host's BPF filesystem at /sys/fs/bpf, or run sbpf where it is visible"
                           : hint_for(errno),
                errno);
  if (!is_pinned())
    return fail("not_loaded", "sbpf's programs are not loaded on this host", "start a sandbox with `sbpf run`");
  Kernel kernel;
  // Before what it stands for: an upgrade in between makes this object an outdated one.
  kernel.objects_.loaded = number_in_force();
  const auto open_at = [](Fd& fd, const std::string& path) -> Result<void> {
    auto pin = open_pin(path);
    if (!pin) return tl::unexpected<Error>(pin.error());
    fd = std::move(*pin);
    return {};
  };
  for (const auto& [name, map] : kMaps)
    if (auto opened = open_at(kernel.objects_.*map, kRoot + "/maps/" + name); !opened)
      return tl::unexpected<Error>(opened.error());
  if (auto opened = open_at(kernel.objects_.meta, kRoot + kMetaPin); !opened)
    return tl::unexpected<Error>(opened.error());
  std::array<std::uint32_t, SBPF_HOOK_COUNT> keys{};
  std::uint32_t next = 0, count = SBPF_HOOK_COUNT;
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  errno = 0;
  if ((bpf_map_lookup_batch(kernel.objects_.meta.get(), nullptr, &next, keys.data(), kernel.objects_.recorded.data(),
                            &count,
                            &options) != 0 &&
       errno != ENOENT) ||  // ENOENT: that was all of it
      count != SBPF_HOOK_COUNT) {
    if (errno != 0 && errno != ENOENT && errno != EINVAL)
      return fail("cannot_tell", SystemError{errno, hint_for(errno)},
                  "what was recorded of the programs cannot be read");
    return fail("stale_programs", "the pinned programs are of another version of sbpf",
                "end the sandboxes and run `sbpf unload`");
  }
  set_hooks_present([&kernel](const Hook& hook) { return kernel.objects_.recorded[hook.id].prog_id != 0; });
  if (auto opened = kernel.open_programs(); !opened) return tl::unexpected<Error>(opened.error());
  if (std::memcmp(kernel.objects_.recorded[0].layout_sha256, sbpf_layout_sha256, sizeof sbpf_layout_sha256) != 0)
    return fail("stale_programs", "the pinned programs are of another version of sbpf",
                "end the sandboxes and run `sbpf unload`");
  if (auto mapped = kernel.map_globals(); !mapped) return tl::unexpected<Error>(mapped.error());
  return kernel;
}

Result<Kernel> Kernel::of(KernelObjects objects) {
  Kernel kernel;
  kernel.objects_ = std::move(objects);
  if (auto mapped = kernel.map_globals(); !mapped) return tl::unexpected<Error>(mapped.error());
  return kernel;
}

Result<Kernel> Kernel::ensure() {
  if (is_pinned()) {
    auto kernel = open();
    if (!kernel) return kernel;
    // What a link is and what it runs is read back with the status, once.
    for (const Hook& hook : hooks())
      if (!(hook.per_sandbox() ? kernel->objects_.programs : kernel->objects_.links)[hook.id])
        return fail("pins_broken",
                    fmt::format("hook {} is pinned but not in force: {}", hook.name,
                                hook.per_sandbox() ? "program missing" : "link pin is missing"),
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
