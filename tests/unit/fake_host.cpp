// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/fake_host.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "tests/unit/fake_libc.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

FakeHost* current = nullptr;

constexpr std::array kOwn{"/run", "/var/lib", "/sys/fs/bpf", kFakeCgroups};

void must(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(what + ": " + std::strerror(errno));
}

void write_file(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Once for the process. Who is not root is it in a user namespace.
void enter_namespace() {
  static bool done = false;
  if (done) return;
  const uid_t uid = ::getuid();
  const gid_t gid = ::getgid();
  must(::unshare(uid == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) == 0, "cannot make a mount namespace");
  if (uid != 0) {
    write_file("/proc/self/setgroups", "deny");
    write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1");
    write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "cannot make the mounts private");
  done = true;
}

std::string place_of(const std::string& path) { return kFakeCgroups + path; }

}  // namespace

FakeHost* FakeHost::answering() { return current; }

FakeHost::FakeHost() {
  if (current != nullptr) throw std::logic_error("another fake host answers");
  enter_namespace();
  for (const char* place : kOwn)
    must(::mount("fake", place, "tmpfs", 0, "mode=755") == 0, std::string("tmpfs ") + place);
  fs::create_directories("/run/fake");
  write_file("/run/fake/mountinfo", std::string("30 1 0:26 / ") + kFakeCgroups + " rw - cgroup2 cgroup2 rw\n");
  write_file("/run/fake/lsm", "lockdown,capability,bpf");
  replaced_ = {{"/proc/thread-self/mountinfo", "/run/fake/mountinfo"}, {"/sys/kernel/security/lsm", "/run/fake/lsm"}};
  fs::create_directories("/sys/fs/bpf/sbpf/sandboxes");
  current = this;
}

FakeHost::~FakeHost() {
  current = nullptr;
  for (const char* place : kOwn) (void)::umount2(place, MNT_DETACH);
}

const char* FakeHost::in_place_of(const char* path) const {
  const auto found = replaced_.find(path);
  return found == replaced_.end() ? nullptr : found->second.c_str();
}

std::uint64_t FakeHost::add_cgroup(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = place_of(path.substr(0, end));
    if (::mkdir(part.c_str(), 0755) != 0) must(errno == EEXIST, "mkdir " + part);
    if (end == std::string::npos) break;
  }
  set_event(path, "populated", true);
  struct stat info {};
  must(::stat(place_of(path).c_str(), &info) == 0, "stat " + path);
  return info.st_ino;
}

void FakeHost::remove_cgroup(const std::string& path) { fs::remove_all(place_of(path)); }

std::string FakeHost::read(const std::string& path, const std::string& file) {
  std::string text = text_of(place_of(path) + "/" + file);
  if (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

void FakeHost::set_file(const std::string& path, const std::string& file, const std::string& text) {
  write_file(place_of(path) + "/" + file, text);
}

void FakeHost::set_event(const std::string& path, const std::string& key, bool on) {
  const std::string file = place_of(path) + "/cgroup.events";
  std::string text = text_of(file);
  const auto at = text.find(key + " ");
  must(at != std::string::npos, file + " has no " + key);
  text[at + key.size() + 1] = on ? '1' : '0';
  write_file(file, text);
}

}  // namespace sbpf::agent

// ---- in the place of libc's -----------------------------------------------------------------------------------------

using sbpf::agent::FakeHost;
using sbpf::agent::kFakeCgroups;
using sbpf::agent::libc;
using sbpf::agent::write_file;

namespace {

// Below the hierarchy, as FakeHost has it; "": it is elsewhere.
std::string cgroup_of(const std::string& path) {
  const std::string_view root = kFakeCgroups;
  const bool within = FakeHost::answering() != nullptr && path.starts_with(root) && path.size() > root.size();
  return within && path[root.size()] == '/' ? path.substr(root.size()) : "";
}

std::string path_of(int fd) {
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "";
}

constexpr std::array kFiles{"cgroup.events", "cgroup.procs", "cgroup.freeze", "cgroup.kill", "cgroup.subtree_control"};

}  // namespace

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = libc<int(const char*, mode_t)>("mkdir");
  const int result = real(path, mode);
  if (result != 0 || cgroup_of(path).empty()) return result;
  for (const char* file : kFiles) write_file(std::string(path) + "/" + file, "");
  write_file(std::string(path) + "/cgroup.events", "populated 0\nfrozen 0\n");
  return 0;
}

extern "C" int rmdir(const char* path) noexcept {
  static auto* const real = libc<int(const char*)>("rmdir");
  const std::string cgroup = cgroup_of(path);
  if (cgroup.empty()) return real(path);
  if (FakeHost::read(cgroup, "cgroup.events").find("populated 1") != std::string::npos) return errno = EBUSY, -1;
  for (const char* file : kFiles) (void)::unlink((std::string(path) + "/" + file).c_str());
  return real(path);
}

// What is written to a cgroup is done at once.
extern "C" ssize_t write(int fd, const void* bytes, size_t size) {
  static auto* const real = libc<ssize_t(int, const void*, size_t)>("write");
  const ssize_t written = real(fd, bytes, size);
  if (written <= 0 || FakeHost::answering() == nullptr) return written;
  const std::string path = path_of(fd), cgroup = cgroup_of(path.substr(0, path.rfind('/')));
  if (cgroup.empty()) return written;
  if (path.ends_with("/cgroup.freeze")) FakeHost::set_event(cgroup, "frozen", *static_cast<const char*>(bytes) == '1');
  if (path.ends_with("/cgroup.kill")) FakeHost::set_event(cgroup, "populated", false);
  return written;
}

extern "C" int open(const char* path, int flags, ...) {
  static auto* const real = libc<int(const char*, int, mode_t)>("open");
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  const FakeHost* const host = FakeHost::answering();
  const char* const other = host != nullptr ? host->in_place_of(path) : nullptr;
  return real(other != nullptr ? other : path, flags, mode);
}

// By the number of the directory.
extern "C" int open_by_handle_at(int mount, file_handle* handle, int flags) {
  static auto* const real = libc<int(int, file_handle*, int)>("open_by_handle_at");
  const FakeHost* const host = FakeHost::answering();
  if (host == nullptr) return real(mount, handle, flags);
  if (host->handle_error() != 0) return errno = host->handle_error(), -1;
  std::uint64_t id = 0;
  std::memcpy(&id, handle->f_handle, sizeof id);
  struct stat info {};
  if (::stat(kFakeCgroups, &info) == 0 && info.st_ino == id) return ::open(kFakeCgroups, flags);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFakeCgroups))
    if (entry.is_directory() && ::stat(entry.path().c_str(), &info) == 0 && info.st_ino == id)
      return ::open(entry.path().c_str(), flags);
  return errno = ESTALE, -1;
}

extern "C" int fstatfs(int fd, struct statfs* info) noexcept {
  static auto* const real = libc<int(int, struct statfs*)>("fstatfs");
  const int result = real(fd, info);
  const std::string path = FakeHost::answering() != nullptr ? path_of(fd) : "";
  if (result == 0 && (path == kFakeCgroups || !cgroup_of(path).empty())) info->f_type = CGROUP2_SUPER_MAGIC;
  return result;
}

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  static auto* const real = libc<int(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  if (const FakeHost* host = FakeHost::answering(); host != nullptr && result == 0) time->tv_sec += host->advanced();
  return result;
}
