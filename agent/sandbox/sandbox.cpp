// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>

#include "agent/host/bpf_info.h"
#include "agent/host/paths.h"
#include "agent/kernel/inner_maps.h"
#include "agent/sandbox/ended.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/journal.h"
#include "agent/sandbox/policy_text.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace fs = std::filesystem;
namespace {

// Filled here, then renamed: the pins of a sandbox are all there or not at all.
std::string building_dir(const std::string& name) { return std::string(kPinRoot) + "/building/" + name; }
constexpr const char* kNameRules = "/name_rules";

tl::unexpected<Error> publish_error(const char* what, int error) {
  return fail("publish_failed", std::string("cannot publish the policy: ") + what + ": " + std::strerror(error),
              error == ENOMEM ? "the kernel has no memory for a policy of this size" : "", error);
}

// A run that ends late finds its name with another sandbox, if someone took its own down meanwhile.
bool is_name_of_another(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name) {
  const auto first = std::ranges::find_if(all_hooks(), &Hook::per_sandbox);
  const Fd pin(bpf_obj_get(link_pin(name, *first).c_str()));
  const auto link = pin ? link_info(pin.get()) : Result<bpf_link_info>(fail("bpf_info", ""));
  if (link && link->cgroup.cgroup_id == cgroup_id) return false;  // the pins are its own
  bool whole = true;
  const auto all = records(kernel, &whole);
  // Where not all can be read, the pins know whose they are.
  if (!whole && link) return true;
  return std::ranges::any_of(all, [&](const sbpf_sandbox& record) { return name == record.name && record.cgroup_id != cgroup_id; });
}

std::uint32_t flags_of(const SandboxSpec& spec, const policy::Image& image) {
  const std::uint32_t policy = image.header().flags;
  std::uint32_t flags = spec.flags;
  if (spec.names != nullptr) flags |= SBPF_SANDBOX_NAMES;
  if ((policy & SBPF_POLICY_PATHS) != 0) flags |= SBPF_SANDBOX_FS;
  if ((policy & SBPF_POLICY_RECORD) != 0) flags |= SBPF_SANDBOX_FLOWS;
  return flags;
}

std::uint32_t record_flag(const policy::Image& image) {
  return (image.header().flags & SBPF_POLICY_RECORD) != 0 ? SBPF_REF_RECORD : 0;
}

Result<void> attach_links(const Kernel& kernel, const Cgroup& cgroup, std::uint32_t flags, std::vector<Fd>& links) {
  for (const Hook& hook : hooks_of(flags)) {
    if (!hook.per_sandbox()) continue;
    LIBBPF_OPTS(bpf_link_create_opts, options);
    Fd link(bpf_link_create(kernel.program(hook.id), cgroup.fd(),
                            static_cast<bpf_attach_type>(cgroup_attach_type(hook)), &options));
    if (!link) {
      const int error = errno;
      auto failure = fail("program_attach",
                          std::string("cannot attach hook ") + hook.name + " to " + cgroup.path() + ": " +
                              std::strerror(error),
                          error == EPERM ? "another program holds this cgroup exclusively (attached without MULTI)" : "",
                          error);
      failure.value().domain = domain_name(hook.domain);
      return failure;
    }
    links.push_back(std::move(link));
  }
  return {};
}

Result<void> pin_sandbox(const SandboxSpec& spec, std::uint32_t flags, const std::vector<Fd>& links) {
  const std::string building = building_dir(spec.name);
  std::error_code ec;
  fs::remove_all(building, ec);
  if (::mkdir(building.c_str(), 0700) != 0)
    return fail("pin", "cannot make " + building + ": " + std::strerror(errno), "", errno);
  const auto pin = [&](const Fd& object, const std::string& path) -> Result<void> {
    if (bpf_obj_pin(object.get(), path.c_str()) == 0) return {};
    const int error = errno;
    fs::remove_all(building, ec);
    return fail("pin", "cannot pin " + path + ": " + std::strerror(error), "", error);
  };
  std::size_t i = 0;
  for (const Hook& hook : hooks_of(flags))
    if (hook.per_sandbox())
      if (auto pinned = pin(links[i++], building + "/" + hook.name); !pinned) return pinned;
  if (spec.names != nullptr && spec.names->rules)
    if (auto pinned = pin(spec.names->rules, building + kNameRules); !pinned) return pinned;
  if (::rename(building.c_str(), pin_directory(spec.name).c_str()) != 0) {
    const int error = errno;
    fs::remove_all(building, ec);
    return fail("pin", "cannot rename " + building + ": " + std::strerror(error), "", error);
  }
  return {};
}

// At once: the removal of a pin only schedules it, and until then the cgroup's sockets are denied for want of a policy.
void detach_links(const std::string& dir) {
  std::error_code ec;
  for (const auto& pin : fs::directory_iterator(dir, ec))
    if (Fd link(bpf_obj_get(pin.path().c_str())); link) (void)bpf_link_detach(link.get());  // a map's pin is refused
}

// Does it in a thread, or at get() where there can be none. What changes a map of maps waits for a grace period: two that
// wait together share one.
template <typename Work>
auto beside(Work work) {
  return std::async([work] {
    (void)::unshare(CLONE_FS);  // or the caller could enter no mount namespace until this thread is gone
    return work();
  });
}

Result<void> make_record(const Kernel& kernel, const Cgroup& cgroup, const SandboxSpec& spec,
                         const policy::Image& image) {
  sbpf_sandbox record{};
  record.cgroup_id = cgroup.id();
  record.level = cgroup.level();
  record.flags = flags_of(spec, image);
  std::strncpy(record.name, spec.name.c_str(), sizeof record.name - 1);
  for (std::size_t i = 0; i < spec.stdio_inode.size(); i++) record.stdio_inode[i] = spec.stdio_inode[i];
  record.created_ns = boottime_ns();
  const std::uint64_t id = cgroup.id();
  if (bpf_map_update_elem(kernel.sandboxes(), &id, &record, BPF_NOEXIST) != 0)
    return fail("sandbox_setup", std::string("cannot make the sandbox record: ") + std::strerror(errno),
                errno == E2BIG ? "this host holds the most sandboxes it can" : "", errno);
  return {};
}

// All in one call each, or a start would be mostly these calls.
struct EntryList {
  std::vector<sbpf_rule_key> keys;
  std::vector<sbpf_rule> rules;
  std::uint32_t count;

  explicit EntryList(std::uint32_t size) : keys(size), rules(size), count(size) {}
};

Result<policy::Image> read_entries(int map) {
  auto info = map_info(map);
  if (!info) return tl::unexpected<Error>(info.error());
  EntryList list(info->max_entries);
  std::uint32_t next = 0;
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  // ENOENT: that was all of it.
  if (bpf_map_lookup_batch(map, nullptr, &next, list.keys.data(), list.rules.data(), &list.count, &options) != 0 &&
      errno != ENOENT)
    return fail("no_policy", std::string("the policy's map cannot be read: ") + std::strerror(errno), "", errno);
  policy::Image image;
  for (std::uint32_t i = 0; i < list.count; ++i) image.entries[list.keys[i]] = list.rules[i];
  return image;
}

Result<void> write_entries(int map, const policy::Image& image) {
  EntryList list(0);
  for (const auto& [key, rule] : image.entries) {
    list.keys.push_back(key);
    list.rules.push_back(rule);
  }
  list.count = static_cast<std::uint32_t>(list.keys.size());
  LIBBPF_OPTS(bpf_map_batch_opts, options);
  if (bpf_map_update_batch(map, list.keys.data(), list.rules.data(), &list.count, &options) != 0)
    return publish_error("entries", errno);
  return {};
}

bool same_entries(const policy::Image& a, const policy::Image& b) {
  return std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(), [](const auto& x, const auto& y) {
    return std::memcmp(&x.first, &y.first, sizeof x.first) == 0 && std::memcmp(&x.second, &y.second, sizeof x.second) == 0;
  });
}

// The hooks look for rules for paths only in sandboxes that are marked; the mark comes before the rules. A sandbox that
// is being set up has no record yet. (Events that are counted between the two calls are lost to the counters.)
Result<void> mark_filesystem(const Kernel& kernel, std::uint64_t cgroup_id) {
  sbpf_sandbox record{};
  if (bpf_map_lookup_elem(kernel.sandboxes(), &cgroup_id, &record) != 0) return {};
  if (record.flags & SBPF_SANDBOX_FS) return {};
  record.flags |= SBPF_SANDBOX_FS;
  if (bpf_map_update_elem(kernel.sandboxes(), &cgroup_id, &record, BPF_EXIST) != 0)
    return publish_error("record", errno);
  return {};
}

// The storage of a sandbox that is set up. Errors: "publish_failed".
Result<void> change_ref(const Kernel& kernel, std::uint64_t cgroup_id, const std::function<void(sbpf_cgroup_ref&)>& change) {
  auto ref = read_ref(kernel, cgroup_id);
  if (!ref) return fail("publish_failed", "the cgroup's storage does not name its sandbox");
  change(*ref);
  if (bpf_map_update_elem(kernel.cgroup_refs(), &cgroup_id, &*ref, BPF_EXIST) == 0) return {};
  return fail("publish_failed", std::string("cannot set the cgroup's storage: ") + std::strerror(errno), "", errno);
}

// What the hooks remember of files ends here.
void forget_verdicts(const Kernel& kernel) {
  __atomic_fetch_add(&kernel.globals().gate.epoch, 1, __ATOMIC_SEQ_CST);
}

Fd inner_map(int outer, std::uint64_t key) {
  const std::uint32_t id = inner_map_id(outer, key);
  return id == 0 ? Fd() : Fd(bpf_map_get_fd_by_id(id));
}

}  // namespace

std::uint64_t digest_of(const sbpf_policy_header& header) {
  std::uint64_t digest = 0;
  std::memcpy(&digest, header.image_sha256, sizeof digest);
  return digest;
}

Result<Fd> make_policy_map(const policy::Image& image) {
  Fd map(bpf_map_create(BPF_MAP_TYPE_HASH, "sbpf_policy", sizeof(sbpf_rule_key), sizeof(sbpf_rule),
                        static_cast<std::uint32_t>(image.entries.size()), nullptr));
  if (!map) return publish_error("map", errno);
  if (auto written = write_entries(map.get(), image); !written) return tl::unexpected<Error>(written.error());
  if (bpf_map_freeze(map.get()) != 0) return publish_error("freeze", errno);
  auto back = read_entries(map.get());
  if (!back || !same_entries(*back, image))
    return publish_error("the map read back differs from the image", EIO);
  return map;
}

Result<void> publish(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image) {
  const auto map = make_policy_map(image);
  if (!map) return tl::unexpected<Error>(map.error());
  if ((image.header().flags & SBPF_POLICY_PATHS) != 0)
    if (auto marked = mark_filesystem(kernel, cgroup_id); !marked) return marked;
  // Noted before the flip: whoever looks in between, or after a publisher that died there, finds what was meant to be in force.
  const sbpf_policy_header header = image.header();
  (void)change_ref(kernel, cgroup_id, [&](sbpf_cgroup_ref& ref) { ref.next = digest_of(header); });
  const int fd = map->get();
  if (bpf_map_update_elem(kernel.policies(), &cgroup_id, &fd, BPF_ANY) != 0) return publish_error("flip", errno);
  // No program uses the old policy any more: the update waited for them. Noted after the flip: who dies between the two leaves
  // a newer one in force than noted, which is sound. A storage that was tampered with is for the watch to put back.
  (void)change_ref(kernel, cgroup_id, [&](sbpf_cgroup_ref& ref) {
    ref.generation = std::max(ref.generation, header.generation);
    ref.digest = digest_of(header);
  });
  forget_verdicts(kernel);
  return {};
}

void forget_cgroup(const Kernel& kernel, std::uint64_t cgroup_id) {
  bpf_map_delete_elem(kernel.sandboxes(), &cgroup_id);
  // After the record, without which nobody makes it again.
  EventLog::remove(cgroup_id);
  drop_policy_text(cgroup_id);
  auto ring = beside([&kernel, cgroup_id] { return bpf_map_delete_elem(kernel.rings(), &cgroup_id); });
  for (const int map : {kernel.policies(), kernel.names(), kernel.told()}) bpf_map_delete_elem(map, &cgroup_id);
  ring.get();
}

std::optional<sbpf_cgroup_ref> read_ref(const Kernel& kernel, std::uint64_t cgroup_id) {
  sbpf_cgroup_ref ref{};
  if (bpf_map_lookup_elem(kernel.cgroup_refs(), &cgroup_id, &ref) != 0) return std::nullopt;
  errno = ENOENT;  // one of another sandbox is none
  if (ref.cgroup_id != cgroup_id) return std::nullopt;
  return ref;
}

bool is_published(const Kernel& kernel, std::uint64_t cgroup_id, const sbpf_cgroup_ref& before, const sbpf_policy_header& header) {
  const std::uint64_t digest = digest_of(header);
  if (header.generation >= before.generation &&
      (digest == before.digest || (digest == before.next && header.generation > before.generation)))
    return true;
  const auto now = read_ref(kernel, cgroup_id);
  return now && std::memcmp(&*now, &before, sizeof before) != 0;
}

std::uint32_t policy_map_id(const Kernel& kernel, std::uint64_t cgroup_id) { return inner_map_id(kernel.policies(), cgroup_id); }

Result<policy::Image> read_policy(const Kernel& kernel, std::uint64_t cgroup_id) {
  Fd map = inner_map(kernel.policies(), cgroup_id);
  if (!map && errno == ENOENT) map = inner_map(kernel.policies(), cgroup_id);  // replaced between the look-up and the opening
  if (!map) return fail("no_policy", "the sandbox has no policy in the kernel", "", errno);
  return read_entries(map.get());
}

Result<policy::Image> read_policy_map(int map) { return read_entries(map); }

policy::Image with_opened(const Kernel& kernel, std::uint64_t cgroup_id, policy::Image image) {
  const std::uint32_t names = image.header().names;
  const Fd map = names == 0 ? Fd() : open_names(kernel, cgroup_id);
  sbpf_rule_key key{}, next{};
  for (void* previous = nullptr; map && bpf_map_get_next_key(map.get(), previous, &next) == 0; previous = &key) {
    sbpf_opened opened{};
    if (bpf_map_lookup_elem(map.get(), &next, &opened) == 0 && (opened.names == names || opened.also == names))
      policy::add_rule(image, next, opened.rule);
    key = next;
  }
  return image;
}

Result<void> set_recording(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image) {
  return change_ref(kernel, cgroup_id, [&](sbpf_cgroup_ref& ref) { ref.flags = record_flag(image); });
}

Result<void> set_up(const Kernel& kernel, const Cgroup& cgroup, const SandboxSpec& spec, const policy::Image& image,
                    bool pinned, std::vector<Fd>& links) {
  const std::uint64_t id = cgroup.id();
  const std::uint32_t flags = flags_of(spec, image);
  std::optional<JournalEntry> changing(std::in_place, kernel, JournalEntry::set_up, id, spec.name);
  const auto steps = [&]() -> Result<void> {
    // From the first link on, sockets of the cgroup are denied everything until its storage names a policy.
    if (auto r = attach_links(kernel, cgroup, flags, links); !r) return r;
    sbpf_cgroup_ref ref{id, 0, 0, record_flag(image), image.header().generation, 0, digest_of(image.header()), 0};
    if (spec.names != nullptr) {
      const int opened = spec.names->opened.get();
      if (opened >= 0 && bpf_map_update_elem(kernel.names(), &id, &opened, BPF_ANY) != 0)
        return fail("sandbox_setup", std::string("cannot set the sandbox's map of names: ") + std::strerror(errno), "", errno);
      ref.dns4_be = htons(spec.names->port4);
      ref.dns6_be = htons(spec.names->port6);
    }
    auto ring = beside([&kernel, id] { return EventLog::begin(kernel, id); });
    auto published = publish(kernel, id, image);
    if (auto r = ring.get(); !r) return r;
    if (!published) return published;
    if (bpf_map_update_elem(kernel.cgroup_refs(), &id, &ref, BPF_ANY) != 0)
      return fail("sandbox_setup", std::string("cannot set the cgroup's storage: ") + std::strerror(errno), "", errno);
    if (auto r = make_record(kernel, cgroup, spec, image); !r) return r;
    if (pinned)
      if (auto r = pin_sandbox(spec, flags, links); !r) return r;
    // One more level at most: no need to ask for all sandboxes.
    if (flags & SBPF_SANDBOX_ATTACHED) __atomic_fetch_or(&kernel.globals().gate.other_levels, 1u << cgroup.level(), __ATOMIC_SEQ_CST);
    return {};
  };
  auto done = steps();
  if (!done) {
    links.clear();
    changing.reset();
    take_down(kernel, id, spec.name);
  }
  return done;
}

void take_down(const Kernel& kernel, std::uint64_t cgroup_id, const std::string& name) {
  const JournalEntry changing(kernel, JournalEntry::take_down, cgroup_id, name);
  const auto record = find_record(kernel, cgroup_id);
  if (record) (void)mark_ended(*record);
  std::error_code ec;
  if (!is_name_of_another(kernel, cgroup_id, name))
    for (const std::string& dir : {pin_directory(name), building_dir(name)}) {
      detach_links(dir);
      fs::remove_all(dir, ec);
    }
  forget_cgroup(kernel, cgroup_id);
  forget_verdicts(kernel);
  if (!record || (record->flags & SBPF_SANDBOX_ATTACHED) != 0) refresh_levels(kernel);
}

// The gate looks only at levels that carry a sandbox outside our own root.
void refresh_levels(const Kernel& kernel) {
  std::uint32_t levels = 0;
  bool whole = true;
  for (const sbpf_sandbox& record : records(kernel, &whole))
    if (record.flags & SBPF_SANDBOX_ATTACHED) levels |= 1u << record.level;
  if (!whole) levels |= kernel.globals().gate.other_levels;  // of those that could not be read
  __atomic_store_n(&kernel.globals().gate.other_levels, levels, __ATOMIC_SEQ_CST);
}

Fd open_name_rules(const std::string& name) { return Fd(bpf_obj_get((pin_directory(name) + kNameRules).c_str())); }

Fd open_names(const Kernel& kernel, std::uint64_t cgroup_id) { return inner_map(kernel.names(), cgroup_id); }

Fd open_ring(const Kernel& kernel, std::uint64_t cgroup_id) { return inner_map(kernel.rings(), cgroup_id); }

std::string pin_directory(const std::string& name) { return std::string(kPinRoot) + "/sandboxes/" + name; }

std::string link_pin(const std::string& name, const Hook& hook) { return pin_directory(name) + "/" + hook.name; }

void drop_unfinished() {
  std::error_code ec;
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(building_dir(""), ec)) left.push_back(entry.path());
  for (const std::string& directory : left) {
    detach_links(directory);
    fs::remove_all(directory, ec);
  }
}

}  // namespace sbpf::agent
