// SPDX-License-Identifier: Apache-2.0
#include "agent/files/fs_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <functional>
#include <set>

#include "agent/files/other_names.h"
#include "agent/files/path_walk.h"
#include "agent/files/private_places.h"
#include "agent/files/program_digests.h"
#include "agent/files/view_codec.h"
#include "agent/host/in_child.h"
#include "agent/host/mount_places.h"
#include "agent/kernel/inodes.h"
#include "base/mounts.h"

namespace sbpf::agent {
namespace {

constexpr std::size_t kOpenAtOnce = 256;  // descriptors; the usual limit of a process is 1,024

std::string place(const policy::Location& where) {
  return where.line == 0 ? "" : fmt::format("{}:{}:{}: ", where.file, where.line, where.column);
}

// Where the root's file system gives no answer, who waits gives this up, too.
uid_t asker_of(const MountView& mount_view, Doing doing) {
  struct stat info {};
  if (!mount_view.owner_asks) return mount_view.asker;
  doing.note("/");
  return ::fstat(mount_view.root.get(), &info) == 0 ? info.st_uid : mount_view.asker;
}

class LookUp {
 public:
  LookUp(const Kernel& kernel, const MountView& mount_view, Doing doing)
      : kernel_(kernel),
        mounts_(parse_mounts(mount_view.mountinfo)),
        asker_(asker_of(mount_view, doing)),
        left_by_others_(mount_view.left_by_others),
        made_by_run_(mount_view.made_by_run),
        note_([doing](const std::string& path) mutable { doing.note(path); }),
        paths_(mount_view.root, asker_, note_) {}

  Result<policy::FsView> all(const policy::Policy& policy, const OtherNames& others) {
    for (const policy::RulePath& rule : policy::rule_paths(policy))
      if (auto r = add_rule(rule); !r) return tl::unexpected<Error>(r.error());
    std::set<std::string> walked = own_places(policy);
    walked.insert(others.places.begin(), others.places.end());
    for (const std::string& place : walked)
      if (auto r = add_other_names(place, others.renamed); !r) return tl::unexpected<Error>(r.error());
    add_mounts();
    if (auto r = resolve_inodes(); !r) return tl::unexpected<Error>(r.error());
    for (const policy::FsRule& rule : policy.filesystem.rules)
      if (auto r = check_mounted_file(rule); !r) return fail(std::move(r.error()), place(rule.where) + rule.path);
    for (const policy::ExecRule& rule : policy.exec.rules)
      if (auto r = check_pinned(rule); !r) return fail(std::move(r.error()), place(rule.where) + rule.path);
    auto found = view();
    if (found)
      if (auto added = add_private_places(policy, *found); !added) return tl::unexpected<Error>(added.error());
    return found;
  }

 private:
  Result<void> add_rule(const policy::RulePath& rule) {
    auto found = paths_.follow(rule.path);
    if (!found) return fail(std::move(found.error()), fmt::format("{}rule", place(rule.where)));
    add_path(rule.path, *found);
    for (const Link& link : found->links)
      if (auto added = add_link(rule, link); !added) return added;
    return {};
  }

  // Who made it decided where the rule leads; and a link is also a name of its own: who may replace it decides it next
  // time.
  Result<void> add_link(const policy::RulePath& rule, const Link& link) {
    const std::string path = join(link.names, link.names.size());
    if (link.owner != 0 && link.owner != asker_)
      return policy::planted_link(rule, path, link.target, fmt::format("belongs to uid {}", link.owner));
    if (!link.below.empty())
      return policy::planted_link(rule, path, link.target,
                                  fmt::format("lies below {}, where others may rename", link.below));
    if (is_left_by_others(link))
      return policy::planted_link(rule, path, link.target, fmt::format("lies in {}", left_by_others_));
    const Followed itself{link.names, link.names.size(), {}};
    if (link.last) add_path(rule.path, itself);
    add_inodes(itself);
    links_.push_back({rule.path, link, aliases(link.names)});
    for (const auto& names : links_.back().aliases) add_inodes({names, names.size(), {}});
    return {};
  }

  bool is_left_by_others(const Link& link) const {
    if (left_by_others_.empty()) return false;
    std::vector<std::vector<std::string>> all = aliases(link.names);
    all.push_back(link.names);
    const auto lies_there = [&](const auto& names) {
      return path_below(join(names, names.size()), left_by_others_).has_value();
    };
    return std::ranges::any_of(all, lies_there);
  }

  std::set<std::string> own_places(const policy::Policy& policy) const {
    return policy::places_of_other_names(policy, [this](const std::string& path) {
      const Followed& found = rules_.at(path).front();
      std::vector<std::string> all{join(found.names, found.names.size())};
      for (const auto& names : aliases(found.names)) all.push_back(join(names, names.size()));
      return all;
    });
  }

  Result<void> add_other_names(const std::string& place, const std::set<std::uint64_t>& renamed) {
    auto at = paths_.follow(place);
    if (!at) return tl::unexpected<Error>(at.error());
    const Fd top = at->existing == at->names.size() ? paths_.open(join(at->names, at->names.size())) : Fd();
    if (!top) return {};  // there is nothing
    return each_file_with_other_names(top, at->names, renamed, note_, [this](const std::vector<std::string>& names) {
      linked_.push_back(names);
      inodes_[join(names, names.size())] = std::nullopt;
    });
  }

  void add_path(const std::string& rule, const Followed& found) {
    rules_[rule].push_back(found);
    add_inodes(found);
  }

  void add_inodes(const Followed& found) {
    for (std::size_t i = 0; i <= found.existing; i++) inodes_[join(found.names, i)] = std::nullopt;
  }

  // The other paths of what lies there.
  std::vector<std::vector<std::string>> aliases(const std::vector<std::string>& names) const {
    const std::string path = join(names, names.size());
    std::vector<std::vector<std::string>> others;
    if (const Mount* on = mount_of(mounts_, path))
      for (const OtherPlace& other : other_places(mounts_, *on, path)) others.push_back(names_of(other.path));
    return others;
  }

  // Mounted roots, so that rules reach into what is mounted below them. The root of a bind mount is part of a larger
  // filesystem; where that is mounted as a whole, its own place decides.
  void add_mounts() {
    for (const Mount& m : mounts_) {
      if (is_part_of_another(mounts_, m)) continue;
      whole_mounts_.push_back(&m);
      inodes_[at_point(m)] = std::nullopt;
    }
  }

  static std::string at_point(const Mount& mount) {
    const std::vector<std::string> names = names_of(mount.point);
    return join(names, names.size());
  }

  // Is it what its mount point leads to, and not hidden by another one?
  bool is_seen(const Mount& mount) const {
    const auto id = mount_ids_.find(at_point(mount));
    return id != mount_ids_.end() && id->second == mount.id;
  }

  // One that is hidden is a place of its root as well, where the root is seen elsewhere.
  void place_mounts(policy::FsView& view) const {
    std::map<std::pair<std::string, std::string>, policy::FsInode> roots;  // by device and directory of it
    for (const Mount* m : whole_mounts_)
      if (const auto& inode = inodes_.at(at_point(*m)); inode && inode->dev != 0 && is_seen(*m))
        roots.try_emplace({m->device, m->root}, *inode);
    for (const Mount* m : whole_mounts_) {
      const auto root = roots.find({m->device, m->root});
      if (root == roots.end()) continue;
      view.mounts.push_back(path_of(names_of(m->point), 0));
      view.mounts.back().back().inode = root->second;
    }
  }

  // The other places of directories that are mounted where the paths of rules, and those of links, lead through.
  void add_elsewhere(policy::FsView& view) const {
    std::set<std::string> ways;
    for (const auto& [rule, found] : rules_)
      for (const Followed& one : found)
        for (std::size_t i = 1; i <= one.existing; i++) ways.insert(join(one.names, i));
    for (const Seen& seen : links_)
      for (std::size_t i = 1; i <= seen.link.names.size(); i++) ways.insert(join(seen.link.names, i));
    for (const Mount& m : mounts_) {
      const std::string path = at_point(m);
      if (!ways.contains(path) || !is_seen(m) || !inodes_.at(path)) continue;
      for (const OtherPlace& other : other_places(mounts_, m, path)) {
        view.elsewhere.push_back({path_of(names_of(other.path), 0), names_of(other.point).size()});
        view.elsewhere.back().path.back().inode = inodes_.at(path);
      }
    }
  }

  // Opens the paths a batch at a time and asks the kernel what they are. What vanished meanwhile stays without an
  // inode.
  Result<void> resolve_inodes() {
    auto next = inodes_.begin();
    while (next != inodes_.end()) {
      std::vector<std::pair<Fd, decltype(next)>> batch;
      for (; next != inodes_.end() && batch.size() < kOpenAtOnce; ++next) {
        Fd fd = paths_.open(next->first);
        if (!fd) continue;
        struct statx info {};
        if (::statx(fd.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &info) == 0)
          mount_ids_[next->first] = info.stx_mnt_id;
        batch.emplace_back(std::move(fd), next);
      }
      auto known = open_inodes(kernel_);
      if (!known) return tl::unexpected<Error>(known.error());
      for (auto& [fd, path] : batch)
        if (const auto found = known->find(fd.get()); found != known->end()) path->second = found->second;
    }
    return {};
  }

  // A file of overlayfs or FUSE is known by its name alone (bpf/inode.h), which is that of its own place and not of
  // where it is mounted.
  Result<void> check_mounted_file(const policy::FsRule& rule) const {
    if (rule.access != policy::FsAccess::deny && rule.access != policy::FsAccess::protect) return {};
    for (const Followed& found : rules_.at(rule.path)) {
      const std::string path = join(found.names, found.names.size());
      const Mount* on = mount_of(mounts_, path);
      if (!on || on->point != path || (on->type != "overlay" && !on->type.starts_with("fuse"))) continue;
      const auto inode = inodes_.find(path);
      if (inode != inodes_.end() && inode->second && !inode->second->directory)
        return fail("unenforceable",
                    fmt::format("a file of {} is mounted there, which is known only where it lies itself", on->type),
                    "name the file where it lies, or mount the directory that it is in");
    }
    return {};
  }

  Result<void> add_private_places(const policy::Policy& policy, policy::FsView& view) {
    std::map<std::string, Fd> hidden;
    for (const std::string& rule : policy::private_places(policy)) {
      const std::vector<std::string>& names = rules_.at(rule).front().names;
      const std::string path = join(names, names.size());
      const auto is_own = [&](const Mount& m) { return is_private_place(m) && at_point(m) == path && is_seen(m); };
      // An audit makes none, and `run` would.
      if (made_by_run_ && policy.mode == policy::Mode::audit) view.private_places[rule] = {};
      if (std::ranges::none_of(mounts_, is_own)) continue;
      note_(rule);
      hidden[rule] = open_hidden(rule);
    }
    if (hidden.empty()) return {};
    auto known = open_inodes(kernel_);
    if (!known) return tl::unexpected<Error>(known.error());
    for (const auto& [rule, fd] : hidden) {
      const auto inode = known->find(fd.get());
      view.private_places[rule] = inode == known->end() ? std::nullopt : std::optional(inode->second);
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
    return check_digest(file, rule.sha256);
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
    if (!inodes_.contains("/") || !inodes_.at("/"))
      return fail("fs_view", "the sandbox's root directory cannot be identified", "");
    for (const auto& [rule, found] : rules_)
      for (const Followed& f : found) {
        policy::FsPath path = path_of(f.names, f.existing);
        for (const policy::FsComponent& component : path)
          if (component.inode && component.inode->dev == 0)
            return fail(
                "unknown_subvolume",
                fmt::format(
                    "{} lies on btrfs, whose module was loaded after sbpf's programs: they cannot tell its subvolumes",
                    rule),
                "end the sandboxes and run `sbpf unload`, then start again");
        view.paths[rule].push_back(std::move(path));
      }
    for (const Seen& seen : links_) {
      const auto& names = seen.link.names;
      policy::FsLink link{seen.rule, path_of(names, names.size()), {}, seen.link.target};
      for (const auto& other : seen.aliases) link.aliases.push_back(path_of(other, other.size()));
      view.links.push_back(std::move(link));
    }
    add_elsewhere(view);
    // What is gone, or not to be told from others, stays denied.
    place_mounts(view);
    for (const auto& names : linked_)
      if (auto path = path_to(names); path && !path->back().inode->directory) view.linked.push_back(std::move(*path));
    return view;
  }

  // Of which the last inode alone counts.
  std::optional<policy::FsPath> path_to(const std::vector<std::string>& names) const {
    const auto& inode = inodes_.at(join(names, names.size()));
    if (!inode || inode->dev == 0) return std::nullopt;
    policy::FsPath path = path_of(names, 0);
    path.back().inode = inode;
    return path;
  }

  struct Seen {
    std::string rule;
    Link link;
    std::vector<std::vector<std::string>> aliases;
  };

  const Kernel& kernel_;
  const std::vector<Mount> mounts_;
  const uid_t asker_;
  const std::string left_by_others_;
  const bool made_by_run_;
  const std::function<void(const std::string&)> note_;
  Follower paths_;
  std::map<std::string, std::vector<Followed>> rules_;  // by the rule's path
  std::vector<Seen> links_;
  std::vector<const Mount*> whole_mounts_;  // of mounts_
  std::vector<std::vector<std::string>> linked_;
  std::map<std::string, std::uint64_t> mount_ids_;                // of what was opened, by path without links
  std::map<std::string, std::optional<policy::FsInode>> inodes_;  // by path without links
};

}  // namespace

Result<policy::FsView> look_up(const Kernel& kernel, const policy::Policy& policy, const MountView& mount_view,
                               const OtherNames& others, std::chrono::milliseconds patience) {
  const auto work = [&](Doing doing) { return packed(LookUp(kernel, mount_view, doing).all(policy, others)); };
  const auto answer = in_child(patience, {mount_view.root.get(), kernel.query(Query::inodes)}, work);
  if (!answer) return tl::unexpected<Error>(answer.error());
  return unpacked(*answer);
}

}  // namespace sbpf::agent
