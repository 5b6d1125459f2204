// SPDX-License-Identifier: Apache-2.0
#include "agent/files/namespaces.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

#include "agent/files/private_places.h"
#include "agent/files/workspace.h"
#include "agent/host/mount_places.h"

namespace sbpf::agent {
namespace {

constexpr const char* kNeeds = "sbpf run needs CAP_SYS_ADMIN and CAP_SYS_CHROOT, and must be allowed to mount";

struct Place {
  const char* path;
  const char* type;
  unsigned long flags;
  const char* options;
  bool only_over_mount;  // a plain directory there is not shared by anything but its path
};

// hidepid=ptraceable and not =invisible, which makes an exception for a group: root's, unless told otherwise.
constexpr std::array kPlaces = {
    Place{"/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=ptraceable", false},
    Place{"/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777", false},
    Place{"/dev/mqueue", "mqueue", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr, true},
};

tl::unexpected<Error> no_place(const std::string& what) {
  const int error = errno;
  return fail("private_places", SystemError{error, kNeeds}, "{}", what);
}

Result<void> no_way_back() {
  const int error = errno;
  return fail("namespace", SystemError{error, kNeeds}, "cannot return from the sandbox's namespaces");
}

// Unmounted first: over the host's own mount, root inside could lift the new one off.
Result<void> make(const Place& place) {
  bool mounted = false;
  while (::umount2(place.path, MNT_DETACH) == 0) mounted = true;
  if (errno == ENOENT || errno == ENOTDIR) return {};
  if (errno != EINVAL)
    return no_place(fmt::format("cannot unmount the host's {}", place.path));  // EINVAL: none is left
  if (place.only_over_mount && !mounted) return {};
  if (::mount(place.type, place.path, place.type, place.flags, place.options) != 0)
    return no_place(fmt::format("cannot mount a {} of the sandbox's own", place.path));
  return {};
}

// A working directory below a place that was made anew would lead into the host's. So may one that was removed: where
// it was is not known.
Result<void> enter_again(const std::string& directory, std::set<std::string> places) {
  if (!directory.starts_with('/'))
    return fail("private_places", "the working directory is not there any more", "start it in another directory");
  places.merge(places_made_anew());
  for (const std::string& place : places)
    if (path_below(directory, place) && ::chdir(directory.c_str()) != 0)
      return fail("private_places",
                  fmt::format("the working directory {} is not there in a sandbox, which has a {} of its own",
                              directory, place),
                  "start it in another directory, or bring this one in with --workspace", errno);
  return {};
}

Result<void> join_new_keyring() {
  if (::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0 && errno != ENOSYS)
    return no_place("cannot make a session keyring");
  return {};
}

Result<void> make_all() {
  // Slave: what the host mounts later appears here too, and nothing that is done here appears there.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return no_place("cannot separate the mounts (is / a mount point?)");
  for (const Place& place : kPlaces)
    if (auto made = make(place); !made) return made;
  return join_new_keyring();
}

std::string working_directory() {
  std::array<char, PATH_MAX + 1> buffer{};
  return ::getcwd(buffer.data(), buffer.size()) == nullptr ? "" : buffer.data();
}

Result<std::string> read_all(const Fd& fd) {
  std::string text;
  std::array<char, 8192> buffer{};
  ssize_t n = 0;
  while ((n = ::read(fd.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(n));
  if (!fd || n < 0) return fail("fs_view", "cannot read which mounts the sandbox has", "", errno);
  return text;
}

// The mounts as this thread sees them, read through the procfs that `proc` is open on.
Result<MountView> mount_view_here(const Fd& proc) {
  MountView mount_view;
  mount_view.root = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!mount_view.root) return fail("fs_view", "cannot open the sandbox's root directory", "", errno);
  auto mounts = read_all(Fd(::openat(proc.get(), "thread-self/mountinfo", O_RDONLY | O_CLOEXEC)));
  if (!mounts) return tl::unexpected<Error>(mounts.error());
  mount_view.mountinfo = std::move(*mounts);
  struct stat info {};
  if (::fstatat(proc.get(), "thread-self/ns/mnt", &info, 0) == 0) mount_view.mounts = info.st_ino;
  return mount_view;
}

Fd open_proc() { return Fd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)); }

}  // namespace

std::set<std::string> places_made_anew() {
  std::set<std::string> paths;
  for (const Place& place : kPlaces) paths.insert(place.path);
  return paths;
}

Result<NamespaceStay> NamespaceStay::begin() {
  NamespaceStay stay;
  stay.mounts_ = Fd(::open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC));
  stay.ipc_ = Fd(::open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC));
  stay.network_ = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  stay.root_ = Fd(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (stay.mounts_ && stay.ipc_ && stay.network_ && stay.root_) return stay;
  const int error = errno;
  stay.mounts_.reset();
  return fail("namespace", SystemError{error, kNeeds}, "cannot open this process's namespaces");
}

Result<void> NamespaceStay::check_way_back() {
  // Changes nothing: "/" is this thread's root.
  return ::chroot("/") == 0 ? Result<void>() : no_way_back();
}

Result<void> enter_private_places(const Fd& network, const Fd& workspace, const std::set<std::string>& places) {
  const std::string directory = working_directory();
  if (::unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0)
    return no_place("cannot make a mount and an IPC namespace for the sandbox");
  if (network && ::setns(network.get(), CLONE_NEWNET) != 0)
    return no_place("cannot enter the network namespace of the sandbox");
  if (auto made = make_all(); !made) return made;
  // The workspace would lie over a private place that is in it.
  if (workspace)
    if (auto entered = enter_workspace(workspace); !entered) return entered;
  if (auto made = make_private_places(places); !made) return made;
  if (workspace) return {};
  if (auto entered = enter_again(directory, places); !entered) return entered;
  return enter_again(working_directory(), places);  // it may have been moved meanwhile
}

Result<NamespaceStay> NamespaceStay::in_private_places(const Fd& network, const Fd& workspace,
                                                       const std::set<std::string>& places) {
  auto stay = begin();
  if (!stay) return stay;
  if (auto entered = enter_private_places(network, workspace, places); !entered)
    return tl::unexpected<Error>(entered.error());
  return stay;
}

Result<NamespaceStay> NamespaceStay::with(pid_t pid) {
  Fd target(::open(fmt::format("/proc/{}/ns/mnt", pid).c_str(), O_RDONLY | O_CLOEXEC));
  auto stay = begin();
  if (!stay) return stay;
  if (target && ::setns(target.get(), CLONE_NEWNS) == 0) return stay;
  const int error = errno;
  stay->mounts_.reset();
  return fail("namespace", SystemError{error, kNeeds}, "cannot enter the sandbox's mount namespace");
}

Result<void> enter_sandbox(pid_t pid, std::uint64_t mounts) {
  // By this descriptor all that follows is of one process, and of the host's /proc.
  const Fd process(::open(fmt::format("/proc/{}", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto open_in = [&](const char* name, int flags) {
    return Fd(::openat(process.get(), name, flags | O_CLOEXEC));
  };
  const Fd its_mounts = open_in("ns/mnt", O_RDONLY), its_ipc = open_in("ns/ipc", O_RDONLY),
           its_network = open_in("ns/net", O_RDONLY), directory = open_in("cwd", O_PATH);
  struct stat info {};
  if (!its_mounts || !its_ipc || !its_network || ::fstat(its_mounts.get(), &info) != 0 || info.st_ino != mounts)
    return fail("no_namespace", "the process in the sandbox's mount namespace ended, or left it", "try again");
  if (::setns(its_mounts.get(), CLONE_NEWNS) != 0 || ::setns(its_ipc.get(), CLONE_NEWIPC) != 0 ||
      ::setns(its_network.get(), CLONE_NEWNET) != 0)
    return fail("namespace", SystemError{errno, kNeeds}, "cannot enter the sandbox's namespaces");
  (void)!::fchdir(directory.get());  // where it has none any more, "/" is
  return join_new_keyring();
}

Result<NamespaceStay> NamespaceStay::in_sandbox(pid_t pid, std::uint64_t mounts) {
  auto stay = begin();
  if (!stay) return stay;
  if (auto entered = enter_sandbox(pid, mounts); !entered) return tl::unexpected<Error>(entered.error());
  return stay;
}

Result<void> NamespaceStay::back() {
  if (!mounts_) return {};
  const bool done = ::setns(mounts_.get(), CLONE_NEWNS) == 0 && ::setns(ipc_.get(), CLONE_NEWIPC) == 0 &&
                    ::setns(network_.get(), CLONE_NEWNET) == 0 && ::fchdir(root_.get()) == 0 && ::chroot(".") == 0;
  auto result = done ? Result<void>() : no_way_back();
  for (Fd* held : {&mounts_, &ipc_, &network_, &root_}) held->reset();  // they would keep mounts busy
  return result;
}

std::uint64_t namespace_number(const std::string& task_directory, const char* kind) {
  struct stat info {};
  return ::stat(fmt::format("{}/ns/{}", task_directory, kind).c_str(), &info) == 0 ? info.st_ino : 0;
}

std::uint64_t mount_namespace(const std::string& task) { return namespace_number("/proc/" + task, "mnt"); }

Result<MountView> own_mount_view() { return mount_view_here(open_proc()); }

Result<MountView> mount_view_of_process(pid_t pid) {
  const std::string proc = "/proc/" + std::to_string(pid);
  MountView mount_view;
  mount_view.root = Fd(::open((proc + "/root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!mount_view.root) return fail("fs_view", "cannot open the sandbox's root directory", "", errno);
  auto mounts = read_all(Fd(::open((proc + "/mountinfo").c_str(), O_RDONLY | O_CLOEXEC)));
  if (!mounts) return tl::unexpected<Error>(mounts.error());
  mount_view.mountinfo = std::move(*mounts);
  mount_view.mounts = mount_namespace(std::to_string(pid));
  return mount_view;
}

Result<MountView> mount_view_of_namespace(pid_t pid) {
  const Fd proc = open_proc();  // the host's: what is mounted there inside may say anything
  auto stay = NamespaceStay::with(pid);
  if (!stay) return tl::unexpected<Error>(stay.error());
  auto mount_view = mount_view_here(proc);
  if (auto left = stay->back(); !left) return tl::unexpected<Error>(left.error());
  if (mount_view) mount_view->owner_asks = true;
  return mount_view;
}

}  // namespace sbpf::agent
