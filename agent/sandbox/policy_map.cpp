// SPDX-License-Identifier: Apache-2.0
// A sandbox's policy in the kernel: written, put in force, read back.
#include <bpf/bpf.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>

#include "agent/host/bpf_info.h"
#include "agent/kernel/inner_maps.h"
#include "agent/kernel/map_entries.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {

tl::unexpected<Error> publish_error(const char* what, int error) {
  return fail("publish_failed",
              SystemError{error, error == ENOMEM ? "the kernel has no memory for a policy of this size" : ""},
              "cannot publish the policy: {}", what);
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
    return fail("no_policy", SystemError{errno}, "the policy's map cannot be read");
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
  return std::equal(a.entries.begin(), a.entries.end(), b.entries.begin(), b.entries.end(),
                    [](const auto& x, const auto& y) {
                      return std::memcmp(&x.first, &y.first, sizeof x.first) == 0 &&
                             std::memcmp(&x.second, &y.second, sizeof x.second) == 0;
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
Result<void> change_ref(const Kernel& kernel, std::uint64_t cgroup_id,
                        const std::function<void(sbpf_cgroup_ref&)>& change) {
  auto ref = read_ref(kernel, cgroup_id);
  if (!ref) return fail("publish_failed", "the cgroup's storage does not name its sandbox");
  change(*ref);
  if (bpf_map_update_elem(kernel.cgroup_refs(), &cgroup_id, &*ref, BPF_EXIST) == 0) return {};
  return fail("publish_failed", SystemError{errno}, "cannot set the cgroup's storage");
}

}  // namespace

std::uint32_t ref_flags(const policy::Image& image, bool own_netns) {
  return ((image.header().flags & SBPF_POLICY_RECORD) != 0 ? SBPF_REF_RECORD : 0) |
         (own_netns ? SBPF_REF_OWN_NETNS : 0);
}

void forget_verdicts(const Kernel& kernel) { __atomic_fetch_add(&kernel.globals().gate.epoch, 1, __ATOMIC_SEQ_CST); }

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
  if (!back) return publish_error("the map cannot be read back", back.error().sys_errno);
  if (!same_entries(*back, image)) return publish_error("the map read back differs from the image", EIO);
  return map;
}

Result<void> publish(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image) {
  const auto map = make_policy_map(image);
  if (!map) return tl::unexpected<Error>(map.error());
  if ((image.header().flags & SBPF_POLICY_PATHS) != 0)
    if (auto marked = mark_filesystem(kernel, cgroup_id); !marked) return marked;
  // Noted before the flip: whoever looks in between, or after a publisher that died there, finds what was meant to be
  // in force.
  const sbpf_policy_header header = image.header();
  (void)change_ref(kernel, cgroup_id, [&](sbpf_cgroup_ref& ref) { ref.next = digest_of(header); });
  const int fd = map->get();
  if (bpf_map_update_elem(kernel.policies(), &cgroup_id, &fd, BPF_ANY) != 0) return publish_error("flip", errno);
  // No program uses the old policy any more: the update waited for them. Noted after the flip: who dies between the two
  // leaves a newer one in force than noted, which is sound. A storage that was tampered with is for the watch to put
  // back.
  (void)change_ref(kernel, cgroup_id, [&](sbpf_cgroup_ref& ref) {
    ref.generation = std::max(ref.generation, header.generation);
    ref.digest = digest_of(header);
  });
  forget_verdicts(kernel);
  return {};
}

std::optional<sbpf_cgroup_ref> read_ref(const Kernel& kernel, std::uint64_t cgroup_id) {
  sbpf_cgroup_ref ref{};
  if (bpf_map_lookup_elem(kernel.cgroup_refs(), &cgroup_id, &ref) != 0) return std::nullopt;
  errno = ENOENT;  // one of another sandbox is none
  if (ref.cgroup_id != cgroup_id) return std::nullopt;
  return ref;
}

bool is_published(const Kernel& kernel, std::uint64_t cgroup_id, const sbpf_cgroup_ref& before,
                  const sbpf_policy_header& header) {
  const std::uint64_t digest = digest_of(header);
  if (header.generation >= before.generation &&
      (digest == before.digest || (digest == before.next && header.generation > before.generation)))
    return true;
  const auto now = read_ref(kernel, cgroup_id);
  return now && std::memcmp(&*now, &before, sizeof before) != 0;
}

std::uint32_t policy_map_id(const Kernel& kernel, std::uint64_t cgroup_id) {
  return inner_map_id(kernel.policies(), cgroup_id);
}

Result<policy::Image> read_policy(const Kernel& kernel, std::uint64_t cgroup_id) {
  Fd map = open_inner_map(kernel.policies(), cgroup_id);
  if (!map && errno == ENOENT)
    map = open_inner_map(kernel.policies(), cgroup_id);  // replaced between the look-up and the opening
  if (!map) return fail("no_policy", "the sandbox has no policy in the kernel", "", errno);
  return read_entries(map.get());
}

Result<policy::Image> read_policy_map(int map) { return read_entries(map); }

policy::Image with_opened(const Kernel& kernel, std::uint64_t cgroup_id, policy::Image image) {
  const std::uint32_t names = image.header().host_names_id;
  const Fd map = names == 0 ? Fd() : open_host_names(kernel, cgroup_id);
  if (!map) return image;
  for (const auto& [key, opened] : entries_of<sbpf_rule_key, sbpf_opened>(map.get()))
    if (opened.host_names_id == names || opened.also == names) policy::add_rule(image, key, opened.rule);
  return image;
}

Result<void> set_recording(const Kernel& kernel, std::uint64_t cgroup_id, const policy::Image& image) {
  return change_ref(kernel, cgroup_id,
                    [&](sbpf_cgroup_ref& ref) { ref.flags = ref_flags(image, (ref.flags & SBPF_REF_OWN_NETNS) != 0); });
}

}  // namespace sbpf::agent
