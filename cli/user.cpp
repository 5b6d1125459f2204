// SPDX-License-Identifier: Apache-2.0
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

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

std::string refuse_empty(const std::string& value) {
  return value.empty() ? "it is empty: is a variable not set?" : "";
}

Result<policy::User> parse_user(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  policy::User user;
  const auto uid = id_of(name);
  const passwd* entry = uid ? ::getpwuid(*uid) : ::getpwnam(name.c_str());
  if (!uid && entry == nullptr) return fail("usage", fmt::format("no user is named '{}'", name), kHint);
  user.uid = uid ? *uid : entry->pw_uid;
  if (colon == std::string::npos) {
    if (entry == nullptr) return fail("usage", fmt::format("user {} has no group on this host", name), "write UID:GID");
    user.gid = entry->pw_gid;
    return user;
  }
  const std::string group = text.substr(colon + 1);
  const auto gid = id_of(group);
  const ::group* group_entry = gid ? nullptr : ::getgrnam(group.c_str());
  if (!gid && group_entry == nullptr) return fail("usage", fmt::format("no group is named '{}'", group), kHint);
  user.gid = gid ? *gid : group_entry->gr_gid;
  return user;
}

Result<std::optional<policy::User>> caller_of_sudo() {
  const char *uid = std::getenv("SUDO_UID"), *gid = std::getenv("SUDO_GID");
  if (uid == nullptr || ::geteuid() != 0) return std::optional<policy::User>();
  const auto user = id_of(uid), group = id_of(gid == nullptr ? "" : gid);
  if (!user || !group)
    return fail("usage", "SUDO_UID and SUDO_GID do not say who called sudo",
                "name the user of the program: --user USER, or --user 0:0 for root");
  if (*user == 0) return std::optional<policy::User>();
  return std::optional(policy::User{*user, *group, {}});
}

std::vector<std::string> of_user(std::vector<std::string> variables, std::uint32_t uid) {
  const passwd* entry = ::getpwuid(uid);
  std::erase_if(variables, [](const std::string& variable) {
    return variable.starts_with("HOME=") || variable.starts_with("USER=") || variable.starts_with("LOGNAME=");
  });
  variables.push_back(fmt::format("HOME={}", entry == nullptr ? "/" : entry->pw_dir));
  if (entry == nullptr) return variables;
  for (const char* name : {"USER", "LOGNAME"}) variables.push_back(fmt::format("{}={}", name, entry->pw_name));
  return variables;
}

}  // namespace sbpf::cli
