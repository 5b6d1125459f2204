// SPDX-License-Identifier: Apache-2.0
#include "agent/verify/quick_check.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>
#include <optional>

#include "agent/host/bpf_info.h"
#include "agent/kernel/gate.h"
#include "agent/verify/host_checks.h"
#include "agent/verify/verify.h"
#include "base/clock.h"

namespace sbpf::agent {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kTrustPins = 60 * kSecond;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

// Of the directory that the sandbox's pins are in, now; empty if it is not there.
std::optional<Sound::Pins> pins_of(const sbpf_sandbox& record) {
  struct stat directory {};
  if (::stat(pin_directory(record.name).c_str(), &directory) != 0) return std::nullopt;
  return Sound::Pins{directory.st_ino, nanoseconds(directory.st_ctim), 0};
}

bool links_stand(const Kernel& kernel, const Snapshot& all, const sbpf_sandbox& record, const Sound& sound,
                 const Sound::Pins& pins) {
  if (sound.pins.opened_ns == 0 || pins.directory != sound.pins.directory || pins.changed_ns != sound.pins.changed_ns ||
      static_cast<std::int64_t>(boottime_ns()) - sound.pins.opened_ns > kTrustPins)
    return false;
  return std::ranges::all_of(hooks(), [&](const Hook& hook) {
    return !hook.per_sandbox() || !hook.used_with(record.flags) ||
           all.has({record.cgroup_id, sound.links[hook.id], kernel.meta(hook.id).prog_id});
  });
}

void look_at_links(const Kernel& kernel, const Snapshot& all, const sbpf_sandbox& record, Sound& sound,
                   std::vector<Lost>& lost) {
  auto pins = pins_of(record);
  if (pins && links_stand(kernel, all, record, sound, *pins)) return;
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  const auto opened_ns = static_cast<std::int64_t>(boottime_ns());
  bool all_opened = true;
  ListedLinks listed(kernel, &all);
  for (const Hook& hook : hooks_of(record.flags)) {
    if (!hook.per_sandbox()) continue;
    HookStatus status = cgroup_hook(kernel, hook, record, listed);
    const bool opened = status.link_id != 0;
    all_opened = all_opened && opened;
    if (!status.attached)
      lost.push_back({hook.name, std::move(status.reason), status.unclear});
    else if (opened)
      sound.links[hook.id] = status.link_id;
  }
  sound.pins = {};
  // The kernel's clock for files goes by ticks: what changes twice in one looks as if it changed once.
  if (!pins || !all_opened || !lost.empty() || nanoseconds(time) - pins->changed_ns < kSecond) return;
  sound.pins = *pins;
  sound.pins.opened_ns = opened_ns;
}

Lost older_policy(std::uint32_t generation, std::uint32_t after) {
  return {"policy", fmt::format("an older policy is in force than was published last: generation {} after {}",
                                generation, after)};
}

std::optional<Lost> root_gate_lost(const Kernel& kernel) {
  // WalkedPaths up, not made: where sbpf's root cgroup is gone, nothing runs beneath it.
  const auto root = root_cgroup_id();
  if (!root && !is_gone(root.error()))
    return Lost{"gate", fmt::format("{} ({})", root.error().message, root.error().hint), true};
  if (root && !knows_root(kernel, *root))
    return Lost{"gate", "sbpf's root cgroup is not the one that the programs know"};
  return std::nullopt;
}

// `ref`: the cgroup's storage, read before the policy in force is looked up.
void look_at_policy(const Kernel& kernel, const Snapshot& all, std::uint64_t cgroup_id,
                    const std::optional<sbpf_cgroup_ref>& ref, Sound& sound, std::vector<Lost>& lost) {
  const std::uint32_t published = ref ? ref->generation : 0;
  // Its map is frozen, and held open here: what has the same number has the same contents.
  const auto is_known = [&](std::uint32_t id) {
    return id == sound.policy_id && !sound.policy_gone && sound.generation >= published;
  };
  std::uint32_t id = all.policy_of(cgroup_id);
  if (id != 0 && is_known(id)) return;
  id = policy_map_id(kernel, cgroup_id);
  if (id == 0) {
    lost.push_back(no_policy(errno));
    sound.policy_gone = sound.policy_gone || !lost.back().unclear;
    return;
  }
  if (is_known(id)) return;
  Fd map(bpf_map_get_fd_by_id(id));
  auto image =
      map ? read_policy_map(map.get()) : Result<policy::Image>(fail("no_policy", std::strerror(errno), "", errno));
  if (!image) {
    lost.push_back({"policy", image.error().message, seen_by_error(image.error().sys_errno) == Seen::unknown});
    return;
  }
  const std::uint32_t generation = image->header().generation;
  auto other = policy_lost(kernel, cgroup_id, ref, *image);
  if (!other && id != sound.policy_id && generation <= sound.generation && !sound.policy_gone)
    other = older_policy(generation, sound.generation);
  if (other) {
    lost.push_back(std::move(*other));
  } else {
    sound.policy = std::move(map);
    sound.policy_id = id;
    sound.generation = generation;
    sound.policy_gone = false;
  }
}

Error not_repaired(const std::string& what, int error) {
  return {"repair",
          fmt::format("{} cannot be put back: {}", what, std::strerror(error)),
          "end the sandbox with `sbpf kill` or `sbpf detach`, and start it again",
          error,
          "",
          false};
}

Fd live_link(std::uint32_t id, const Kernel& kernel, const Hook& hook, std::uint64_t cgroup_id) {
  Fd link(id == 0 ? -1 : bpf_link_get_fd_by_id(id));
  auto info = link ? link_info(link.get()) : Result<bpf_link_info>(fail("bpf_info", "no link"));
  if (!info || info->type != BPF_LINK_TYPE_CGROUP || info->cgroup.cgroup_id != cgroup_id ||
      static_cast<int>(info->cgroup.attach_type) != cgroup_attach_type(hook))
    return Fd();
  if (info->prog_id != kernel.meta(hook.id).prog_id &&
      bpf_link_update(link.get(), kernel.program(hook.id), nullptr) != 0)
    return Fd();
  return link;
}

// The link that was pinned, if it still judges the cgroup; a new one else.
Result<void> repair_hook(const Kernel& kernel, const Cgroup& cgroup, const Sound& sound, const Hook& hook) {
  const std::string pin = link_pin(sound.record.name, hook);
  Fd link = live_link(sound.links[hook.id], kernel, hook, cgroup.id());
  if (!link) {
    LIBBPF_OPTS(bpf_link_create_opts, options);
    link = Fd(bpf_link_create(kernel.program(hook.id), cgroup.fd(),
                              static_cast<bpf_attach_type>(cgroup_attach_type(hook)), &options));
  }
  if (!link) return tl::unexpected<Error>(not_repaired(fmt::format("hook {}", hook.name), errno));
  (void)::mkdir(pin_directory(sound.record.name).c_str(), 0700);
  (void)::unlink(pin.c_str());
  if (bpf_obj_pin(link.get(), pin.c_str()) != 0)
    return tl::unexpected<Error>(not_repaired(fmt::format("pin {}", pin), errno));
  return {};
}

Result<void> repair_policy(const Kernel& kernel, const Sound& sound) {
  const bool newest = sound.policy && sound.generation >= sound.ref.generation;
  auto image = newest ? read_policy_map(sound.policy.get()) : Result<policy::Image>(fail("no_policy", ""));
  if (!image) {
    // An older one than was published last would loosen, or tighten, what somebody decided. Without one all is denied.
    (void)bpf_map_delete_elem(kernel.policies(), &sound.record.cgroup_id);
    return fail("repair", "the policy cannot be put back: no valid copy is known; everything is denied",
                "publish one with `sbpf swap`");
  }
  return publish(kernel, sound.record.cgroup_id, image->renumbered(sound.generation + 1));
}

}  // namespace

bool is_lost(const std::vector<Lost>& lost, const std::string& what) {
  return std::ranges::any_of(lost, [&](const Lost& one) { return one.what == what; });
}

bool is_answered(const std::vector<Lost>& lost, const Lost& one) {
  return std::ranges::any_of(lost,
                             [&](const Lost& other) { return other.what == one.what && other.program == one.program; });
}

std::vector<Lost> take_unclear(std::vector<Lost>& lost) {
  std::vector<Lost> unclear;
  std::ranges::copy_if(lost, std::back_inserter(unclear), &Lost::unclear);
  std::erase_if(lost, [](const Lost& one) { return one.unclear; });
  return unclear;
}

std::optional<Lost> lsm_lost() {
  const Seen seen = bpf_lsm_seen();
  if (seen == Seen::there || (seen == Seen::unknown && !has_lsm_list())) return std::nullopt;
  if (seen == Seen::absent)
    return Lost{"lsm", "bpf is not in the kernel's LSM list: LSM programs attach but never run"};
  return Lost{"lsm", "/sys/kernel/security/lsm cannot be read: raise the limit of descriptors", true};
}

std::optional<Lost> gate_lost(const Kernel& kernel, const sbpf_sandbox& record) {
  if ((record.flags & SBPF_SANDBOX_ATTACHED) == 0) return root_gate_lost(kernel);
  if ((kernel.globals().gate.other_levels >> record.level & 1) != 0) return std::nullopt;
  return Lost{"gate", "tasks of the sandbox are not recognised"};
}

std::optional<Lost> storage_lost(const std::optional<sbpf_cgroup_ref>& ref, int error) {
  if (ref) return std::nullopt;
  if (seen_by_error(error) == Seen::absent) return Lost{"storage", "the cgroup programs do not know their sandbox"};
  return Lost{"storage",
              fmt::format("the cgroup's storage cannot be read: {} ({})", std::strerror(error), hint_for(error)), true};
}

std::optional<Lost> policy_lost(const Kernel& kernel, std::uint64_t cgroup_id,
                                const std::optional<sbpf_cgroup_ref>& ref, const policy::Image& image) {
  const sbpf_policy_header header = image.header();
  const auto contents = policy::image_sha256(image.entries);
  if (std::memcmp(contents.data(), header.image_sha256, contents.size()) != 0)
    return Lost{"policy", "the kernel's policy map does not have its own hash"};
  if (ref && header.generation < ref->generation) return older_policy(header.generation, ref->generation);
  if (ref && !is_published(kernel, cgroup_id, *ref, header))
    return Lost{"policy", "the policy in force was published for this sandbox by none of sbpf's commands"};
  return std::nullopt;
}

Lost no_policy(int error) {
  if (seen_by_error(error) == Seen::absent)
    return {"policy", "the sandbox has no policy in the kernel: everything is denied"};
  return {"policy", fmt::format("the policy cannot be read: {} ({})", std::strerror(error), hint_for(error)), true};
}

std::vector<Lost> look_at_host(const Kernel& kernel, Depth depth) {
  std::vector<Lost> lost;
  if (auto lsm = lsm_lost()) lost.push_back(std::move(*lsm));
  std::string unclear;
  for (Degradation& pin : kernel.broken_pins(depth == Depth::links, &unclear))
    lost.push_back({std::move(pin.what), std::move(pin.reason)});
  if (!unclear.empty()) lost.push_back({"pins", unclear, true});
  if (auto gate = root_gate_lost(kernel)) lost.push_back(std::move(*gate));
  return lost;
}

Snapshot::Snapshot(const Kernel& kernel) {
  auto links = read_records<sbpf_cgroup_link>(kernel.iterator(Query::cgroup_links), kernel.query(Query::cgroup_links),
                                              nullptr, "links", "the links of cgroups");
  knows_links_ = links.has_value();
  if (links) links_ = std::move(*links);
  std::ranges::sort(links_, {}, &sbpf_cgroup_link::id);
  if (auto policies = inner_maps(kernel.policies())) policies_ = std::move(*policies);
}

bool Snapshot::has(const sbpf_cgroup_link& link) const {
  const auto found = std::ranges::lower_bound(links_, link.id, {}, &sbpf_cgroup_link::id);
  return found != links_.end() && found->id == link.id && found->cgroup_id == link.cgroup_id &&
         found->prog_id == link.prog_id;
}

Seen Snapshot::runs(std::uint64_t cgroup_id, std::uint32_t prog_id) const {
  if (!knows_links_) return Seen::unknown;
  const auto is_it = [&](const sbpf_cgroup_link& link) {
    return link.cgroup_id == cgroup_id && link.prog_id == prog_id;
  };
  return std::ranges::any_of(links_, is_it) ? Seen::there : Seen::absent;
}

Seen ListedLinks::runs(std::uint64_t cgroup_id, std::uint32_t prog_id) {
  if (before_ != nullptr && before_->runs(cgroup_id, prog_id) == Seen::there) return Seen::there;
  if (!now_) now_.emplace(kernel_);
  return now_->runs(cgroup_id, prog_id);
}

std::uint32_t Snapshot::policy_of(std::uint64_t cgroup_id) const { return inner_map_id(policies_, cgroup_id); }

std::vector<Lost> look_at(const Kernel& kernel, const Snapshot& all, const sbpf_sandbox& record, Sound& sound) {
  std::vector<Lost> lost;
  look_at_links(kernel, all, record, sound, lost);
  if ((record.flags & SBPF_SANDBOX_ATTACHED) != 0)
    if (auto gate = gate_lost(kernel, record)) lost.push_back(std::move(*gate));
  const auto ref = read_ref(kernel, record.cgroup_id);
  if (ref)
    sound.ref = *ref;
  else
    lost.push_back(*storage_lost(ref, errno));
  look_at_policy(kernel, all, record.cgroup_id, ref, sound, lost);
  sound.record = record;
  return lost;
}

Result<void> repair_sandbox(const Kernel& kernel, const Cgroup& cgroup, const Sound& sound,
                            const std::vector<Lost>& lost) {
  const std::uint64_t id = sound.record.cgroup_id;
  for (const Lost& one : lost) {
    if (one.unclear) continue;
    if (one.what == "record") {
      if (bpf_map_update_elem(kernel.sandboxes(), &id, &sound.record, BPF_NOEXIST) != 0)
        return tl::unexpected<Error>(not_repaired("the sandbox's record", errno));
    } else if (one.what == "gate") {
      refresh_levels(kernel);
      if (auto set = set_root(kernel); !set) return set;
    } else if (one.what == "storage") {
      if (sound.ref.cgroup_id == 0 && (sound.record.flags & SBPF_SANDBOX_HOST_NAMES) != 0)
        return fail("repair", "the cgroup's storage cannot be put back: the ports of its resolver were never seen",
                    "start the sandbox anew");
      sbpf_cgroup_ref ref = sound.ref;
      ref.cgroup_id = id;
      if (sound.ref.cgroup_id == 0 && sound.policy)  // never seen; the policy was
        if (auto image = read_policy_map(sound.policy.get())) ref.digest = digest_of(image->header());
      if (bpf_map_update_elem(kernel.cgroup_refs(), &id, &ref, BPF_ANY) != 0)
        return tl::unexpected<Error>(not_repaired("the cgroup's storage", errno));
    } else if (one.what == "policy") {
      if (auto published = repair_policy(kernel, sound); !published) return published;
    } else {
      for (const Hook& hook : hooks())
        if (hook.per_sandbox() && one.what == hook.name)
          if (auto attached = repair_hook(kernel, cgroup, sound, hook); !attached) return attached;
    }
  }
  return {};
}

}  // namespace sbpf::agent
