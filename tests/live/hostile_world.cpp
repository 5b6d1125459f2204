// SPDX-License-Identifier: Apache-2.0
#include "tests/live/hostile_world.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/fd.h"

namespace sbpf::live {
namespace {

constexpr std::size_t kFewest = 14, kMost = 50;
constexpr std::ptrdiff_t kDepth = 6;  // names below the top
constexpr const char* kNames[] = {"a", "b", "c", "d", "a-name-of-more-than-thirty-two-bytes"};

bool is_above(const Object* object, const Object* directory) {
  for (; directory != nullptr; directory = directory->directory)
    if (directory == object) return true;
  return false;
}

// Does the kernel refuse a directory by itself, before it asks?
bool wants_a_file(Kind kind) {
  return kind == Kind::write || kind == Kind::read_write || kind == Kind::append || kind == Kind::trunc ||
         kind == Kind::truncate || kind == Kind::run;
}

}  // namespace

void drop_dentries() {
  const Fd file(::open("/proc/sys/vm/drop_caches", O_WRONLY | O_CLOEXEC));
  must(::write(file.get(), "2", 1) == 1, "write", "drop_caches");
}

HostileWorld::HostileWorld(Ground ground, Random& random)
    : ground_(std::move(ground)), random_(random), tree_(std::make_unique<Tree>(ground_.base + "/t")) {
  const char* base = ground_.base.c_str();
  if (!ground_.lower.empty()) must(::mount(ground_.lower.c_str(), base, nullptr, MS_BIND, nullptr) == 0, "bind", base);
  std::filesystem::remove_all(tree_->top());
  must(::mkdir(tree_->top().c_str(), 0700) == 0, "mkdir", tree_->top());
  grow();
  if (ground_.lower.empty()) return;
  must(::umount(base) == 0, "umount", base);
  const std::string options =
      "lowerdir=" + ground_.lower + ",upperdir=" + ground_.upper + "/up,workdir=" + ground_.upper + "/work";
  must(::mount("overlay", base, "overlay", 0, options.c_str()) == 0, "mount an overlay", base);
}

HostileWorld::~HostileWorld() {
  const std::vector<Named> mounts = tree_->mounts();
  for (auto named = mounts.rbegin(); named != mounts.rend(); ++named) (void)::umount2(named->first.c_str(), MNT_DETACH);
  if (!ground_.lower.empty()) (void)::umount2(ground_.base.c_str(), MNT_DETACH);
}

std::vector<HostileWorld::Named> HostileWorld::all(const char* types) const {
  std::vector<Named> paths = tree_->paths();
  std::erase_if(paths, [&](const Named& named) { return std::strchr(types, named.second->type) == nullptr; });
  return paths;
}

std::string HostileWorld::pick(const char* types) {
  const std::vector<Named> some = all(types);
  return some.empty() ? tree_->top() : some[roll(some.size())].first;
}

std::string HostileWorld::pick_missing() {
  while (true) {
    const std::string path = pick("d") + "/" + kNames[roll(std::size(kNames))];
    if (std::count(path.begin() + static_cast<std::ptrdiff_t>(tree_->top().size()), path.end(), '/') > kDepth) continue;
    const auto place = tree_->find(path, false);
    if (place->object == nullptr) return path;
    if (roll(100) == 0 && place->object->type == 'f') return path;  // no room, perhaps
  }
}

std::string HostileWorld::pick_rule_path() {
  const std::size_t dice = roll(10);
  if (dice < 6) return pick("df");
  std::string missing = pick_missing();
  for (std::size_t i = dice; i < 9; i += 1 + roll(2)) missing += std::string("/") + kNames[roll(std::size(kNames))];
  return missing;
}

Rules HostileWorld::random_rules() {
  while (true) {
    Rules rules(random_policy(random_, tree_->top(), [this] { return pick_rule_path(); }), *tree_, ground_.identity);
    if (rules.plain()) return rules;
  }
}

void HostileWorld::use(const Rules& rules) { rules_ = std::make_unique<Rules>(rules); }

// The path, perhaps by way of a link to a directory above.
std::string HostileWorld::spell(const std::string& path) {
  if (roll(6) != 0) return path;
  for (const auto& [link, object] : all("l")) {
    const auto end = tree_->find(link, true);
    if (end && end->object && end->object->type == 'd' && fs_model::below(path, object->target) && roll(2) == 0) {
      std::string spelled = link + path.substr(object->target.size());
      if (spelled.size() < kPathRoom) return spelled;
    }
  }
  return path;
}

// Does the kernel ask for it, rather than refuse it by itself before?
bool HostileWorld::fits(const Op& op) const {
  const auto a = tree_->find(op.a, !changes(op.kind) && op.kind != Kind::readlink);
  if (!a || (a->object != nullptr && a->object->type == 'd' && wants_a_file(op.kind))) return false;
  if (!changes(op.kind)) return true;
  const bool makes = op.kind == Kind::creat || op.kind == Kind::mkdir || op.kind == Kind::symlink;
  if (makes) return a->object == nullptr;
  const auto entry = [](const Place& place) {
    return place.object == nullptr || place.directory == nullptr || place.object->type != 'd' ||
           place.object->directory != nullptr;
  };
  if (a->directory == nullptr || a->object == nullptr || !entry(*a)) return false;
  if (op.kind == Kind::rmdir || op.kind == Kind::unlink) return true;
  const auto b = tree_->find(op.b, false);
  if (!b || b->directory == nullptr || !entry(*b) || root_of(a->directory) != root_of(b->directory)) return false;
  if (op.kind == Kind::link) return b->object == nullptr;
  if (op.kind == Kind::exchange && b->object == nullptr) return false;
  return a->object != b->object && !is_above(a->object, b->directory) &&
         (b->object == nullptr || !is_above(b->object, a->directory));
}

// False: such a tree has none.
bool HostileWorld::pick_paths(Op& op, std::string& a, std::string& b) {
  switch (op.kind) {
    case Kind::list:
    case Kind::rmdir:
      a = pick("d");
      return true;
    case Kind::symlink:
      b = pick("df");
      [[fallthrough]];
    case Kind::creat:
    case Kind::mkdir:
      a = pick_missing();
      return true;
    case Kind::link:
      a = pick("fl");
      b = pick_missing();
      return true;
    case Kind::rename:
    case Kind::exchange:
      a = pick("dfl");
      b = op.kind == Kind::rename && roll(2) == 0 ? pick_missing() : pick("dfl");
      return true;
    case Kind::readlink:
      a = pick("l");
      return a != tree_->top();
    case Kind::stat:
      a = pick("dfl");
      return true;
    default:
      a = pick("fl");
      return a != tree_->top();
  }
}

Op HostileWorld::random_call() {
  while (true) {
    Op op{};
    op.kind = static_cast<Kind>(roll(kKinds));
    std::string a, b;
    if (!pick_paths(op, a, b)) continue;
    op = op_of(op.kind, spell(a), op.kind == Kind::symlink || b.empty() ? b : spell(b));
    if (fits(op)) return op;
  }
}

bool HostileWorld::carry_out(const Op& op) {
  if (!fits(op) || attempt(op) != 0) return false;
  tree_->apply(op);
  return true;
}

void HostileWorld::grow() {
  for (int i = 0; i < 400 && all("dfl").size() < kFewest + 10; i++) {
    const std::size_t dice = roll(10);
    const std::string target = pick("df");
    carry_out(dice < 5   ? op_of(Kind::mkdir, pick_missing())
              : dice < 9 ? op_of(Kind::creat, pick_missing())
                         : op_of(Kind::symlink, pick_missing(), target));
  }
}

bool HostileWorld::change() {
  const std::size_t size = all("dfl").size();
  if (size > kMost) return remove_tree();
  if (size < kFewest) {
    grow();
    return true;
  }
  switch (roll(12)) {
    case 0:
      return remove_tree();
    case 1:
      return replace_file();
    case 2:
    case 3:
      return make_what_rules_name();
    case 4:
      return mount_or_unmount();
    case 5:
      drop_dentries();
      return true;
    default:
      return random_change();
  }
}

bool HostileWorld::random_change() {
  constexpr Kind kKindsOfChange[] = {Kind::creat, Kind::mkdir,  Kind::rmdir,  Kind::unlink,  Kind::symlink,
                                     Kind::link,  Kind::rename, Kind::rename, Kind::exchange};
  Op op{};
  op.kind = kKindsOfChange[roll(std::size(kKindsOfChange))];
  if (op.kind == Kind::link && roll(3) != 0) return false;  // of what has several names less can be told
  std::string a, b;
  if (!pick_paths(op, a, b)) return false;
  return carry_out(op_of(op.kind, a, b));
}

// Removes a directory with all that is in it, and perhaps makes the same names anew.
bool HostileWorld::remove_tree() {
  const std::string top = pick("d");
  const auto keeps = [&top](const Named& named) { return named.first != top && !fs_model::below(named.first, top); };
  if (top == tree_->top() || !std::ranges::all_of(tree_->mounts(), keeps)) return false;
  std::vector<Named> gone = tree_->paths();
  std::erase_if(gone, keeps);
  for (auto named = gone.rbegin(); named != gone.rend(); ++named)
    must(carry_out(op_of(named->second->type == 'd' ? Kind::rmdir : Kind::unlink, named->first)), "remove",
         named->first);
  if (roll(2) == 0) return true;
  for (const auto& [path, object] : gone)
    if (object->type != 'l')
      must(carry_out(op_of(object->type == 'd' ? Kind::mkdir : Kind::creat, path)), "make anew", path);
  return true;
}

bool HostileWorld::replace_file() {
  const std::string path = pick("f"), fresh = fs_model::parent(path) + "/.fresh";
  if (path == tree_->top()) return false;
  return carry_out(op_of(Kind::creat, fresh)) && carry_out(op_of(Kind::rename, fresh, path));
}

bool HostileWorld::make_what_rules_name() {
  const std::set<std::string>& named = rules_->named();
  auto path = named.begin();
  std::advance(path, static_cast<std::ptrdiff_t>(roll(named.size())));
  const auto place = tree_->find(*path, false);
  return place && place->object == nullptr && carry_out(op_of(roll(2) == 0 ? Kind::mkdir : Kind::creat, *path));
}

bool HostileWorld::mount_or_unmount() {
  const std::vector<Named> mounted = tree_->mounts();
  if (mounted.size() > roll(3)) {
    const std::string path = mounted[roll(mounted.size())].first;
    must(::umount2(path.c_str(), MNT_DETACH) == 0, "umount", path);
    tree_->unmount(path);
    return true;
  }
  const std::string path = pick("d");
  if (path == tree_->top()) return false;
  must(::mount("hostile", path.c_str(), "tmpfs", 0, "size=1m") == 0, "mount", path);
  tree_->mount(path);
  for (const char* name : {"a", "b"})
    (void)carry_out(op_of(roll(2) == 0 ? Kind::mkdir : Kind::creat, path + "/" + name));
  return true;
}

Outcomes HostileWorld::move_while(const Op& op) {
  const auto before = tree_->find(op.a, op.kind != Kind::readlink);
  const Kind kind = roll(2) == 0 ? Kind::rename : Kind::exchange;
  last_move_ = op_of(kind, pick("d"), kind == Kind::rename ? pick_missing() : pick("d"));
  (void)carry_out(last_move_);
  Outcomes outcomes = rules_->outcomes(*tree_, op);
  return before ? either(outcomes, rules_->outcomes_at(op, *before)) : outcomes;
}

std::string HostileWorld::text() const {
  std::string text =
      std::string("last moved: ") + to_string(last_move_.kind) + " " + last_move_.a + " " + last_move_.b + "; ";
  if (rules_) text += text_of(rules_->policy());
  for (const auto& [path, object] : tree_->paths())
    text += std::string(" ") + object->type + path.substr(tree_->top().size()) +
            (object->type == 'l' ? ">" + object->target : "");
  return text;
}

}  // namespace sbpf::live
