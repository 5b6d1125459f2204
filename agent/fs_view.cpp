// SPDX-License-Identifier: Apache-2.0
#include "agent/fs_view.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <functional>

#include "agent/follow.h"
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

class LookUp {
 public:
  LookUp(const Kernel& kernel, const Seat& seat, Doing doing)
      : kernel_(kernel), mounts_(parse_mounts(seat.mountinfo)), asker_(seat.asker), paths_(seat.root, seat.asker, [doing](const std::string& path) mutable { doing.note(path); }) {}

  Result<policy::FsView> all(const policy::Policy& policy) {
    for (const policy::RulePath& rule : policy::rule_paths(policy))
      if (auto r = add_rule(rule); !r) return tl::unexpected<Error>(r.error());
    add_mounts();
    if (auto r = resolve_inodes(); !r) return tl::unexpected<Error>(r.error());
    for (const policy::ExecRule& rule : policy.exec.rules)
      if (auto r = check_pinned(rule); !r) return fail(std::move(r.error()), place(rule.where) + rule.path);
    return view();
  }

 private:
  Result<void> add_rule(const policy::RulePath& rule) {
    auto found = paths_.follow(rule.path);
    if (!found) return fail(std::move(found.error()), place(rule.where) + "rule");
    add_path(rule.path, *found);
    for (const Link& link : found->links)
      if (auto added = add_link(rule, link); !added) return added;
    return {};
  }

  // Who made it decided where the rule leads; and a link is also a name of its own: who may replace it decides it next time.
  Result<void> add_link(const policy::RulePath& rule, const Link& link) {
    const std::string path = join(link.names, link.names.size());
    if (link.owner != 0 && link.owner != asker_)
      return policy::planted_link(rule, path, link.target, "belongs to uid " + std::to_string(link.owner));
    if (!link.below.empty()) return policy::planted_link(rule, path, link.target, "lies below " + link.below + ", where others may rename");
    const Followed itself{link.names, link.names.size(), {}};
    if (link.last) add_path(rule.path, itself);
    add_inodes(itself);
    links_.push_back({rule.path, link, aliases(link.names)});
    for (const auto& names : links_.back().aliases) add_inodes({names, names.size(), {}});
    return {};
  }

  void add_path(const std::string& rule, const Followed& found) {
    rules_[rule].push_back(found);
    add_inodes(found);
  }

  void add_inodes(const Followed& found) {
    for (std::size_t i = 0; i <= found.existing; i++) inodes_[join(found.names, i)] = std::nullopt;
  }

  // The other paths of what lies there: its filesystem may be mounted, as a whole or in part, elsewhere too.
  std::vector<std::vector<std::string>> aliases(const std::vector<std::string>& names) const {
    const std::string path = join(names, names.size());
    const auto below = [](const std::string& all, const std::string& top) -> std::optional<std::string> {
      if (top == "/") return all == "/" ? "" : all;
      if (all != top && !all.starts_with(top + "/")) return std::nullopt;
      return all.substr(top.size());
    };
    const Mount* on = nullptr;
    for (const Mount& m : mounts_)
      if (below(path, m.point) && (!on || m.point.size() >= on->point.size())) on = &m;
    std::vector<std::vector<std::string>> others;
    if (!on) return others;
    const std::string in_filesystem = (on->root == "/" ? "" : on->root) + *below(path, on->point);
    for (const Mount& m : mounts_) {
      const auto rest = below(in_filesystem, m.root);
      if (&m != on && m.device == on->device && rest) others.push_back(names_of(m.point + *rest));
    }
    return others;
  }

  // Mounted roots, so that rules reach into what is mounted below them. The root of a bind mount is part of a larger
  // filesystem; where that is mounted as a whole, its own place decides.
  void add_mounts() {
    for (const Mount& m : mounts_) {
      bool part_of_another = false;
      for (const Mount& other : mounts_)
        part_of_another = part_of_another || (other.device == m.device && other.root != m.root &&
                                              (other.root == "/" || m.root.rfind(other.root + "/", 0) == 0));
      if (part_of_another) continue;
      const std::vector<std::string> names = names_of(m.point);
      mount_points_.push_back(names);
      inodes_[join(names, names.size())] = std::nullopt;
    }
  }

  // Opens the paths a batch at a time and asks the kernel what they are. What vanished meanwhile stays without an inode.
  Result<void> resolve_inodes() {
    auto next = inodes_.begin();
    while (next != inodes_.end()) {
      std::vector<std::pair<Fd, decltype(next)>> batch;
      for (; next != inodes_.end() && batch.size() < kOpenAtOnce; ++next) {
        Fd fd = paths_.open(next->first);
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
    const Followed& found = rules_.at(rule.path).front();
    const std::string path = join(found.names, found.names.size());
    const Fd file = paths_.open(path);
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
      for (const Followed& f : found) {
        policy::FsPath path = path_of(f.names, f.existing);
        for (const policy::FsComponent& component : path)
          if (component.inode && component.inode->dev == 0)
            return fail("unknown_subvolume",
                        rule + " lies on btrfs, whose module was loaded after sbpf's programs: they cannot tell its subvolumes",
                        "end the sandboxes and run `sbpf unload`, then start again");
        view.paths[rule].push_back(std::move(path));
      }
    for (const Seen& seen : links_) {
      const auto& names = seen.link.names;
      policy::FsLink link{seen.rule, path_of(names, names.size()), {}, seen.link.target};
      for (const auto& other : seen.aliases) link.aliases.push_back(path_of(other, other.size()));
      view.links.push_back(std::move(link));
    }
    for (const auto& names : mount_points_) {
      const auto& inode = inodes_.at(join(names, names.size()));
      if (!inode || inode->dev == 0) continue;  // gone, or not to be told from others: stays denied
      policy::FsPath path = path_of(names, 0);
      path.back().inode = inode;
      view.mounts.push_back(path);
    }
    return view;
  }

  struct Seen {
    std::string rule;
    Link link;
    std::vector<std::vector<std::string>> aliases;
  };

  const Kernel& kernel_;
  const std::vector<Mount> mounts_;
  const uid_t asker_;
  Follower paths_;
  std::map<std::string, std::vector<Followed>> rules_;                // by the rule's path
  std::vector<Seen> links_;
  std::vector<std::vector<std::string>> mount_points_;
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

// Where a sandbox's processes are. Paths are those of their mount namespace, whatever directory they call their root: that is theirs to
// change. The links of a user's run may be that user's.
Result<Seat> seat_of(const Kernel& kernel, const Cgroup& cgroup) {
  std::error_code ec;
  const auto own = mounts_of("thread-self", ec);
  const auto pids = cgroup.processes();
  const auto record = find_record(kernel, cgroup.id());
  const bool made_by_run = record && (record->flags & SBPF_SANDBOX_ATTACHED) == 0;
  if (!pids || pids->empty()) return made_by_run ? own_seat() : seat_of_manager();
  const pid_t pid = pids->front();
  auto seat = mounts_of(std::to_string(pid), ec) == own || ec ? own_seat() : seat_of_namespace(pid);
  if (const auto user = made_by_run ? user_of_run(record->name) : std::nullopt; seat && user) seat->asker = *user;
  return seat;
}

// A link that the sandbox could have made under the policy before.
Result<void> refuse_planted(const policy::Policy& policy, const policy::FsView& view, const policy::Image& before) {
  for (const policy::FsLink& link : view.links)
    if (policy::fs_rule_writes(before, policy::to_path(link.path)))
      return policy::planted_link(policy, link, "lies where the policy before let the sandbox write");
  return {};
}

Result<policy::Image> compile_from(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation,
                                   const std::function<Result<Seat>()>& find_seat, std::chrono::milliseconds patience = kLookUpPatience,
                                   const policy::Image* before = nullptr) {
  if (!policy::has_paths(policy)) return policy::compile(policy, generation, policy::FsView{});
  auto seat = find_seat();
  if (!seat) return tl::unexpected<Error>(seat.error());
  auto view = look_up(kernel, policy, *seat, patience);
  if (!view) return tl::unexpected<Error>(view.error());
  auto image = policy::compile(policy, generation, *view);
  if (image && before)
    if (auto none = refuse_planted(policy, *view, *before); !none) return tl::unexpected<Error>(none.error());
  return image;
}

}  // namespace

Result<policy::FsView> look_up(const Kernel& kernel, const policy::Policy& policy, const Seat& seat, std::chrono::milliseconds patience) {
  const auto work = [&](Doing doing) { return packed(LookUp(kernel, seat, doing).all(policy)); };
  const auto answer = in_child(patience, {seat.root.get(), kernel.asked(Asked::inodes)}, work);
  if (!answer) return tl::unexpected<Error>(answer.error());
  return unpacked(*answer);
}

Result<policy::Image> compile_for(const Kernel& kernel, const Cgroup& cgroup, const policy::Policy& policy,
                                  std::uint32_t generation, std::chrono::milliseconds patience, const policy::Image* before) {
  return compile_from(kernel, policy, generation, [&] { return seat_of(kernel, cgroup); }, patience, before);
}

Result<policy::Image> compile_here(const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation) {
  return compile_from(kernel, policy, generation, own_seat);
}

Result<policy::Image> compile_as_seen_by(pid_t pid, uid_t asker, const Kernel& kernel, const policy::Policy& policy, std::uint32_t generation) {
  const auto seat = [&] {
    auto found = seat_of_process(pid);
    if (found) found->asker = asker;
    return found;
  };
  return compile_from(kernel, policy, generation, seat);
}

}  // namespace sbpf::agent
