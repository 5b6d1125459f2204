// SPDX-License-Identifier: Apache-2.0
#include <grp.h>
#include <pwd.h>

#include <charconv>

#include "cli/input.h"

namespace sbpf::cli {
namespace {

constexpr const char* kHint = "write UID:GID, or the NAME of a user of this host";

std::optional<std::uint32_t> id_of(std::string_view text) {
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || id == ~0u) return std::nullopt;
  return id;
}

}  // namespace

Result<policy::User> parse_user(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  policy::User user;
  const auto uid = id_of(name);
  const passwd* entry = uid ? ::getpwuid(*uid) : ::getpwnam(name.c_str());
  if (!uid && entry == nullptr) return fail("usage", "no user is named '" + name + "'", kHint);
  user.uid = uid ? *uid : entry->pw_uid;
  if (colon == std::string::npos) {
    if (entry == nullptr) return fail("usage", "user " + name + " has no group on this host", "write UID:GID");
    user.gid = entry->pw_gid;
    return user;
  }
  const std::string group = text.substr(colon + 1);
  const auto gid = id_of(group);
  const ::group* group_entry = gid ? nullptr : ::getgrnam(group.c_str());
  if (!gid && group_entry == nullptr) return fail("usage", "no group is named '" + group + "'", kHint);
  user.gid = gid ? *gid : group_entry->gr_gid;
  return user;
}

}  // namespace sbpf::cli
