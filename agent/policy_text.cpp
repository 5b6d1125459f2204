// SPDX-License-Identifier: Apache-2.0
#include "agent/policy_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "agent/guard.h"
#include "base/fd.h"
#include "base/file.h"
#include "policy/filesystem.h"

namespace sbpf::agent {
namespace {

constexpr const char* kDirectory = "/run/sbpf-policies";

std::string file_of(std::uint64_t cgroup_id) { return std::string(kDirectory) + "/" + std::to_string(cgroup_id); }

bool write_text(const std::string& file, const std::string& text) {
  const std::string fresh = std::string(kDirectory) + "/new";
  if (::mkdir(kDirectory, 0700) != 0 && errno != EEXIST) return false;
  const Fd written(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  return written && write_all(written.get(), text) && std::rename(fresh.c_str(), file.c_str()) == 0;
}

}  // namespace

void keep_policy_text(std::uint64_t cgroup_id, const policy::Policy& policy) {
  if (!policy::has_paths(policy)) return drop_policy_text(cgroup_id);
  if (!write_text(file_of(cgroup_id), policy::canonical(policy)))
    audit("the text of the policy of cgroup " + std::to_string(cgroup_id) + " cannot be kept, so it will not reach what is mounted later: " + std::strerror(errno));
}

bool has_policy_text(std::uint64_t cgroup_id) { return ::access(file_of(cgroup_id).c_str(), F_OK) == 0; }

Result<policy::Policy> read_policy_text(std::uint64_t cgroup_id, const std::array<std::uint8_t, 32>& sha256) {
  const std::string file = file_of(cgroup_id);
  const Fd opened = open_regular(file, O_RDONLY);
  const auto text = opened ? read_up_to(opened, policy::kMaxTextBytes) : std::nullopt;
  if (!text) return fail("no_policy", "cannot read " + file + ": " + std::strerror(errno), "", errno);
  auto policy = policy::parse(*text, file, [](std::string_view) { return std::nullopt; });
  // Whoever wrote something else there changed no policy by it.
  if (!policy || policy::sha256(*policy) != sha256) return fail("no_policy", file + " is not the text of the policy in force");
  return std::move(*policy);
}

void drop_policy_text(std::uint64_t cgroup_id) { (void)::unlink(file_of(cgroup_id).c_str()); }

void drop_policy_texts() {
  std::error_code ec;
  std::filesystem::remove_all(kDirectory, ec);
}

}  // namespace sbpf::agent
