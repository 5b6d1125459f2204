// SPDX-License-Identifier: Apache-2.0
#include "agent/fs_view.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <functional>

#include "agent/in_child.h"
#include "agent/inodes.h"
#include "agent/mounts.h"
#include "agent/pins.h"
#include "agent/view_text.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kOpenAtOnce = 256;  // descriptors; the usual limit of a process is 1,024

std::string place(const policy::Location& where) {
  return where.line == 0 ? "" : where.file + ":" + std::to_string(where.line) + ":" + std::to_string(where.column) + ": ";
}

// Opens `path` as a process with this root sees it, symbolic links resolved against that root.
Fd open_in(const Fd& root, const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | flags;
  how.resolve = RESOLVE_IN_ROOT | resolve;
  const std::string relative = path == "/" ? "." : path;
  return Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), relative.c_str(), &how, sizeof how)));
}

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t at = 0, end = 0; at < path.size(); at = end + 1) {
    end = std::min(path.find('/', at), path.size());
    if (end > at) names.push_back(path.substr(at, end - at));
  }
  return names;
}

std::string join(const std::vector<std::string>& names, std::size_t count) {
  std::string path;
  for (std::size_t i = 0; i < count; i++) path += "/" + names[i];
  return path.empty() ? "/" : path;
}

class LookUp {
 public:
  LookUp(const Kernel& kernel, const Seat& seat, Doing doing) : kernel_(kernel), root_(seat.root), mountinfo_(seat.mountinfo), doing_(doing) {}

  Result<policy::FsView> all(const policy::Policy& policy) {
    const std::string real_root = target(root_);
    if (real_root != "/") prefix_ = real_root;  // a chroot: readlink shows its paths from the namespace's root
    for (const policy::RulePath& rule : policy::rule_paths(policy))
      if (auto r = add_rule(rule); !r) return tl::unexpected<Error>(r.error());
    add_mounts();
    if (auto r = resolve_inodes(); !r) return tl::unexpected<Error>(r.error());
    for (const policy::ExecRule& rule : policy.exec.rules)
      if (auto r = check_pinned(rule); !r) return fail(std::move(r.error()), place(rule.where) + rule.path);
    return view();
  }

 private:
  // A path without symbolic links, and how much of it exists.
  struct Found {
    std::vector<std::string> names;
    std::size_t existing = 0;
  };

  static std::string target(const Fd& fd) {
    std::array<char, PATH_MAX + 1> buffer{};
    const ssize_t n = ::readlink(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), buffer.data(), PATH_MAX);
    return n <= 0 ? "" : std::string(buffer.data(), static_cast<std::size_t>(n));
  }

  Fd open(const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
    doing_.note(path);
    return open_in(root_, path, flags, resolve);
  }

  // Follows what exists of the path; the rest keeps its names. Once for each path: many rules lie in one directory.
  Result<Found> follow(const std::string& path) {
    if (const auto known = followed_.find(path); known != followed_.end()) return known->second;
    auto found = follow_anew(path);
    if (found) followed_.emplace(path, *found);
    return found;
  }

  Result<Found> follow_anew(const std::string& path) {
    std::vector<std::string> names = names_of(path), missing;
    while (true) {
      Fd fd = open(join(names, names.size()), 0, 0);
      if (fd) {
        std::string real = target(fd);
        if (!prefix_.empty() && real.rfind(prefix_, 0) == 0) real = real.substr(prefix_.size());
        Found found{names_of(real), 0};
        found.existing = found.names.size();
        found.names.insert(found.names.end(), missing.rbegin(), missing.rend());
        return found;
      }
      // ENOTDIR: a file stands where the rule wants a directory; it may be replaced one day.
      if ((errno != ENOENT && errno != ENOTDIR) || names.empty())
        return fail("fs_view", path + " cannot be looked up: " + std::strerror(errno),
                    errno == ENOSYS ? "a seccomp filter refuses openat2(2): under systemd RestrictSUIDSGID= does" : "", errno);
      missing.push_back(names.back());
      names.pop_back();
    }
  }

  Result<void> add_rule(const policy::RulePath& rule) {
    auto found = follow(rule.path);
    if (!found) return fail(std::move(found.error()), place(rule.where) + "rule");
    add_path(rule.path, *found);
    // A link is also a name of its own: who may replace it decides where the rule's path leads.
    const std::size_t slash = rule.path.rfind('/');
    if (slash == std::string::npos || rule.path == "/") return {};
    auto parent = follow(slash == 0 ? "/" : rule.path.substr(0, slash));
    if (!parent) return fail(std::move(parent.error()), place(rule.where) + "rule");
    if (parent->existing < parent->names.size()) return {};
    parent->names.push_back(rule.path.substr(slash + 1));
    Fd link = open(join(parent->names, parent->names.size()), O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
    struct stat info {};
    if (!link || ::fstat(link.get(), &info) != 0 || !S_ISLNK(info.st_mode)) return {};
    parent->existing = parent->names.size();
    add_path(rule.path, *parent);
    return {};
  }

  void add_path(const std::string& rule, const Found& found) {
    rules_[rule].push_back(found);
    for (std::size_t i = 0; i <= found.existing; i++) inodes_[join(found.names, i)] = std::nullopt;
  }

  // Mounted roots, so that rules reach into what is mounted below them. The root of a bind mount is part of a larger
  // filesystem; where that is mounted as a whole, its own place decides.
  void add_mounts() {
    const std::vector<Mount> mounts = parse_mounts(mountinfo_);
    for (const Mount& m : mounts) {
      bool part_of_another = false;
      for (const Mount& other : mounts)
        part_of_another = part_of_another || (other.device == m.device && other.root != m.root &&
                                              (other.root == "/" || m.root.rfind(other.root + "/", 0) == 0));
      if (part_of_another) continue;
      const std::vector<std::string> names = names_of(m.point);
      mounts_.push_back(names);
      inodes_[join(names, names.size())] = std::nullopt;
    }
  }

  // Opens the paths a batch at a time and asks the kernel what they are. What vanished meanwhile stays without an inode.
  Result<void> resolve_inodes() {
    auto next = inodes_.begin();
    while (next != inodes_.end()) {
      std::vector<std::pair<Fd, decltype(next)>> batch;
      for (; next != inodes_.end() && batch.size() < kOpenAtOnce; ++next) {
        Fd fd = open(next->first, O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
        if (fd) batch.emplace_back(std::move(fd), next);
      }
      auto known = open_inodes(kernel_);
      if (!known) return tl::unexpected<Error>(known.error());
      for (auto& [fd, path] : batch)
        if (const auto found = known->find(fd.get()); found != known->end()) path->second = found->second;
    }
    return {};
  }

  // The file that was identified is the one whose contents count.
  Result<void> check_pinned(const policy::ExecRule& rule) {
    if (rule.sha256.empty()) return {};
    const Found& found = rules_.at(rule.path).front();
    const std::string path = join(found.names, found.names.size());
    const Fd file = open(path, O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
    if (!file || found.existing < found.names.size())
      return fail("unenforceable", "there is no such file to pin", "put the program there first");
    auto known = open_inodes(kernel_);
    if (!known) return tl::unexpected<Error>(known.error());
    const auto inode = known->find(file.get());
    if (inode == known->end() || inodes_.at(path) != inode->second)
      return fail("fs_view", "the file changed meanwhile", "try again");
    return check_pin(file, rule.sha256);
  }

  policy::FsPath path_of(const std::vector<std::string>& names, std::size_t existing) const {
    policy::FsPath path;
    for (std::size_t i = 0; i <= names.size(); i++) {
      policy::FsComponent component;
      if (i > 0) component.name = names[i - 1];
      if (i <= existing) component.inode = inodes_.at(join(names, i));
      path.push_back(component);
    }
    return path;
  }

  Result<policy::FsView> view() const {
    policy::FsView view;
    if (!inodes_.count("/") || !inodes_.at("/"))
      return fail("fs_view", "the sandbox's root directory cannot be identified", "");
    for (const auto& [rule, found] : rules_)
      for (const Found& f : found) {
        policy::FsPath path = path_of(f.names, f.existing);
        for (const policy::FsComponent& component : path)
          if (component.inode && component.inode->dev == 0)
            return fail("unknown_subvolume",
                        rule + " lies on btrfs, whose module was loaded after sbpf's programs: they cannot tell its subvolumes",
                        "end the sandboxes and run `sbpf unload`, then start again");
        view.paths[rule].push_back(std::move(path));
      }
    for (const auto& names : mounts_) {
      const auto& inode = inodes_.at(join(names, names.size()));
      if (!inode || inode->dev == 0) continue;  // gone, or not to be told from others: stays denied
      policy::FsPath path = path_of(names, 0);
      path.back().inode = inode;
      view.mounts.push_back(path);
    }
    return view;
  }

  const Kernel& kernel_;
  const Fd& root_;
  const std::string& mountinfo_;
  Doing doing_;
  std::string prefix_;
  std::map<std::string, Found> followed_;                             // by the path that was looked up
  std::map<std::string, std::vector<Found>> rules_;                   // by the rule's path
  std::vector<std::vector<std::string>> mounts_;                      // mount points
  std::map<std::string, std::optional<policy::FsInode>> inodes_;      // by path without links
};

std::filesystem::path mounts_of(const std::string& process, std::error_code& ec) {
  return std::filesystem::read_symlink("/proc/" + process + "/ns/mnt", ec);
}

// Where the first process of a cgroup comes from: the service manager's own mount namespace. Ours may be another one, in which
// a unit's settings hide or replace directories.
Result<Seat> seat_of_manager() {
  std::error_code ec;
  const auto own = mounts_of("thread-self", ec);
  return !ec && mounts_of("1", ec) == own && !ec ? own_seat() : seat_of_process(1);
}

// Where a sandbox's processes are. A process of our own mount namespace sees our paths, whatever directory it calls its
// root; so does one of the namespace that `run` made. The root of another runtime's process is what that made it.
Result<Seat> seat_of(const Kernel& kernel, const Cgroup& cgroup) {
  std::error_code ec;
  const auto own = mounts_of("thread-self", ec);
  const auto pids = cgroup.processes();
  const std::uint64_t id = cgroup.id();
  sbpf_sandbox record{};
  const bool made_by_run =
      bpf_map_lookup_elem(kernel.sandboxes(), &id, &record) == 0 && (record.flags & SBPF_SANDBOX_ATTACHED) == 0;
  if (!pids || pids->empty()) return made_by_run ? own_seat() : seat_of_manager();
  const pid_t pid = pids->front();
  if (mounts_of(std::to_string(pid), ec) == own || ec) return own_seat();
  return made_by_run ? seat_of_namespace(pid) : seat_of_process(pid);
}

Result<policy::Image> compile_from(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::function<Result<Seat>()>& find_seat, std::chrono::milliseconds patience = kLookUpPatience) {
  if (!policy::has_paths(policy)) return policy::compile(policy, generation, policy::FsView{});
  auto seat = find_seat();
  if (!seat) return tl::unexpected<Error>(seat.error());
  auto view = look_up(kernel, policy, *seat, patience);
  if (!view) return tl::unexpected<Error>(view.error());
  return policy::compile(policy, generation, *view);
}

}  // namespace

Result<policy::FsView> look_up(const Kernel& kernel, const policy::Policy& policy, const Seat& seat, std::chrono::milliseconds patience) {
  const auto work = [&](Doing doing) { return packed(LookUp(kernel, seat, doing).all(policy)); };
  const auto answer = in_child(patience, {seat.root.get(), kernel.asked(Asked::inodes)}, work);
  if (!answer) return tl::unexpected<Error>(answer.error());
  return unpacked(*answer);
}

Result<policy::Image> compile_for(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy,
                                  std::uint32_t generation, std::chrono::milliseconds patience) {
  return compile_from(kernel, policy, generation, [&] { return seat_of(kernel, cgroup); }, patience);
}

Result<policy::Image> compile_here(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation) {
  return compile_from(kernel, policy, generation, own_seat);
}

Result<policy::Image> compile_as_seen_by(pid_t pid, const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation) {
  return compile_from(kernel, policy, generation, [&] { return seat_of_process(pid); });
}

}  // namespace sbpf::agent
