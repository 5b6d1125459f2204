// SPDX-License-Identifier: Apache-2.0
// The parts of `process` that say how a program starts: seccomp, capabilities, user, new privileges.
#include <algorithm>

#include "policy/draft.h"

namespace sbpf::policy::internal {
namespace {

constexpr std::uint64_t kMaxId = 0xfffffffe;  // one less than (uid_t)-1, which means none
constexpr std::size_t kMaxGroups = 65536;     // the kernel's NGROUPS_MAX

Value<std::uint32_t> parse_id(std::string_view text) {
  if (const auto id = parse_number(text); id && *id <= kMaxId) return static_cast<std::uint32_t>(*id);
  return tl::unexpected(BadValue{"bad_id", fmt::format("{} is not a number of a user or group", quoted(text)),
                                 "write a number, so that the policy means the same on every host; "
                                 "`sbpf run --user NAME` takes names"});
}

Value<std::string> parse_profile_path(std::string_view text) {
  if (text.starts_with('/')) return parse_path(text);
  return tl::unexpected(BadValue{"bad_seccomp", fmt::format("{} is not a seccomp profile", quoted(text)),
                                 "write default, strict, dangerously_unconfined, or the whole path of an OCI profile"});
}

}  // namespace

void read_seccomp(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  Seccomp seccomp;
  seccomp.where = reader.where(node);
  if (node.kind == YamlNode::Kind::map) {
    std::optional<std::string> path;
    const auto read_sha256 = [&](const YamlNode& n, const std::string& k) {
      seccomp.sha256 = reader.value<std::string>(n, k, "a SHA-256", parse_sha256).value_or("");
    };
    reader.map(node, key,
               {{"file",
                 [&](const YamlNode& n, const std::string& k) {
                   path = reader.value<std::string>(n, k, "a path", parse_profile_path);
                   if (!path) path = "";
                 }},
                {"sha256", read_sha256}},
               {});
    if (!path)
      reader.error(node, key, {"missing_key", "no file is given", "write seccomp: {file: /path/of/profile.json}"});
    seccomp.kind = SeccompKind::file;
    seccomp.path = path.value_or("");
    draft.policy.launch.seccomp = std::move(seccomp);
    return;
  }
  const std::string* text = reader.text(node, key, "default, strict, dangerously_unconfined or a path");
  if (!text) return;
  for (const SeccompKind kind :
       {SeccompKind::builtin_default, SeccompKind::builtin_strict, SeccompKind::dangerously_unconfined}) {
    if (*text != to_string(kind)) continue;
    seccomp.kind = kind;
    draft.policy.launch.seccomp = std::move(seccomp);
    return;
  }
  seccomp.kind = SeccompKind::file;
  seccomp.path = reader.value<std::string>(node, key, "a path", parse_profile_path).value_or("");
  draft.policy.launch.seccomp = std::move(seccomp);
}

void read_capabilities(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  Capabilities capabilities;
  if (node.kind == YamlNode::Kind::scalar) {
    if (node.text == "dangerously_all")
      capabilities.dangerously_all = true;
    else
      reader.error(node, key,
                   {"bad_capability", fmt::format("{} is not known here", quoted(node.text)),
                    "write a list as in [NET_BIND_SERVICE], or dangerously_all"});
    draft.policy.launch.capabilities = std::move(capabilities);
    return;
  }
  reader.list(node, key, "a list as in [NET_BIND_SERVICE]", [&](const YamlNode& item, const std::string& item_key) {
    const std::string* name = reader.text(item, item_key, "a capability");
    if (!name) return;
    const auto number = name->starts_with("CAP_") ? std::nullopt : capability_number(*name);
    if (number)
      capabilities.keep.push_back(*number);
    else
      reader.error(item, item_key,
                   {"bad_capability", fmt::format("{} is not a capability", quoted(*name)),
                    "write a name of capabilities(7) without CAP_, as in NET_BIND_SERVICE"});
  });
  std::sort(capabilities.keep.begin(), capabilities.keep.end());
  capabilities.keep.erase(std::unique(capabilities.keep.begin(), capabilities.keep.end()), capabilities.keep.end());
  draft.policy.launch.capabilities = std::move(capabilities);
}

void read_user(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  std::optional<std::uint32_t> uid, gid;
  User user;
  const auto id_into = [&reader](std::optional<std::uint32_t>& to) {
    return [&reader, &to](const YamlNode& n, const std::string& k) {
      to = reader.value<std::uint32_t>(n, k, "a number", parse_id).value_or(0);  // wrong is not missing
    };
  };
  const auto read_groups = [&](const YamlNode& list, const std::string& list_key) {
    reader.list(list, list_key, "a list of numbers", [&](const YamlNode& item, const std::string& item_key) {
      if (const auto id = reader.value<std::uint32_t>(item, item_key, "a number", parse_id)) user.groups.push_back(*id);
    });
  };
  reader.map(node, key, {{"uid", id_into(uid)}, {"gid", id_into(gid)}, {"groups", read_groups}},
             {{"map", "user namespaces are refused inside; the program has the host's numbers"}});
  if (node.kind != YamlNode::Kind::map) return;
  if (!uid || !gid)
    reader.error(node, key, {"missing_key", "a user needs uid and gid", "write user: {uid: 1000, gid: 1000}"});
  if (user.groups.size() > kMaxGroups)
    reader.error(node, key, {"too_many_groups", "no process has so many groups", "list at most 65536"});
  user.uid = uid.value_or(0);
  user.gid = gid.value_or(0);
  std::sort(user.groups.begin(), user.groups.end());
  user.groups.erase(std::unique(user.groups.begin(), user.groups.end()), user.groups.end());
  draft.policy.launch.user = std::move(user);
}

}  // namespace sbpf::policy::internal
