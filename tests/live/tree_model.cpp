// SPDX-License-Identifier: Apache-2.0
#include "tests/live/tree_model.h"

#include <algorithm>
#include <utility>

#include "bpf/abi.h"

namespace sbpf::live {
namespace {

constexpr int kMostLinks = 40;  // as the kernel

// The directory as a walk sees it.
Object* entered(Object* object) {
  while (object != nullptr && object->mounted != nullptr) object = object->mounted;
  return object;
}

Place place_of(Object* directory) { return {directory->directory, directory->name, directory}; }

}  // namespace

const Object* root_of(const Object* directory) {
  while (directory->directory != nullptr) directory = directory->directory;
  return directory;
}

Tree::Tree(std::string top) : top_path_(std::move(top)), top_(fresh('d')) {}

Object* Tree::fresh(char type) {
  objects_.push_back(std::make_unique<Object>());
  objects_.back()->type = type;
  return objects_.back().get();
}

std::optional<Place> Tree::find(const std::string& path, bool follow, int links) const {
  if (path != top_path_ && !fs_model::below(path, top_path_)) return std::nullopt;
  Place place = place_of(top_);
  for (std::size_t at = top_path_.size(); at < path.size();) {
    Object* directory = entered(place.object);
    if (directory == nullptr || directory->type != 'd') return std::nullopt;
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string name = path.substr(at + 1, end - at - 1);
    const auto entry = directory->entries.find(name);
    place = {directory, name, entry == directory->entries.end() ? nullptr : entry->second};
    at = end;
    const bool is_link = place.object != nullptr && place.object->type == 'l';
    if (is_link && (at < path.size() || follow))
      return links == kMostLinks ? std::nullopt : find(place.object->target + path.substr(at), follow, links + 1);
  }
  place.object = entered(place.object);
  return place;
}

std::vector<std::pair<std::string, Object*>> Tree::paths() const {
  std::vector<std::pair<std::string, Object*>> all{{top_path_, entered(top_)}};
  for (std::size_t i = 0; i < all.size(); i++) {
    const auto [path, object] = all[i];
    for (const auto& [name, entry] : object->entries) all.emplace_back(path + "/" + name, entered(entry));
  }
  return all;
}

std::vector<std::pair<std::string, Object*>> Tree::mounts() const {
  auto roots = paths();
  std::erase_if(roots, [this](const auto& named) {
    return named.second->type != 'd' || named.second->directory != nullptr || named.first == top_path_;
  });
  return roots;
}

void Tree::put(const Place& place, Object* object) {
  place.directory->entries[place.name] = object;
  if (object->type != 'd') return;
  object->directory = place.directory;
  object->name = place.name;
}

void Tree::take(const Place& place) {
  place.directory->entries.erase(place.name);
  place.object->names--;
}

void Tree::apply(const Op& op) {
  const auto a = find(op.a, false), b = op.b[0] != 0 ? find(op.b, false) : std::nullopt;
  if (!a) return;
  switch (op.kind) {
    case Kind::creat:
      return put(*a, fresh('f'));
    case Kind::mkdir:
      return put(*a, fresh('d'));
    case Kind::symlink:
      put(*a, fresh('l'));
      find(op.a, false)->object->target = op.b;
      return;
    case Kind::rmdir:
    case Kind::unlink:
      return take(*a);
    case Kind::link:
      a->object->names++;
      return put(*b, a->object);
    case Kind::rename:
      if (b->object == a->object) return;  // two names of a file: the kernel does nothing
      if (b->object != nullptr) take(*b);
      a->directory->entries.erase(a->name);
      return put(*b, a->object);
    case Kind::exchange:
      put(*a, b->object);
      return put(*b, a->object);
    default:
      return;
  }
}

void Tree::mount(const std::string& directory) { find(directory, true)->object->mounted = fresh('d'); }

void Tree::unmount(const std::string& directory) {
  const Place place = *find(directory, false);
  Object* under = place.directory->entries.at(place.name);
  while (under->mounted->mounted != nullptr) under = under->mounted;
  under->mounted = nullptr;
}

Rules::Rules(policy::Policy policy, const Tree& tree, Identity identity)
    : policy_(std::move(policy)),
      identity_(identity),
      top_path_(tree.top()),
      top_(tree.find(top_path_, false)->object) {
  for (const policy::FsRule& rule : policy_.filesystem.rules) look_up(rule.path, tree);
  for (const policy::ExecRule& rule : policy_.exec.rules) look_up(rule.path, tree);
  look_up_mounts(tree);
  for (const auto& [path, object] : tree.paths())
    if (object->type != 'd' && object->names > 1) several_.insert(object);
  for (const auto& [object, known] : known_)
    if (several_.contains(object)) lowered_.insert(known.path);
}

void Rules::look_up(const std::string& path, const Tree& tree) {
  for (std::string at = path; at == tree.top() || fs_model::below(at, tree.top()); at = fs_model::parent(at)) {
    named_.insert(at);
    const auto place = tree.find(at, false);
    if (!place || place->object == nullptr) continue;
    const auto [one, added] = known_.try_emplace(place->object, Known{at});
    plain_ = plain_ && place->object->type != 'l' && one->second.path == at;
  }
}

// What is mounted has the rights of its place.
void Rules::look_up_mounts(const Tree& tree) {
  for (const auto& [path, object] : tree.mounts()) {
    if (known_.contains(object)) continue;
    std::string at = path;
    while (!named_.contains(at)) at = fs_model::parent(at);
    known_.emplace(object, Known{at, at == path});
  }
}

Rules::Verdict Rules::verdict(const std::string& path, bool exact) const {
  Verdict verdict{fs_model::judge(policy_, path), exact, false};
  if (!exact) verdict.movable = verdict.write;
  verdict.lowered = exact && lowered_.contains(path);
  return verdict;
}

// Down from what is known, by as many names as are followed.
Rules::Verdict Rules::below(const Known& known, const std::vector<std::string>& names) const {
  std::string at = known.path;
  std::size_t passed = 0;
  bool exact = known.exact;
  for (auto name = names.rbegin(); name != names.rend() && exact; ++name) {
    const auto next = named_.lower_bound(at + "/");
    if (passed == SBPF_FS_NAME_DEPTH) {
      const bool more = next != named_.end() && fs_model::below(*next, at);
      return more ? Verdict{} : verdict(at, false);
    }
    exact = named_.contains(at + "/" + *name);
    if (exact) at += "/" + *name;
    passed++;
  }
  return verdict(at, exact);
}

Identity Rules::identity_of(const Place& place) const {
  const bool is_directory = place.object != nullptr && place.object->type == 'd';
  return root_of(is_directory ? place.object : place.directory) == top_ ? identity_ : Identity{};
}

std::vector<Rules::Verdict> Rules::judge(const Place& place) const {
  const Identity identity = identity_of(place);
  std::vector<Verdict> all;
  std::vector<std::string> names;  // on the way up
  Object* at = place.object;
  if (at != nullptr && at->type != 'd' && identity.files && known_.contains(at)) return {below(known_.at(at), {})};
  if (at == nullptr || at->type != 'd') {
    names.push_back(place.name);
    at = place.directory;
  }
  for (; at != nullptr; at = at->directory) {
    const auto known = known_.find(at);
    if (known != known_.end()) all.push_back(below(known->second, names));
    if (known != known_.end() && identity.lasting) return all;
    names.push_back(at == top_ ? top_path_.substr(top_path_.rfind('/') + 1) : at->name);
  }
  if (!identity.lasting)
    all.push_back(below({fs_model::parent(top_path_), true}, names));  // down from what it is mounted on
  if (all.empty()) all.push_back({});  // nothing is known up to the root of the filesystem
  return all;
}

void Rules::ask(Outcomes& outcomes, const Place& place, Need need) const {
  bool passes = false, fails = false;
  for (const Verdict& verdict : judge(place)) {
    const bool yes = need == Need::read    ? verdict.read
                     : need == Need::write ? verdict.write
                     : need == Need::move  ? verdict.movable
                     : need == Need::run   ? verdict.read && verdict.exec
                                           : !verdict.exact;
    (yes ? passes : fails) = true;
    if (verdict.lowered) passes = fails = true;
  }
  if (several_.contains(place.object) && identity_of(place).files) passes = fails = true;
  outcomes.allowed = outcomes.allowed && passes;
  outcomes.denied = outcomes.denied || fails;
}

// Both names of a link, a rename or an exchange.
void Rules::ask_change(Outcomes& outcomes, const Op& op, const Place& a, const Place& b) const {
  const auto is_link = [](const Place& place) { return place.object != nullptr && place.object->type == 'l'; };
  ask(outcomes, a, op.kind == Kind::link ? Need::write : Need::move);
  ask(outcomes, b, Need::move);
  if (op.kind != Kind::link) ask(outcomes, place_of(a.directory), Need::write);
  if (is_link(a)) ask(outcomes, b, Need::no_rule);
  if (op.kind == Kind::exchange && is_link(b)) ask(outcomes, a, Need::no_rule);
}

Outcomes Rules::outcomes_at(const Op& op, const Place& place) const {
  Outcomes outcomes{false, true};
  if (place.object == nullptr || op.kind == Kind::stat) return outcomes;
  const bool reads =
      op.kind == Kind::read || op.kind == Kind::list || op.kind == Kind::getxattr || op.kind == Kind::readlink;
  ask(outcomes, place, op.kind == Kind::run ? Need::run : reads ? Need::read : Need::write);
  return outcomes;
}

Outcomes Rules::outcomes(const Tree& tree, const Op& op) const {
  Outcomes outcomes{false, true};
  const auto here = tree.find(op.a, !changes(op.kind) && op.kind != Kind::readlink);
  if (!here) return outcomes;
  switch (op.kind) {
    case Kind::rmdir:
    case Kind::unlink:
      ask(outcomes, place_of(here->directory), Need::write);
      ask(outcomes, *here, Need::move);
      return outcomes;
    case Kind::symlink:
      ask(outcomes, *here, Need::no_rule);
      [[fallthrough]];
    case Kind::creat:
    case Kind::mkdir:
      ask(outcomes, *here, Need::write);
      return outcomes;
    case Kind::link:
    case Kind::rename:
    case Kind::exchange:
      if (const auto b = tree.find(op.b, false)) ask_change(outcomes, op, *here, *b);
      return outcomes;
    default:
      return outcomes_at(op, *here);
  }
}

}  // namespace sbpf::live
