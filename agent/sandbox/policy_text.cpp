// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/policy_text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "agent/host/audit.h"
#include "agent/host/paths.h"
#include "agent/kernel/guard.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/sha256.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace {

constexpr const char* kDirectory = "/run/sbpf-policies";
constexpr std::size_t kMostBytes = 2 * policy::kMaxTextBytes;
constexpr std::string_view kMounts = "mounts ", kLink = "link ", kWalked = "walked ";

std::string file_of(std::uint64_t cgroup_id) { return std::string(kDirectory) + "/" + std::to_string(cgroup_id); }

// A link of bpffs whose target is "NAMESPACE HASH"; 0 HASH where later mounts are nothing to the policy.
std::string marks() { return std::string(kPinRoot) + "/policies"; }
std::string mark_of(std::uint64_t cgroup_id) { return marks() + "/" + std::to_string(cgroup_id); }

std::string hash_of(const std::string& text) {
  Sha256 digest;
  digest.add(text.data(), text.size());
  return policy::hex(digest.finish());
}

// A line for each path. One that has a line break is not kept, and a link of that kind is followed no second time.
template <typename Paths>
std::string lines_of(std::string_view what, const Paths& paths) {
  std::string lines;
  for (const std::string& path : paths)
    if (path.find('\n') == std::string::npos) lines.append(what).append(path).append("\n");
  return lines;
}

std::vector<std::string> take_lines(std::string_view what, std::string_view& text) {
  std::vector<std::string> paths;
  for (; text.starts_with(what); text.remove_prefix(text.find('\n') + 1))
    paths.emplace_back(text.substr(what.size(), text.find('\n') - what.size()));
  return paths;
}

std::string text_of(const policy::Policy& policy, const WalkedPaths& walked_paths) {
  return fmt::format("{}{}\n", kMounts, walked_paths.mounts) + lines_of(kLink, walked_paths.links) +
         lines_of(kWalked, walked_paths.walked) + policy::canonical(policy);
}

// Under a name that nobody has, and then by its own: what lies there may be anything.
bool write_text(const std::string& file, const std::string& text) {
  if (::mkdir(kDirectory, 0700) != 0 && errno != EEXIST) return false;
  std::string fresh = std::string(kDirectory) + "/new.XXXXXX";
  const Fd written(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!written) return false;
  if (write_all(written.get(), text) && std::rename(fresh.c_str(), file.c_str()) == 0) return true;
  const int error = errno;
  (void)::unlink(fresh.c_str());
  errno = error;
  return false;
}

bool write_mark(std::uint64_t cgroup_id, std::uint64_t mounts, const std::string& text) {
  if (::mkdir(marks().c_str(), 0700) != 0 && errno != EEXIST) return false;
  (void)::unlink(mark_of(cgroup_id).c_str());
  return ::symlink(fmt::format("{} {}", mounts, hash_of(text)).c_str(), mark_of(cgroup_id).c_str()) == 0;
}

std::string read_mark(std::uint64_t cgroup_id) {
  std::array<char, 128> target{};
  const ssize_t n = ::readlink(mark_of(cgroup_id).c_str(), target.data(), target.size());
  return n > 0 ? std::string(target.data(), static_cast<std::size_t>(n)) : "";
}

std::uint64_t number_at_the_start_of(std::string_view text) {
  std::uint64_t number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

void keep_policy_text(std::uint64_t cgroup_id, const policy::Policy& policy, const WalkedPaths& walked_paths) {
  WalkedPaths kept = walked_paths;
  if (kept.mounts == 0)
    if (const auto before = read_policy_text(cgroup_id)) kept.mounts = before->walked_paths.mounts;
  const std::string text = text_of(policy, kept);
  const std::uint64_t watched = policy::has_paths(policy) ? kept.mounts : 0;
  if (write_text(file_of(cgroup_id), text) && write_mark(cgroup_id, watched, text)) return;
  audit(
      fmt::format("the text of the policy of cgroup {} cannot be kept, so it will not reach what is mounted later, and "
                  "no program is let in by exec: {}",
                  cgroup_id, std::strerror(errno)));
}

std::uint64_t kept_mounts(std::uint64_t cgroup_id) { return number_at_the_start_of(read_mark(cgroup_id)); }

Result<KeptPolicy> read_policy_text(std::uint64_t cgroup_id) {
  const std::string file = file_of(cgroup_id), mark = read_mark(cgroup_id);
  const Fd opened = open_regular(file, O_RDONLY);
  const auto text = opened ? read_up_to(opened, kMostBytes) : std::nullopt;
  if (!text || mark != fmt::format("{} {}", number_at_the_start_of(mark), hash_of(*text)))
    return fail("no_policy", fmt::format("{} is not what sbpf wrote there of the policy in force", file));
  std::string_view rest = *text;
  WalkedPaths walked_paths;
  walked_paths.mounts = number_at_the_start_of(mark);  // that of an older sbpf has no line of it
  for (const std::string& mounts : take_lines(kMounts, rest)) walked_paths.mounts = number_at_the_start_of(mounts);
  walked_paths.links = take_lines(kLink, rest);
  for (std::string& path : take_lines(kWalked, rest)) walked_paths.walked.insert(std::move(path));
  auto policy = policy::parse(std::string(rest), file, [](std::string_view) { return std::nullopt; });
  if (!policy) return fail("no_policy", policy::format(policy.error()));
  return KeptPolicy{std::move(*policy), std::move(walked_paths)};
}

bool is_image_of(const policy::Image& image, const policy::Policy& policy) {
  return policy::sha256(policy) == std::to_array(image.slot<sbpf_policy_id>(SBPF_SLOT_ID).policy_sha256);
}

Result<KeptPolicy> read_policy_text(std::uint64_t cgroup_id, const policy::Image& image) {
  auto kept = read_policy_text(cgroup_id);
  if (!kept || is_image_of(image, kept->policy)) return kept;
  return fail("no_policy", "the text that is kept is that of another policy than the one in force");
}

void drop_policy_text(std::uint64_t cgroup_id) {
  (void)::unlink(mark_of(cgroup_id).c_str());
  (void)::unlink(file_of(cgroup_id).c_str());
}

void drop_policy_texts() {
  std::error_code ec;
  std::filesystem::remove_all(kDirectory, ec);
}

}  // namespace sbpf::agent
