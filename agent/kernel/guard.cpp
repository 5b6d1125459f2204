// SPDX-License-Identifier: Apache-2.0
#include "agent/kernel/guard.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "agent/host/audit.h"
#include "agent/kernel/inodes.h"
#include "base/clock.h"
#include "base/mounts.h"

namespace sbpf::agent {
namespace {

constexpr std::uint64_t kNsPerSecond = 1000000000;
constexpr std::size_t kExecutablesAtOnce = 256;  // descriptors

std::string reason_of(const sbpf_guard& guard) {
  return std::string(guard.reason, ::strnlen(guard.reason, sizeof guard.reason));
}

// The place of an executable among the agents; nullptr if it is none. An empty one finds the first free place.
sbpf_fs_inode* place_of(sbpf_guard& guard, const policy::FsInode& file) {
  for (sbpf_fs_inode& agent : guard.agents)
    if (agent.ino == file.ino && (file.ino == 0 || (agent.dev == file.dev && agent.generation == file.generation)))
      return &agent;
  return nullptr;
}

// The number is written last: with the first one the guard begins, and half an entry is nobody's.
void put(sbpf_fs_inode& agent, const policy::FsInode& file) {
  __atomic_store_n(&agent.dev, file.dev, __ATOMIC_SEQ_CST);
  __atomic_store_n(&agent.generation, file.generation, __ATOMIC_SEQ_CST);
  __atomic_store_n(&agent.ino, file.ino, __ATOMIC_SEQ_CST);
}

// How the programs of an executable lay out their maps, by its `--version`; "" if it says nothing of it. It runs
// without our environment, by the descriptor: what is asked is what is let in.
Result<std::string> carried_layout(const Fd& file) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail("exec", SystemError{errno}, "cannot make a pipe");
  Fd output(ends[0]), input(ends[1]);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  char name[] = "sbpf", option[] = "--version";
  char* arguments[] = {name, option, nullptr};
  char* environment[] = {nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), STDOUT_FILENO);
  pid_t child = -1;
  const int error = ::posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, environment);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail("exec", SystemError{error}, "cannot run it");
  input = Fd();
  std::string said;
  std::array<char, 512> part{};
  ssize_t n = 0;
  while ((n = ::read(output.get(), part.data(), part.size())) > 0 && said.size() < 1 << 16)
    said.append(part.data(), static_cast<std::size_t>(n));
  output = Fd();
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0) return fail("exec", "it does not answer to --version");
  constexpr std::string_view kMark = "\nlayout ";
  const auto at = said.find(kMark);
  if (at == std::string::npos) return std::string();
  const auto begin = at + kMark.size();
  return said.substr(begin, said.find('\n', begin) - begin);
}

// Frees the places of executables that no process runs any more: no supervisor of theirs is left, and this one is not
// among them. False if it could not be told.
bool give_up_unused(const Kernel& kernel) {
  sbpf_guard& guard = kernel.globals().guard;
  std::array<bool, SBPF_AGENTS> runs{};
  std::vector<Fd> executables;
  const auto look = [&] {
    auto inodes = open_inodes(kernel);
    for (std::size_t i = 0; inodes && i < SBPF_AGENTS; i++)
      runs[i] = runs[i] || std::ranges::any_of(*inodes, [&agent = guard.agents[i]](const auto& open) {
                  return open.second.ino == agent.ino && open.second.dev == agent.dev &&
                         open.second.generation == agent.generation;
                });
    executables.clear();
    return inodes.has_value();
  };
  std::error_code ec;
  for (std::filesystem::directory_iterator process("/proc", ec), end; !ec && process != end; process.increment(ec)) {
    Fd file(::open((process->path() / "exe").c_str(), O_PATH | O_CLOEXEC));
    if (!file && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
      return false;  // it may be the one that runs it
    if (file) executables.push_back(std::move(file));
    if (executables.size() == kExecutablesAtOnce && !look()) return false;
  }
  if (ec || !look()) return false;
  // The first one is never empty: that would mean that nothing is guarded.
  for (std::size_t i = 1; i < SBPF_AGENTS; i++)
    if (!runs[i]) put(guard.agents[i], {});
  return true;
}

// The mount that this process sees at `point`, and the one below it; the last one covers those before.
bool find_mount(const std::string& point, std::uint32_t& id, std::uint32_t& parent) {
  bool found = false;
  for (const Mount& mount : own_mounts()) {
    if (mount.point != point) continue;
    id = mount.id;
    parent = mount.parent;
    found = true;
  }
  return found;
}

}  // namespace

Result<void> become_agent(const Kernel& kernel) {
  Fd self(::open("/proc/self/exe", O_PATH | O_CLOEXEC));
  auto inodes = open_inodes(kernel);
  if (!inodes) return tl::unexpected<Error>(inodes.error());
  const auto found = inodes->find(self.get());
  if (found == inodes->end())
    return fail("guard", "sbpf cannot tell which executable it is", "run it from a file, with /proc mounted", errno);
  sbpf_guard& guard = kernel.globals().guard;
  if (place_of(guard, found->second)) return {};
  // Nobody was handed anything by a stranger who came through a break-glass window: it is alone.
  put(guard.agents[0], found->second);
  for (std::size_t i = 1; i < SBPF_AGENTS; i++) put(guard.agents[i], {});
  return {};
}

Result<void> hand_over(const std::string& executable) {
  Fd file(::open(executable.c_str(), O_PATH | O_CLOEXEC));
  struct stat info {};
  if (!file || ::fstat(file.get(), &info) != 0)
    return fail("not_found", SystemError{errno}, "cannot open {}", executable);
  if (!S_ISREG(info.st_mode) || info.st_uid != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail("untrusted_file", fmt::format("{} is not a file that only root may write", executable),
                "chown root, chmod 0755");
  auto carried = carried_layout(file);
  if (!carried) return tl::unexpected<Error>(carried.error());
  auto lock = lock_host();
  if (!lock) return tl::unexpected<Error>(lock.error());
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  if (*carried != layout_digest())
    return fail("stale_programs",
                fmt::format("the programs of {} lay out their maps otherwise than those in the kernel", executable),
                "end the sandboxes with this executable and run its `unload`; then the other loads its own");
  auto inodes = open_inodes(*kernel);
  if (!inodes) return tl::unexpected<Error>(inodes.error());
  const auto found = inodes->find(file.get());
  if (found == inodes->end())
    return fail("guard", fmt::format("the kernel does not tell which file {} is", executable));
  sbpf_guard& guard = kernel->globals().guard;
  if (place_of(guard, found->second)) return {};
  sbpf_fs_inode* free = place_of(guard, {});
  if (!free && give_up_unused(*kernel)) free = place_of(guard, {});
  if (!free)
    return fail("too_many_agents", "the programs were handed over too often since they were loaded",
                "end the sandboxes and run `unload` with this executable; then the other loads its own");
  audit(fmt::format("handed over to {}", executable));
  put(*free, found->second);
  return {};
}

Result<Fd> lock_host_to_load() {
  using namespace std::chrono_literals;
  const auto makes = [](const char* name) {
    return Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, name, sizeof(std::uint32_t), sizeof(std::uint32_t), 1, nullptr));
  };
  for (auto left = 20s / 20ms; !Kernel::is_pinned() && !makes("sbpf_guarded"); left--) {
    // Whoever may not make any map is told so by the load, with what lacks.
    if (errno != EPERM || !makes("anyone")) break;
    if (left == 0)
      return fail("guarded", "programs of another sbpf executable are unloaded but still held by a process",
                  "end what still runs of it (`sbpf run`, `sbpf events --follow`), then start again", EPERM);
    std::this_thread::sleep_for(20ms);
  }
  return lock_host();
}

Result<void> guard_pins(const Kernel& kernel, const std::string& directory) {
  sbpf_guard& guard = kernel.globals().guard;
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return fail("guard", SystemError{errno}, "cannot find {}", directory);
  // Unknown where bpffs is no mount of its own here: then only its entries are guarded.
  (void)find_mount("/sys/fs/bpf", guard.pins_mount, guard.pins_parent);
  guard.pins_ino = info.st_ino;
  __atomic_store_n(&guard.pins_dev, major(info.st_dev) << SBPF_MINOR_BITS | minor(info.st_dev), __ATOMIC_SEQ_CST);
  return {};
}

std::optional<Degradation> guard_degradation(const Kernel& kernel) {
  const sbpf_guard& guard = kernel.globals().guard;
  const std::uint64_t now = boottime_ns();
  if (guard.open_until > now)
    return Degradation{"break-glass", "closed",
                       fmt::format("open for {} s", (guard.open_until - now) / kNsPerSecond + 1),
                       fmt::format("host root may take sbpf's things down: {}", reason_of(guard))};
  if (guard.let_through > 0)
    return Degradation{
        "break-glass", "closed", fmt::format("{} operations let through", guard.let_through),
        fmt::format("what they changed cannot all be read back ({}): end the sandboxes and run `sbpf unload`",
                    reason_of(guard))};
  return std::nullopt;
}

void announce_to(const Kernel& kernel, std::uint64_t cgroup_id, sbpf_reason reason, std::uint32_t detail) {
  sbpf_announcement input{};
  input.cgroup_id = cgroup_id;
  input.reason = reason;
  input.detail = detail;
  input.verdict = SBPF_ALLOW;
  LIBBPF_OPTS(bpf_test_run_opts, options, .ctx_in = &input, .ctx_size_in = sizeof input);
  (void)bpf_prog_test_run_opts(kernel.query(Query::announce), &options);
}

}  // namespace sbpf::agent
