// SPDX-License-Identifier: Apache-2.0
// The records of all sandboxes, and the end of those that nobody owns.
#include <bpf/bpf.h>
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <random>
#include <set>

#include "agent/host/bpf_info.h"
#include "agent/host/cgroup.h"
#include "agent/host/paths.h"
#include "agent/host/resolver_cgroup.h"
#include "agent/sandbox/ended.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/sandbox.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace {

constexpr std::uint32_t kBatch = 64;
// Looked at when a sandbox starts: each start adds one, so what is left behind cannot add up.
constexpr std::size_t kLooks = 16;

// Is there a cgroup that this sandbox confines? One that sbpf made, of a run or of a program in one, has ended when it
// is empty.
Seen cgroup_of(const sbpf_sandbox& record, const std::string& mount, std::optional<Cgroup>& ended) {
  auto cgroup = Cgroup::open_by_id(record.cgroup_id, mount);
  if (!cgroup) return is_gone(cgroup.error()) ? Seen::absent : Seen::unknown;
  const bool attached = (record.flags & SBPF_SANDBOX_ATTACHED) != 0;
  if ((attached && !is_made_by_sbpf(cgroup->path(), mount)) || cgroup->populated()) return Seen::there;
  ended.emplace(std::move(*cgroup));
  return Seen::absent;
}

// Takes it down if it is proven that nobody owns it, nor brings it up; true if it did.
bool collect(const Kernel& kernel, const sbpf_sandbox& record, const std::string& mount) {
  std::optional<Cgroup> ended;
  if (cgroup_of(record, mount, ended) != Seen::absent || is_claimed(record.cgroup_id)) return false;
  (void)mark_ended(record);
  take_down(kernel, record.cgroup_id, record.name);
  if (ended) (void)remove_cgroup(ended->path());
  return true;
}

// Cgroups of ours that have no record: a supervisor died while it set them up or took them down.
void collect_orphans(const Kernel& kernel, const std::vector<sbpf_sandbox>& all, const std::string& root) {
  std::set<std::uint64_t> known;
  for (const sbpf_sandbox& record : all) known.insert(record.cgroup_id);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(root.c_str()), ::closedir);
  std::vector<std::string> orphans;
  // The number of a directory is the cgroup's id: those with a record need no further look.
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (entry->d_type != DT_DIR || name.starts_with('.') || known.contains(entry->d_ino)) continue;
    auto cgroup = Cgroup::open(root + "/" + name);
    if (!cgroup || cgroup->populated() || record_seen(kernel, cgroup->id()) != Seen::absent) continue;
    forget_cgroup(kernel, cgroup->id());
    orphans.push_back(cgroup->path());
  }
  for (const std::string& path : orphans) (void)remove_cgroup(path);
}

// The first hook that every sandbox has a link of.
Hook first_of_each() { return *std::ranges::find_if(all_hooks(), &Hook::per_sandbox); }

}  // namespace

std::vector<sbpf_sandbox> read_registry(const Kernel& kernel, bool* whole) {
  std::vector<sbpf_sandbox> all, some(kBatch);
  std::vector<std::uint64_t> keys(kBatch);
  all.reserve(SBPF_MAX_SANDBOXES);  // what is not filled takes no memory, and what is filled is not copied
  std::uint32_t from = 0, next = 0;
  int tries = 3;
  if (whole) *whole = true;
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  for (void* start = nullptr;; start = &from, from = next) {
    auto count = static_cast<std::uint32_t>(keys.size());
    const bool more =
        bpf_map_lookup_batch(kernel.sandboxes(), start, &next, keys.data(), some.data(), &count, &options) == 0;
    if (!more && errno == ENOSPC) {  // one bucket of the table holds more than there is room for: it is asked again
      keys.resize(keys.size() * 2);
      some.resize(keys.size());
      continue;
    }
    if (!more && errno != ENOENT) {
      if ((errno == EINTR || errno == EAGAIN || errno == ENOMEM) && tries-- > 0) {
        next = from;  // the same batch again
        continue;
      }
      if (whole) *whole = false;
      return all;
    }
    all.insert(all.end(), some.begin(), some.begin() + count);
    if (!more) return all;
  }
}

Seen record_seen(const Kernel& kernel, std::uint64_t cgroup_id) {
  sbpf_sandbox record{};
  return bpf_map_lookup_elem(kernel.sandboxes(), &cgroup_id, &record) == 0 ? Seen::there : seen_by_error(errno);
}

std::optional<sbpf_sandbox> find_record(const Kernel& kernel, std::uint64_t cgroup_id) {
  sbpf_sandbox record{};
  if (bpf_map_lookup_elem(kernel.sandboxes(), &cgroup_id, &record) != 0) return std::nullopt;
  return record;
}

Result<sbpf_sandbox> find_record(const Kernel& kernel, const std::string& name) {
  // Its pins know its cgroup, and its record its name: one look instead of one at every sandbox of the host.
  const Fd pin(bpf_obj_get(link_pin(name, first_of_each()).c_str()));
  if (auto link = pin ? link_info(pin.get()) : Result<bpf_link_info>(fail("bpf_info", ""));
      link && link->type == BPF_LINK_TYPE_CGROUP)
    if (auto record = find_record(kernel, link->cgroup.cgroup_id); record && name == record->name) return *record;
  bool whole = true;
  for (const sbpf_sandbox& record : read_registry(kernel, &whole))
    if (name == record.name) return record;
  if (!whole)
    return fail("cannot_tell", SystemError{errno, "memory or descriptors are short: try again"},
                "the sandboxes of this host cannot all be read");
  return fail("no_such_sandbox", fmt::format("no sandbox is named {}", name), "`sbpf list` shows them");
}

std::optional<uid_t> user_of_run(std::string_view name) {
  uid_t uid = 0;
  const char* const end = name.data() + name.size();
  if (!name.starts_with('u')) return std::nullopt;
  const auto [at, error] = std::from_chars(name.data() + 1, end, uid);
  return error == std::errc() && at != end && *at == '-' ? std::optional(uid) : std::nullopt;
}

std::string make_up_name(std::string_view kind) {
  std::random_device random;
  return fmt::format("{}-{}-{}", kind, ::getpid(), random() % 100000);
}

Result<void> check_new_name(const std::vector<sbpf_sandbox>& others, const std::string& name) {
  if (name.size() >= SBPF_NAME_LEN)
    return fail("bad_name", fmt::format("{} is too long for the name of a sandbox", name),
                fmt::format("choose a --name of at most {} bytes", SBPF_NAME_LEN - 1));
  // It becomes a directory of cgroup2 and of bpffs, which reserves dots.
  if (name.empty() || name.find_first_of("./") != std::string::npos)
    return fail("bad_name", fmt::format("'{}' cannot be the name of a sandbox", name),
                "choose a --name without a dot and a slash");
  if (name.starts_with('-'))
    return fail("bad_name", fmt::format("{} reads like an option", name), "choose a --name that does not begin with -");
  if (user_of_run(name))
    return fail("bad_name", fmt::format("{} is a name for a user's run", name),
                "names of the form uUID-NAME are what sbpfd gives; choose another --name");
  if (std::ranges::any_of(others, [&](const sbpf_sandbox& other) { return name == other.name; }))
    return fail("sandbox_exists", fmt::format("a sandbox named {} exists", name),
                fmt::format("choose another --name, or `sbpf kill {}`", name));
  return {};
}

Standing standing(const Kernel& kernel) {
  Standing found;
  bool whole = true;
  const auto all = read_registry(kernel, &whole);
  if (!whole) found.unclear = std::string("the records cannot all be read: ") + std::strerror(errno);
  const auto mount = cgroup2_mount();
  for (const sbpf_sandbox& record : all) {
    std::optional<Cgroup> ended;
    const Seen seen = mount ? cgroup_of(record, *mount, ended) : Seen::unknown;
    if (seen == Seen::absent) continue;
    found.sandboxes.push_back(record);
    if (seen == Seen::there || !found.unclear.empty()) continue;
    auto again = Cgroup::open_by_id(record.cgroup_id);
    found.unclear = again ? "" : again.error().message;
  }
  return found;
}

void collect_garbage(Kernel& kernel) {
  mend(kernel);
  const auto mount = cgroup2_mount();
  if (!mount) return;
  auto all = read_registry(kernel);
  std::erase_if(all, [&](const sbpf_sandbox& record) { return collect(kernel, record, *mount); });
  collect_orphans(kernel, all, fmt::format("{}/{}", *mount, kRootCgroupName));
  collect_resolver_cgroups();
}

void collect_orphans_in(const Kernel& kernel, const std::vector<sbpf_sandbox>& all, const Cgroup& above) {
  collect_orphans(kernel, all, above.path());
}

std::vector<sbpf_sandbox> collect_some_garbage(Kernel& kernel, const std::string& name) {
  mend(kernel);
  auto all = read_registry(kernel);
  const auto mount = cgroup2_mount();
  if (!mount) return all;
  const std::size_t n = all.size(), start = n == 0 ? 0 : boottime_ns() % n;
  const std::size_t looks = n + kLooks >= SBPF_MAX_SANDBOXES ? n : kLooks;
  std::size_t i = 0;
  std::erase_if(all, [&](const sbpf_sandbox& record) {
    const bool its_turn = (i++ + n - start) % n < looks;
    return (its_turn || name == record.name) && collect(kernel, record, *mount);
  });
  collect_orphans(kernel, all, fmt::format("{}/{}", *mount, kRootCgroupName));
  collect_resolver_cgroups();
  return all;
}

}  // namespace sbpf::agent
