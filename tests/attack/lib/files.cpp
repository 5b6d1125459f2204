// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/lib/files.h"

#include <dirent.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "tests/attack/lib/process.h"

namespace attack {

namespace fs = std::filesystem;

Spec spec_of(const FileSpec& files) {
  Spec spec;
  spec.victim = Victim::files;
  spec.expected = files.expected;
  spec.or_expected = files.or_expected;
  spec.at = files.at;
  spec.told = files.told;
  spec.launch = files.launch;
  if (files.handed && !files.inherited) spec.input = files.handed_as_stdin ? Stdin::file : Stdin::unix_stream;
  spec.root = files.root;
  spec.machine_wide = files.machine_wide;
  spec.harmless = files.harmless;
  spec.lacking = files.lacking;
  spec.files = &files;
  spec.domain = files.programs == Programs::unjudged ? "filesystem" : "exec";
  if (files.grant == Grant::audit) spec.allow = kAudit;
  if (files.grant == Grant::never) spec.allow = kNever;
  return spec;
}

std::string scene(const Context& ctx, const std::string& name) { return ctx.text("scene") + "/" + name; }
std::string workspace(const Context& ctx, const std::string& name) { return scene(ctx, "workspace/" + name); }

Fd open_at(int directory, const std::string& name, int flags, int mode) {
  return Fd(must(openat(directory, name.c_str(), flags | O_CLOEXEC, mode), "openat"));
}

Fd open_path(const std::string& path) { return Fd(must(open(path.c_str(), O_PATH | O_CLOEXEC), "open O_PATH")); }

std::string fd_link(const Fd& fd) { return "/proc/self/fd/" + std::to_string(fd.get()); }

void take(const Context& ctx, const Fd& fd) {
  char buffer[512];
  ctx.loot({buffer, static_cast<std::size_t>(must(read(fd.get(), buffer, sizeof(buffer)), "read"))});
}

void steal(const Context& ctx, const std::string& path) { take(ctx, open_file(path, O_RDONLY)); }

void list(const Context& ctx, const Fd& directory) {
  alignas(dirent64) char buffer[4096];
  const auto got = must(syscall(SYS_getdents64, directory.get(), buffer, sizeof(buffer)), "getdents");
  for (long at = 0; at < got;) {
    const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
    ctx.loot(entry->d_name);
    ctx.loot(" ");
    at += entry->d_reclen;
  }
}

void overwrite(const std::string& path, int flags) { write_text(open_file(path, flags | O_WRONLY), "overwritten"); }

void create(const std::string& path) {
  const Fd fd(must(open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644), "create"));
  write_text(fd, "created");
}

void rename_to(const std::string& from, const std::string& to, unsigned flags) {
  must(syscall(SYS_renameat2, AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags), "rename");
}

namespace {

// Why the dynamic loader could not do its work.
int loader_error(const std::string& text) {
  if (text.find(std::strerror(EACCES)) != std::string::npos) return EACCES;
  if (text.find(std::strerror(EPERM)) != std::string::npos) return EPERM;
  if (text.find("failed to map segment") != std::string::npos) return EACCES;  // it does not say why
  return ENOEXEC;
}

void run_child(const Context& ctx, const std::function<void()>& exec) {
  int output[2], failed[2];
  must(pipe2(output, O_CLOEXEC), "pipe");
  must(pipe2(failed, O_CLOEXEC), "pipe");
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    dup2(output[1], 1);
    dup2(output[1], 2);
    exec();
    const int error = errno;
    _exit(write(failed[1], &error, sizeof(error)) != sizeof(error));
  }
  close(output[1]);
  close(failed[1]);
  const Fd output_end(output[0]), failed_end(failed[0]);
  std::string text;
  char buffer[512];
  for (ssize_t got; (got = read(output[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  int error = 0, status = 0;
  const bool stopped = read(failed[0], &error, sizeof(error)) == sizeof(error);
  waitpid(child, &status, 0);
  if (stopped) throw Failure{error, "exec"};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) throw Failure{loader_error(text), "loader"};
  ctx.loot(text);
}

}  // namespace

void run_and_take(const Context& ctx, const std::vector<std::string>& argv) {
  run_child(ctx, [&] {
    std::vector<char*> pointers;
    for (const std::string& part : argv) pointers.push_back(const_cast<char*>(part.c_str()));
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
  });
}

void run_fd_and_take(const Context& ctx, const Fd& program, const std::string& name) {
  run_child(ctx, [&] {
    char word[] = "program", stamp[] = "stamp";
    char* argv[] = {word, stamp, nullptr};
    syscall(SYS_execveat, program.get(), name.c_str(), argv, environ, name.empty() ? AT_EMPTY_PATH : 0);
  });
}

dev_t disk_of(const Context& ctx) {
  if (!ctx.arguments().contains("disk_offset")) throw Failure{ENODEV, "no disk"};
  return makedev(static_cast<unsigned>(ctx.number("disk_major")), static_cast<unsigned>(ctx.number("disk_minor")));
}

void take_from_disk(const Context& ctx, const Fd& disk) {
  disk_of(ctx);
  alignas(4096) char buffer[4096];
  const auto got = must(pread(disk.get(), buffer, sizeof(buffer), ctx.number("disk_offset")), "read");
  ctx.loot({buffer, std::min<std::size_t>(static_cast<std::size_t>(got), 64)});
}

std::string disk_node(dev_t disk) {
  std::ifstream facts("/sys/dev/block/" + std::to_string(major(disk)) + ":" + std::to_string(minor(disk)) + "/uevent");
  for (std::string line; std::getline(facts, line);)
    if (line.starts_with("DEVNAME=")) return "/dev/" + line.substr(8);
  throw Failure{ENODEV, "no disk"};
}

dev_t admin_disk_of(const FileScene& scene) {
  struct stat info {};
  must(stat(scene("workspace").c_str(), &info), "admin stat");
  return info.st_dev;
}

void admin_write(const std::string& path, const std::string& text, int mode) {
  const Fd fd(must(open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, mode), "admin open"));
  must(write(fd.get(), text.data(), text.size()), "admin write");
  must(fchmod(fd.get(), static_cast<mode_t>(mode)), "admin chmod");
}

void admin_mkdir(const std::string& path) { fs::create_directories(path); }
void admin_remove(const std::string& path) { fs::remove_all(path); }
void admin_rename(const std::string& from, const std::string& to) {
  must(rename(from.c_str(), to.c_str()), "admin rename");
}
void admin_symlink(const std::string& target, const std::string& path) {
  must(symlink(target.c_str(), path.c_str()), "admin symlink");
}
void admin_link(const std::string& from, const std::string& to) { must(link(from.c_str(), to.c_str()), "admin link"); }

void admin_bind(const std::string& from, const std::string& to) {
  if (fs::is_directory(from)) {
    admin_mkdir(to);
  } else {
    admin_write(to, "");
  }
  must(mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr), "admin bind mount");
}

Fd admin_open(const std::string& path, int flags) {
  return Fd(must(open(path.c_str(), flags | O_CLOEXEC), "admin open"));
}

void admin_program(const FileScene& scene, const std::string& path) {
  std::ifstream file(scene.program, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  std::string program = content.str();
  const std::string stamp = ATTACK_STAMP;
  for (auto at = program.find(stamp); at != std::string::npos; at = program.find(stamp, at))
    program.replace(at, scene.secret.size(), scene.secret);
  admin_write(path, program, 0755);
}

std::string deep_name(int depth) {
  std::string name = "workspace/deep";
  for (int i = 1; i < depth; i++) name += "/d";
  return name;
}

void admin_deep(const FileScene& scene, int depth) {
  admin_mkdir(scene(deep_name(depth)));
  admin_write(scene(deep_name(depth)) + "/token", scene.secret);
}

}  // namespace attack
