// SPDX-License-Identifier: Apache-2.0
#include "tests/live/fs_world.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "tests/decide/fs_model.h"

namespace sbpf::live {
namespace {

constexpr std::size_t kEntries = 28, kDepth = 5;
constexpr const char* kNames[] = {"a", "b", "c", "d", "e", "a-name-of-more-than-thirty-two-bytes-in-all"};

int opened(const char* path, int flags) {
  const Fd fd(::open(path, flags | O_CLOEXEC, 0600));
  return fd ? 0 : errno;
}

int mapped(const char* path) {
  const Fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return errno;
  void* memory = ::mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  if (memory == MAP_FAILED) return errno;
  ::munmap(memory, 1);
  return 0;
}

int result(long value) { return value < 0 ? errno : 0; }

void copy(char (&to)[kPathRoom], const std::string& from) {
  must(from.size() < kPathRoom, "too long", from);
  std::memcpy(to, from.c_str(), from.size() + 1);
}

}  // namespace

void must(bool done, const char* what, const std::string& path) {
  if (done) return;
  std::printf("not ok world: %s %s: %s\n", what, path.c_str(), std::strerror(errno));
  std::fflush(stdout);
  std::_Exit(1);
}

Op op_of(Kind kind, const std::string& a, const std::string& b) {
  Op op{};
  op.kind = kind;
  copy(op.a, a);
  copy(op.b, b);
  return op;
}

const char* to_string(Kind kind) {
  constexpr const char* kTexts[kKinds] = {
      "open-read", "open-write", "open-read-write", "open-append", "open-trunc", "create",   "list",     "mkdir",
      "rmdir",     "unlink",     "symlink",         "link",        "rename",     "exchange", "truncate", "chmod",
      "utimes",    "readlink",   "setxattr",        "getxattr",    "run",        "stat"};
  return kTexts[static_cast<std::size_t>(kind)];
}

bool changes(Kind kind) {
  switch (kind) {
    case Kind::creat:
    case Kind::mkdir:
    case Kind::rmdir:
    case Kind::unlink:
    case Kind::symlink:
    case Kind::link:
    case Kind::rename:
    case Kind::exchange:
      return true;
    default:
      return false;
  }
}

int attempt(const Op& op) {
  char byte = 0;
  struct stat info {};
  switch (op.kind) {
    case Kind::read:
      return opened(op.a, O_RDONLY);
    case Kind::write:
      return opened(op.a, O_WRONLY);
    case Kind::read_write:
      return opened(op.a, O_RDWR);
    case Kind::append:
      return opened(op.a, O_WRONLY | O_APPEND);
    case Kind::trunc:
      return opened(op.a, O_RDONLY | O_TRUNC);
    case Kind::creat:
      return opened(op.a, O_RDONLY | O_CREAT | O_EXCL);
    case Kind::list:
      return opened(op.a, O_RDONLY | O_DIRECTORY);
    case Kind::mkdir:
      return result(::mkdir(op.a, 0700));
    case Kind::rmdir:
      return result(::rmdir(op.a));
    case Kind::unlink:
      return result(::unlink(op.a));
    case Kind::symlink:
      return result(::symlink(op.b[0] != 0 ? op.b : "nowhere", op.a));
    case Kind::link:
      return result(::link(op.a, op.b));
    case Kind::rename:
      return result(::rename(op.a, op.b));
    case Kind::exchange:
      return result(::renameat2(AT_FDCWD, op.a, AT_FDCWD, op.b, RENAME_EXCHANGE));
    case Kind::truncate:
      return result(::truncate(op.a, 0));
    case Kind::chmod:
      return result(::chmod(op.a, 0700));
    case Kind::utimes:
      return result(::utimensat(AT_FDCWD, op.a, nullptr, 0));
    case Kind::readlink:
      return result(::readlink(op.a, &byte, 1));
    case Kind::setxattr:
      return result(::setxattr(op.a, "user.sbpf", "x", 1, 0));
    case Kind::getxattr:
      return result(::getxattr(op.a, "user.sbpf", &byte, 1));
    case Kind::run:
      return mapped(op.a);
    case Kind::stat:
      return result(::stat(op.a, &info));
    case Kind::count:
      break;
  }
  return EINVAL;
}

World::World(std::string base, Random& random) : random_(random), base_(std::move(base)), top_(base_ + "/t") {
  std::error_code ec;
  std::filesystem::remove_all(base_, ec);
  std::filesystem::create_directories(base_ + "/backup", ec);
  add(top_, 'd');
  // Directories first, or there may be no room in the few that there are.
  while (entries_.size() < kEntries) {
    const std::string path = pick_missing();
    const std::size_t dice = entries_.size() < kEntries / 3 ? 0 : roll(10);
    if (std::count(path.begin(), path.end(), '/') > static_cast<std::ptrdiff_t>(kDepth + 3)) continue;
    add(path, dice < 5 ? 'd' : dice < 9 ? 'f' : 'l');
  }
}

void World::add(const std::string& path, char type) {
  if (type == 'd') must(::mkdir(path.c_str(), 0700) == 0, "mkdir", path);
  if (type == 'f') must(opened(path.c_str(), O_WRONLY | O_CREAT | O_EXCL) == 0, "create", path);
  if (type == 'l') {
    link_targets_[path] = pick("df");
    must(::symlink(link_targets_[path].c_str(), path.c_str()) == 0, "symlink", path);
  }
  entries_[path] = type;
  if (type == 'f') back_up(path);
}

// Another name of the file, outside of the tree: what is unlinked comes back as the same inode.
void World::back_up(const std::string& path) {
  backups_[path] = base_ + "/backup/" + std::to_string(n_backups_++);
  must(::link(path.c_str(), backups_[path].c_str()) == 0, "link", path);
}

void World::put_back(const std::string& path) {
  const char type = entries_.at(path);
  if (type == 'd') must(::mkdir(path.c_str(), 0700) == 0, "mkdir", path);
  if (type == 'f') must(::link(backups_.at(path).c_str(), path.c_str()) == 0, "link", path);
  if (type == 'l') must(::symlink(link_targets_.at(path).c_str(), path.c_str()) == 0, "symlink", path);
}

// 0: nothing there.
char World::type_of(const std::string& path) const {
  const auto entry = entries_.find(path);
  return entry == entries_.end() ? '\0' : entry->second;
}

std::string World::pick(const char* types) {
  while (true) {
    auto entry = entries_.begin();
    std::advance(entry, static_cast<std::ptrdiff_t>(roll(entries_.size())));
    if (std::strchr(types, entry->second) != nullptr) return entry->first;
    // A tree may be without links; then its root stands in, for which every operation is defined.
    if (roll(200) == 0) return top_;
  }
}

std::string World::pick_missing() {
  while (true) {
    std::string path = pick("d") + "/" + kNames[roll(std::size(kNames))];
    if (!entries_.contains(path)) return path;
  }
}

std::string World::pick_rule_path() {
  const std::size_t dice = roll(10);
  if (dice < 6) return pick("df");
  const std::string missing = pick_missing();
  return dice < 8 ? missing : missing + "/" + kNames[roll(std::size(kNames))];
}

policy::Policy World::random_policy() {
  return live::random_policy(random_, top_, [this] { return pick_rule_path(); });
}

void World::meddle(const policy::Policy& policy) {
  for (const policy::FsRule& rule : policy.filesystem.rules) {
    const std::string parent = fs_model::parent(rule.path);
    if (entries_.contains(rule.path) || roll(2) == 0) continue;
    if (!entries_.contains(parent)) {
      if (type_of(fs_model::parent(parent)) != 'd') continue;
      add(parent, 'd');
      appeared_.push_back(parent);
    }
    if (type_of(parent) != 'd') continue;
    add(rule.path, roll(2) == 0 ? 'd' : 'f');
    appeared_.push_back(rule.path);
  }
  for (int i = 0; i < 2; i++) {
    const std::string path = pick("f"), fresh = base_ + "/fresh";
    if (type_of(path) != 'f') continue;
    must(opened(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL) == 0, "create", fresh);
    must(::rename(fresh.c_str(), path.c_str()) == 0, "rename", path);
    back_up(path);
  }
}

void World::settle() {
  for (auto path = appeared_.rbegin(); path != appeared_.rend(); ++path) {
    must(std::remove(path->c_str()) == 0, "remove", *path);
    entries_.erase(*path);
  }
  appeared_.clear();
}

// What the model says of the operation: a change of an entry is judged where it lies, anything else where links lead.
bool World::denies(const policy::Policy& policy, const Op& op) const {
  const policy::Filesystem& rules = policy.filesystem;
  const auto link = link_targets_.find(op.a);
  const bool is_link = link != link_targets_.end() && entries_.contains(op.a);
  const auto here = fs_model::judge(rules, op.a);
  const auto there = is_link ? fs_model::judge(rules, link->second) : here;
  switch (op.kind) {
    case Kind::read:
    case Kind::list:
    case Kind::getxattr:
      return !there.read;
    case Kind::run:
      return !there.read || !fs_model::judge(policy, is_link ? link->second : op.a).exec;
    case Kind::readlink:
      return !here.read;
    case Kind::write:
    case Kind::read_write:
    case Kind::append:
    case Kind::trunc:
    case Kind::truncate:
    case Kind::chmod:
    case Kind::utimes:
    case Kind::setxattr:
      return !there.write;
    case Kind::creat:
    case Kind::mkdir:
      return !here.write;
    case Kind::rmdir:
    case Kind::unlink:
      return !here.movable || !fs_model::judge(rules, fs_model::parent(op.a)).write;
    case Kind::symlink:
      return !here.write || fs_model::is_on_a_path(policy, op.a);
    case Kind::link:
      return !here.write || !fs_model::judge(rules, op.b).movable || (is_link && fs_model::is_on_a_path(policy, op.b));
    case Kind::exchange:
      if (type_of(op.b) == 'l' && fs_model::is_on_a_path(policy, op.a)) return true;
      [[fallthrough]];
    case Kind::rename:
      return !here.movable || !fs_model::judge(rules, fs_model::parent(op.a)).write ||
             !fs_model::judge(rules, op.b).movable || (is_link && fs_model::is_on_a_path(policy, op.b));
    case Kind::stat:
    case Kind::count:
      break;
  }
  return false;
}

Op World::random_op(const policy::Policy& policy) {
  while (true) {
    Op op{};
    op.kind = static_cast<Kind>(roll(kKinds));
    std::string a, b;
    switch (op.kind) {
      case Kind::list:
      case Kind::rmdir:
        a = pick("d");
        break;
      case Kind::creat:
      case Kind::mkdir:
      case Kind::symlink:
        a = pick_missing();
        break;
      case Kind::unlink:
        a = pick("fl");
        break;
      case Kind::readlink:
        a = pick("l");
        break;
      case Kind::link:
        a = pick("f");
        b = pick_missing();
        break;
      case Kind::rename:
        a = pick("dfl");
        b = roll(2) == 0 ? pick_missing() : pick("dfl");
        break;
      case Kind::exchange:
        a = pick("dfl");
        b = pick("dfl");
        break;
      case Kind::stat:
        a = pick("dfl");
        break;
      default:
        a = pick("fl");
        break;
    }
    const char type = type_of(a);
    const bool top_only = a == top_ && op.kind != Kind::list && op.kind != Kind::stat;
    const bool opens = op.kind < Kind::creat || op.kind == Kind::truncate || op.kind == Kind::run;
    const bool to_directory = type == 'l' && type_of(link_targets_.at(a)) == 'd' && opens;
    // The kernel refuses these by itself, before or after it asks.
    if (top_only || to_directory || a == b || b == top_ ||
        (!b.empty() && (fs_model::below(a, b) || fs_model::below(b, a))))
      continue;
    op = op_of(op.kind, a, b);
    op.denied = denies(policy, op);
    return op;
  }
}

void World::undo(const Op& op) {
  switch (op.kind) {
    case Kind::creat:
    case Kind::mkdir:
    case Kind::symlink:
      return must(std::remove(op.a) == 0, "remove", op.a);
    case Kind::rmdir:
    case Kind::unlink:
      return put_back(op.a);
    case Kind::link:
      return must(::unlink(op.b) == 0, "unlink", op.b);
    case Kind::rename:
      must(::rename(op.b, op.a) == 0, "rename back", op.b);
      if (entries_.contains(op.b)) put_back(op.b);
      return;
    case Kind::exchange:
      return must(attempt(op) == 0, "exchange back", op.a);
    default:
      return;
  }
}

}  // namespace sbpf::live
