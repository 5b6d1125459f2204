// SPDX-License-Identifier: Apache-2.0
// The scene of an attack on files: made before each run, compared after it.
#include <dirent.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/attack/driver/victim.h"
#include "tests/attack/lib/files.h"

namespace attack::driver {

namespace {

namespace fs = std::filesystem;

constexpr int kInheritance = 34;  // the driver's copy, left open across exec

// Where nothing may change: these and all beneath them…
constexpr const char* kGuarded[] = {"outside",
                                    "elsewhere",
                                    "workspace/ro",
                                    "workspace/secret",
                                    "workspace/secret.key",
                                    "workspace/later",
                                    "workspace/tests",
                                    "workspace/instruction.md",
                                    "workspace/.hooks",
                                    "workspace/a/b",
                                    "workspace/project/tests",
                                    "workspace/project/vault",
                                    "workspace/empty/later"};
// …and these names alone.
constexpr const char* kKept[] = {"workspace", "workspace/project", "workspace/empty"};

using Snapshot = std::map<std::string, std::string>;  // by path

std::string attributes_of(const std::string& path) {
  std::string text;
  char names[4096], value[1024];
  const ssize_t size = llistxattr(path.c_str(), names, sizeof(names));
  std::set<std::string> sorted;
  for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(std::string(names + at).size()) + 1)
    sorted.insert(names + at);
  for (const std::string& name : sorted) {
    const ssize_t length = lgetxattr(path.c_str(), name.c_str(), value, sizeof(value));
    text += " " + name + "=" + std::string(value, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  }
  return text;
}

// Everything of a file that an attacker might change; not when it was read.
std::string state_of(const std::string& path, bool whole) {
  struct stat info {};
  if (lstat(path.c_str(), &info) != 0) return "";
  std::ostringstream text;
  text << std::oct << info.st_mode << std::dec << " " << info.st_uid << ":" << info.st_gid;
  if (!whole) {
    // The same directory, not another one of that name.
    text << " inode " << info.st_ino;
    return text.str();
  }
  text << " " << info.st_mtim.tv_sec << "." << info.st_mtim.tv_nsec << " " << major(info.st_rdev) << ":"
       << minor(info.st_rdev) << attributes_of(path);
  if (S_ISLNK(info.st_mode)) text << " -> " << fs::read_symlink(path).string();
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) return text.str();
  if (S_ISREG(info.st_mode)) text << " links " << info.st_nlink << " size " << info.st_size;
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  int flags = 0;
  fsxattr more{};
  if (fd && ioctl(fd.get(), FS_IOC_GETFLAGS, &flags) == 0) text << " flags " << flags;
  if (fd && ioctl(fd.get(), FS_IOC_FSGETXATTR, &more) == 0) text << " project " << more.fsx_projid;
  if (S_ISREG(info.st_mode) && info.st_size < 65536) text << " content " << read_file(path);
  return text.str();
}

class Files : public VictimState {
 public:
  Files(const FileSpec& spec, const Scene& scene) : spec_(spec), uid_(scene.uid) {
    char pattern[] = "/srv/attack-XXXXXX";
    mkdir("/srv", 0755);
    if (!mkdtemp(pattern)) throw Failure{errno, "mkdtemp"};
    must(chmod(pattern, 0755), "chmod");
    scene_.base = pattern;
    scene_.root = scene_.base + "/scene";
    scene_.secret = scene.secret;
    scene_.program = scene.program;
    try {
      set_up();
    } catch (...) {
      clean_up();
      throw;
    }
  }
  ~Files() override { clean_up(); }

  Arguments arguments() const override {
    Arguments arguments = {{"scene", scene_.root},
                           {"base", scene_.base},
                           {"driver", std::to_string(getpid())},
                           {"long_name", std::string(255, 'n')},
                           {"inherited_fd", std::to_string(kInheritance)}};
    for (const auto& [key, value] : disk_place()) arguments[key] = value;
    return arguments;
  }
  void before_attack() override {
    if (spec_.meanwhile) as_admin(spec_.meanwhile);
    before_ = snapshot(scene_);
  }
  Fd connection() override { return spec_.handed ? spec_.handed(scene_) : Fd(); }
  int inheritance() const override { return spec_.inherited ? kInheritance : -1; }

  Seen look(const Outcome& outcome, milliseconds patience) override {
    const auto deadline = std::chrono::steady_clock::now() + patience;
    // As the host has it, and as the attacker does: mounts in a sandbox are the sandbox's own.
    FileScene inside = scene_;
    inside.root = "/proc/" + std::to_string(outcome.pid) + "/root" + scene_.root;
    const auto attacker_sees_it = [&] { return outcome.pid > 0 && access(inside.root.c_str(), F_OK) == 0; };
    do {
      if (outcome.loot.find(scene_.secret) != std::string::npos) details_ = "the secret was read";
      if (details_.empty()) details_ = harm_in(scene_);
      if (details_.empty() && attacker_sees_it()) {
        details_ = harm_in(inside);
        // An attacker that ends meanwhile takes its mounts along: what is missing then was not removed.
        if (!attacker_sees_it()) details_.clear();
      }
      if (!details_.empty()) return Seen::harm;
      usleep(20000);
    } while (std::chrono::steady_clock::now() < deadline);
    return Seen::nothing;
  }
  std::string details() const override { return details_; }

 private:
  void set_up() {
    const std::string lower = scene_.base + "/lower";
    admin_mkdir(scene_.root);
    if (spec_.ground == Ground::memory)
      must(mount("none", scene_.root.c_str(), "tmpfs", 0, "mode=0755"), "mount tmpfs");
    const std::string populated = spec_.ground == Ground::overlay ? lower : scene_.root;
    populate(populated);
    if (uid_ != 0) hand_over(populated);
    if (spec_.ground == Ground::overlay) {
      const std::string top = scene_.base + "/top";
      admin_mkdir(top);
      must(mount("none", top.c_str(), "tmpfs", 0, "mode=0755"), "mount tmpfs");
      admin_mkdir(top + "/upper");
      admin_mkdir(top + "/work");
      const std::string options = "lowerdir=" + lower + ",upperdir=" + top + "/upper,workdir=" + top + "/work";
      must(mount("none", scene_.root.c_str(), "overlay", 0, options.c_str()), "mount overlay");
    }
    if (spec_.prepare) as_admin(spec_.prepare);
    if (spec_.inherited) {
      const Fd fd = spec_.handed(scene_);
      must(dup2(fd.get(), kInheritance), "dup2");
      fcntl(kInheritance, F_SETFD, FD_CLOEXEC);
    }
    before_ = snapshot(scene_);
  }

  void populate(const std::string& root) const {
    const std::string w = root + "/workspace/", &secret = scene_.secret;
    for (const char* name :
         {"dir", "tests2", "ro/dir", "secret/dir", "tests/dir", "project/tests", "project/vault", "empty"})
      admin_mkdir(w + name);
    for (const char* name : {"outside", "elsewhere"}) admin_mkdir(root + "/" + name);
    for (const char* name : {"outside/token", "elsewhere/token"}) admin_write(root + "/" + name, secret);
    admin_write(root + "/outside/" + secret, "");
    for (const char* name : {"secret/token", "secret/dir/token", "secret.key", "project/vault/token"})
      admin_write(w + name, secret);
    for (const char* name : {"free", "dir/file", "tests2/file"}) admin_write(w + name, "original");
    // Not the same contents: whoever puts one of the above here has changed something.
    for (const char* name :
         {"ro/file", "ro/dir/file", "tests/test.py", "tests/dir/more.py", "instruction.md", "project/tests/test.py"})
      admin_write(w + name, "original " + std::string(name));
  }

  // What is made anew is the attacker's too: not ownership is to refuse it, but the policy.
  void as_admin(void (*act)(const FileScene&)) const {
    act(scene_);
    if (uid_ != 0) hand_over(scene_.root);
  }

  void hand_over(const std::string& root) const {
    const auto id = static_cast<uid_t>(uid_);
    must(lchown(root.c_str(), id, id), "chown");
    for (const auto& entry : fs::recursive_directory_iterator(root))
      must(lchown(entry.path().c_str(), id, id), "chown");
  }

  // Where the bytes of the secret lie on the disk, if it is one that can tell.
  Arguments disk_place() const {
    const std::string path = scene_("workspace/secret/token");
    struct stat info {};
    const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    int block = 0, size = 0;
    if (!fd || fstat(fd.get(), &info) != 0 || spec_.ground != Ground::disk) return {};
    if (fsync(fd.get()) != 0 || ioctl(fd.get(), FIGETBSZ, &size) != 0 || ioctl(fd.get(), FIBMAP, &block) != 0 ||
        block == 0)
      return {};
    return {{"disk_major", std::to_string(major(info.st_dev))},
            {"disk_minor", std::to_string(minor(info.st_dev))},
            {"disk_offset", std::to_string(static_cast<long>(block) * size)}};
  }

  static Snapshot snapshot(const FileScene& scene) {
    Snapshot all;
    for (const char* name : kKept) all[name] = state_of(scene(name), false);
    for (const char* name : kGuarded) add(scene, all, name);
    return all;
  }

  // Names may come and go while we look: whatever that does is a difference.
  static void add(const FileScene& scene, Snapshot& all, const std::string& name) {
    const std::string state = state_of(scene(name), true);
    if (state.empty()) return;
    all[name] = state;
    struct stat info {};
    if (lstat(scene(name).c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(scene(name), ignored))
      add(scene, all, name + "/" + entry.path().filename().string());
  }

  // What has changed that must not, or "".
  std::string harm_in(const FileScene& scene) const {
    const std::string found = difference(scene);
    if (!found.empty()) return found;
    return spec_.harmed && spec_.harmed(scene) ? "harmed" : "";
  }

  std::string difference(const FileScene& scene) const {
    const Snapshot now = snapshot(scene);
    for (const auto& [name, state] : before_)
      if (!now.contains(name)) return name + " is gone";
    for (const auto& [name, state] : now) {
      const auto it = before_.find(name);
      if (it == before_.end()) return name + " is new";
      if (it->second != state) return name + " changed";
    }
    return {};
  }

  void clean_up() const {
    if (spec_.inherited) close(kInheritance);
    std::istringstream table(read_file("/proc/self/mountinfo"));
    std::vector<std::string> points;
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields(line);
      std::string id, parent, device, root, point;
      fields >> id >> parent >> device >> root >> point;
      if (point.starts_with(scene_.base + "/")) points.push_back(point);
    }
    for (auto point = points.rbegin(); point != points.rend(); ++point) umount2(point->c_str(), MNT_DETACH);
    std::error_code ignored;
    fs::remove_all(scene_.base, ignored);
  }

  const FileSpec& spec_;
  int uid_;
  FileScene scene_;
  Snapshot before_;
  std::string details_;
};

}  // namespace

std::unique_ptr<VictimState> make_file_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::files) return std::make_unique<Files>(*scene.spec->files, scene);
  return nullptr;
}

}  // namespace attack::driver
