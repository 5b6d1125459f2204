// SPDX-License-Identifier: Apache-2.0
#include "agent/host/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "agent/host/paths.h"
#include "base/file.h"
#include "base/mounts.h"
#include "base/seen.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

constexpr int kWaitSteps = 10000;  // of 1 ms

bool on_cgroup2(int fd) {
  struct statfs info {};
  return ::fstatfs(fd, &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC;
}

template <typename Condition>
bool wait_for(Condition&& condition) {
  for (int i = 0; i < kWaitSteps; i++) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// A kernfs file handle is the node's 64-bit id. -1 inside with errno.
Fd open_handle(const Fd& mount, std::uint64_t id) {
  struct {
    file_handle head;
    std::uint64_t id;
  } handle{};
  handle.head.handle_bytes = sizeof handle.id;
  handle.head.handle_type = 0xfe;  // FILEID_KERNFS
  std::memcpy(handle.head.f_handle, &id, sizeof id);
  return Fd(::open_by_handle_at(mount.get(), &handle.head, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Does a handle that must lead somewhere do so here: that of the mounted directory itself? Then this process may open
// cgroups by their ids, and one of no cgroup is one that is gone: a kernel has one hierarchy of version 2, and looks
// ids up in all of it, whatever part is mounted where.
bool handles_work(const Fd& mount) {
  struct stat known {
  }, opened{};
  if (::fstat(mount.get(), &known) != 0) return false;
  const Fd again = open_handle(mount, known.st_ino);
  return again && on_cgroup2(again.get()) && ::fstat(again.get(), &opened) == 0 && opened.st_ino == known.st_ino &&
         opened.st_dev == known.st_dev;
}

Error hidden(const std::string& what, int error) {
  const bool place = error == 0 || error == ESTALE || error == EOPNOTSUPP;
  const std::string why = error == 0 ? "" : std::string(": ") + std::strerror(error);
  const char* hint = place ? "run sbpf where the host's cgroup2 hierarchy is visible" : hint_for(error);
  return Error{"cgroup_hidden", fmt::format("{} cannot be looked at{}", what, why), hint, error, "", true};
}

Error gone(const std::string& who) {
  return Error{"cgroup_gone", fmt::format("no cgroup has {}", who), "", ENOENT, "", false};
}

std::uint32_t level_of(const std::string& path, const std::string& mount) {
  const std::string below = path.size() > mount.size() ? path.substr(mount.size()) : "";
  std::uint32_t level = 0;
  for (const auto& part : fs::path(below))
    if (!part.empty() && part != "/") level++;
  return level;
}

bool is_gone_or_fine(int error) { return error == 0 || error == ENOENT || error == ENODEV; }

// 0, or errno. What is visited before what is below it cannot hide there meanwhile.
int visit_all(const std::string& path, const std::function<int(const std::string&)>& visit) {
  if (const int error = visit(path); !is_gone_or_fine(error)) return error;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return is_gone_or_fine(errno) ? 0 : errno;
  if (info.st_nlink == 2) return 0;  // the kernel adds one for each cgroup in it. fs/kernfs/inode.c
  std::error_code ec;
  fs::directory_iterator at(path, ec);
  for (; !ec && at != fs::directory_iterator(); at.increment(ec))
    if (std::error_code unseen; at->is_directory(unseen))
      if (const int error = visit_all(at->path(), visit); error != 0) return error;
  return is_gone_or_fine(ec.value()) ? 0 : ec.value();
}

// 0, or errno. The processes of a threaded cgroup are listed by the one above it.
int collect_pids(const std::string& path, std::vector<pid_t>& pids) {
  errno = 0;
  const auto text = read_up_to(path + "/cgroup.procs", std::string::npos);
  if (!text) return errno == EOPNOTSUPP ? 0 : errno;
  std::istringstream procs(*text);
  for (pid_t pid; procs >> pid;)
    if (pid > 0)
      pids.push_back(
          pid);  // The kernel lists a process that is just ending as 0, which kill() takes for the caller's group.
  return 0;
}

// Best effort: a limit that needs a missing controller is refused by apply_limits() (agent/host/limits.h), when it is
// asked for.
void hand_down_controllers(const Cgroup& cgroup) {
  const auto read = cgroup.read("cgroup.subtree_control");
  std::string handed = " " + (read ? *read : "");
  std::ranges::replace(handed, '\n', ' ');
  for (const std::string controller : {"pids", "memory", "cpu"})
    if (handed.find(fmt::format(" {} ", controller)) == std::string::npos)
      (void)cgroup.write("cgroup.subtree_control", "+" + controller);
}

// Only the hierarchy's real root has no cgroup.events; a cgroup namespace's root has.
bool shows_root(const std::string& mount) { return ::access((mount + "/cgroup.events").c_str(), F_OK) != 0; }

bool shows_root_still(const std::string& mount) {
  struct statfs info {};
  return !mount.empty() && ::statfs(mount.c_str(), &info) == 0 && info.f_type == CGROUP2_SUPER_MAGIC &&
         shows_root(mount) && errno == ENOENT;
}

}  // namespace

Result<std::string> cgroup2_mount() {
  // Where it was found last, as long as it is there: the kernel writes and we read the whole table of mounts for it.
  static thread_local std::string known;
  if (shows_root_still(known)) return known;
  known.clear();
  bool seen = false;
  errno = 0;
  const std::vector<Mount> mounts = own_mounts();
  if (mounts.empty())
    return tl::unexpected<Error>(hidden("the host's cgroup2 hierarchy (/proc/thread-self/mountinfo)", errno));
  for (const Mount& mount : mounts) {
    if (mount.type != "cgroup2") continue;
    seen = true;
    if (mount.root == "/" && shows_root(mount.point)) return known = mount.point;
  }
  if (seen)
    return fail("cgroup_namespace", "the cgroup2 mount does not show the host's root cgroup",
                "run sbpf in the host's cgroup namespace (containers: cgroupns=host)");
  return fail("no_cgroup2", "no cgroup2 filesystem is mounted",
              "mount -t cgroup2 none /sys/fs/cgroup, or boot with systemd.unified_cgroup_hierarchy=1");
}

Result<Cgroup> Cgroup::open(const std::string& path) {
  auto mount = cgroup2_mount();
  if (!mount) return fail(std::move(mount.error()), "cannot open a cgroup");
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd)
    return fail("cgroup_not_found", SystemError{errno, fmt::format("give the path of a directory below {}", *mount)},
                "cannot open cgroup {}", path);
  return adopt(std::move(fd), path, *mount);
}

Result<Cgroup> Cgroup::adopt(Fd fd, const std::string& path, const std::string& mount) {
  if (!on_cgroup2(fd.get()))
    return fail("not_a_cgroup", fmt::format("{} is not on a cgroup2 filesystem", path),
                fmt::format("give the path of a directory below {}", mount));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail("cgroup_io", fmt::format("fstat {}", path), "", errno);
  std::array<char, 4096> real{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  const ssize_t n = ::readlink(link.c_str(), real.data(), real.size());
  Cgroup cgroup;
  cgroup.path_ = n > 0 ? std::string(real.data(), static_cast<std::size_t>(n)) : path;
  cgroup.fd_ = std::move(fd);
  cgroup.id_ = info.st_ino;
  cgroup.level_ = level_of(cgroup.path_, mount);
  return cgroup;
}

Result<Cgroup> Cgroup::open_by_id(std::uint64_t id) {
  auto mount = cgroup2_mount();
  if (!mount) return fail(std::move(mount.error()), "cannot open a cgroup");
  return open_by_id(id, *mount);
}

Result<Cgroup> Cgroup::open_by_id(std::uint64_t id, const std::string& mount) {
  const std::string who = "id " + std::to_string(id);
  const Fd mount_fd(::open(mount.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!mount_fd) return tl::unexpected<Error>(hidden(fmt::format("the cgroup of {}", who), errno));
  if (!on_cgroup2(mount_fd.get())) {
    Error error = hidden(fmt::format("the cgroup of {}", who), 0);
    error.message += fmt::format(": something else is mounted over {}", mount);
    return tl::unexpected<Error>(std::move(error));
  }
  Fd fd = open_handle(mount_fd, id);
  if (fd) return adopt(std::move(fd), who, mount);
  const int error = errno;
  // What no cgroup has any more is stale.
  if ((error == ESTALE || error == ENOENT) && handles_work(mount_fd)) return tl::unexpected<Error>(gone(who));
  return tl::unexpected<Error>(hidden(fmt::format("the cgroup of {}", who), error));
}

Result<Cgroup> Cgroup::create(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) != 0) {
    if (errno == EEXIST)
      return fail("cgroup_exists", fmt::format("cgroup {} exists", path), "choose another --name", EEXIST);
    return fail("cgroup_create",
                SystemError{errno, "sbpf needs write access to the cgroup2 hierarchy (root on the host)"},
                "cannot make cgroup {}", path);
  }
  return Cgroup::open(path);
}

Result<std::string> Cgroup::read(const char* file) const {
  Fd fd(::openat(fd_.get(), file, O_RDONLY | O_CLOEXEC));
  if (!fd) return fail("cgroup_io", SystemError{errno}, "{}/{}", path_, file);
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t n = 0;
  while ((n = ::read(fd.get(), buffer.data(), buffer.size())) > 0 || (n < 0 && errno == EINTR))
    text.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) return fail("cgroup_io", SystemError{errno}, "{}/{}", path_, file);
  return text;
}

Result<void> Cgroup::write(const char* file, const std::string& value) const {
  Fd fd(::openat(fd_.get(), file, O_WRONLY | O_CLOEXEC));
  if (!fd || ::write(fd.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size()))
    return fail("cgroup_io", SystemError{errno}, "{}/{}", path_, file);
  return {};
}

Result<std::vector<pid_t>> Cgroup::processes() const {
  std::vector<pid_t> pids;
  if (const int error = visit([&](const std::string& path) { return collect_pids(path, pids); }); error != 0)
    return fail("cgroup_io", SystemError{error, hint_for(error)}, "cannot list the processes of {}", path_);
  return pids;
}

int Cgroup::visit(const std::function<int(const std::string&)>& each) const { return visit_all(path_, each); }

bool Cgroup::populated() const {
  auto events = read("cgroup.events");
  if (!events) return seen() != Seen::absent;
  return events->find("populated 0") == std::string::npos;
}

bool Cgroup::frozen() const {
  auto events = read("cgroup.events");
  return events && events->find("frozen 1") != std::string::npos;
}

bool Cgroup::is_freezing() const {
  std::error_code ec;
  for (fs::path path = path_; fs::exists(path / "cgroup.events", ec); path = path.parent_path())
    if (int asked = 0; std::ifstream(path / "cgroup.freeze") >> asked && asked == 1) return true;
  return false;
}

bool Cgroup::at_limit() const {
  constexpr std::uint64_t kNear = 32;  // of memory, that part is as good as none
  std::error_code ec;
  for (fs::path path = path_; fs::exists(path / "cgroup.events", ec); path = path.parent_path()) {
    // "max", and what a cgroup without that controller says, is no number.
    const auto number = [&](const char* file) {
      std::uint64_t value = 0;
      std::ifstream stream(path / file);
      return stream >> value ? std::optional(value) : std::nullopt;
    };
    const auto near = [&](const char* now, const char* limit, std::uint64_t part) {
      const auto used = number(now), most = number(limit);
      return used && most && *used + *most / part >= *most;
    };
    if (near("pids.current", "pids.max", ~std::uint64_t{0}) || near("memory.current", "memory.max", kNear) ||
        near("memory.current", "memory.high", kNear))
      return true;
  }
  return false;
}

Seen Cgroup::seen() const {
  // Of a removed directory the kernel keeps the object, and has no names any more.
  if (::faccessat(fd_.get(), "cgroup.events", F_OK, 0) == 0) return Seen::there;
  return errno == ENODEV ? Seen::absent : seen_by_error(errno);
}

Result<void> Cgroup::freeze(bool on) const {
  auto written = write("cgroup.freeze", on ? "1" : "0");
  if (!written) return written;
  if (!wait_for([&] { return frozen() == on; }))
    return fail("cgroup_freeze", fmt::format("{} does not {}", path_, on ? "freeze" : "thaw"),
                "a process in uninterruptible sleep holds it", ETIMEDOUT);
  return {};
}

Result<void> Cgroup::kill() const {
  auto written = write("cgroup.kill", "1");
  if (!written) return written;
  if (!wait_for([&] { return !populated(); }))
    return fail("cgroup_kill", fmt::format("{} still has processes after SIGKILL", path_),
                "a process in uninterruptible sleep holds it", ETIMEDOUT);
  return {};
}

Result<void> Cgroup::kill_processes() const {
  constexpr int kRounds = 20;  // what is being born when it freezes is seen by the next one
  (void)write("cgroup.freeze", "1");
  Result<void> result;
  for (int round = 0; round < kRounds; round++) {
    auto pids = processes();
    if (!pids) result = tl::unexpected<Error>(pids.error());
    if (!pids || pids->empty()) break;
    for (const pid_t pid : *pids) (void)::kill(pid, SIGKILL);
  }
  (void)write("cgroup.freeze", "0");
  return result;
}

bool is_gone(const Error& error) { return error.code == "cgroup_gone"; }

Result<std::uint64_t> root_cgroup_id() {
  auto mount = cgroup2_mount();
  if (!mount) return tl::unexpected<Error>(mount.error());
  const std::string path = *mount + "/" + std::string(kRootCgroupName);
  struct statfs filesystem {};
  struct stat info {};
  if (::statfs(mount->c_str(), &filesystem) != 0 || filesystem.f_type != CGROUP2_SUPER_MAGIC)
    return tl::unexpected<Error>(hidden(fmt::format("the hierarchy at {}", *mount), 0));
  if (::stat(path.c_str(), &info) == 0) return info.st_ino;
  return tl::unexpected<Error>(errno == ENOENT ? gone(fmt::format("the path {}", path)) : hidden(path, errno));
}

Result<Cgroup> root_cgroup() { return top_cgroup(std::string(kRootCgroupName)); }

Result<Cgroup> top_cgroup(const std::string& name) {
  auto mount = cgroup2_mount();
  if (!mount) return fail(std::move(mount.error()), fmt::format("cannot make cgroup {}", name));
  if (struct statfs info{}; ::statfs(mount->c_str(), &info) != 0 || info.f_type != CGROUP2_SUPER_MAGIC)
    return tl::unexpected<Error>(hidden(fmt::format("the hierarchy at {}", *mount), 0));
  const std::string path = *mount + "/" + name;
  if (::mkdir(path.c_str(), 0755) != 0 && errno != EEXIST)
    return fail("cgroup_create",
                SystemError{errno, "sbpf needs write access to the cgroup2 hierarchy (root on the host)"},
                "cannot make cgroup {}", path);
  auto host_root = Cgroup::open(*mount);
  auto root = Cgroup::open(path);
  if (!host_root || !root) return fail("cgroup_not_found", fmt::format("cannot open cgroup {}", path));
  hand_down_controllers(*host_root);
  hand_down_controllers(*root);
  return root;
}

void hand_down_in_slices(const std::string& mount, const std::string& path) {
  const std::string to = fs::path(path).lexically_normal();
  for (std::size_t end = mount.size(); end < to.size(); end = to.find('/', end + 1)) {
    const std::string at = to.substr(0, end);
    if (at != mount && !at.ends_with(".slice")) return;
    if (auto cgroup = Cgroup::open(at)) hand_down_controllers(*cgroup);
  }
}

Result<void> remove_cgroup(const std::string& path) {
  std::error_code ec;
  std::vector<std::string> below;
  for (const auto& entry : fs::directory_iterator(path, ec))
    if (entry.is_directory(ec)) below.push_back(entry.path());
  for (const std::string& child : below)
    if (auto removed = remove_cgroup(child); !removed) return removed;
  // The last exiting task leaves its cgroup shortly after its parent saw it die.
  if (!wait_for([&] { return ::rmdir(path.c_str()) == 0 || errno != EBUSY; }) ||
      (fs::exists(path, ec) && ::rmdir(path.c_str()) != 0 && errno != ENOENT))
    return fail("cgroup_remove", SystemError{errno}, "cannot remove cgroup {}", path);
  return {};
}

Result<pid_t> clone_into(const Cgroup& cgroup, Fd& pidfd) {
  int pidfd_number = -1;
  struct clone_args args {};
  args.flags = CLONE_INTO_CGROUP | CLONE_PIDFD;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<std::uint64_t>(cgroup.fd());
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd_number);
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid < 0) return fail("spawn", SystemError{errno}, "cannot start a process in {}", cgroup.path());
  if (pid > 0) pidfd = Fd(pidfd_number);
  return static_cast<pid_t>(pid);
}

}  // namespace sbpf::agent
