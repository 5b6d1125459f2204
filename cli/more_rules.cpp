// SPDX-License-Identifier: Apache-2.0
#include "cli/more_rules.h"

#include <fmt/core.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/format.h"
#include "cli/input.h"

namespace sbpf::cli {
namespace {

namespace fs = std::filesystem;

// Relative ones go up from the working directory, which no link is in the way of. Behind another name a `..` stays, and
// is refused as in any policy: there it may lead elsewhere than the text says.
Result<std::string> absolute_path(const std::string& written) {
  if (written.empty()) return fail("usage", "a path is missing: --read and --write need one", "is a variable empty?");
  fs::path rest = written, whole = "/";
  if (!written.starts_with('/')) {
    std::error_code error;
    whole = fs::current_path(error);
    if (error) return fail("usage", fmt::format("{} is relative, and the working directory is gone", written));
  }
  bool leading = true;
  for (const fs::path& name : rest) {
    if (name == "/" || name == "." || name.empty()) continue;
    leading = leading && name == "..";
    whole = leading ? whole.parent_path() : whole / name;
  }
  return whole.string();
}

// The paths for which the base has no such right yet.
Result<Json> more_paths(const std::vector<std::string>& written, policy::FsAccess access, const policy::Policy& base) {
  Json all = Json::array();
  for (const std::string& one : written) {
    const auto path = absolute_path(one);
    if (!path) return tl::unexpected<Error>(path.error());
    const auto rule = std::ranges::find(base.filesystem.rules, *path, &policy::FsRule::path);
    const bool has_rule = rule != base.filesystem.rules.end();
    if (has_rule && rule->access != policy::FsAccess::read && rule->access != policy::FsAccess::write)
      return fail("usage",
                  fmt::format("the policy {} has a rule of its own for {}: {}", base.name, *path,
                              policy::to_string(rule->access)),
                  "what a policy denies or protects is not lifted on the command line: write another policy");
    const auto hides = [&](const policy::FsRule& place) {
      return place.access == policy::FsAccess::private_place && path->starts_with(place.path + "/");
    };
    if (std::ranges::any_of(base.filesystem.rules, hides))
      return fail("usage", fmt::format("{} lies in a place that the policy {} makes private", *path, base.name),
                  "--workspace DIR brings a directory in, and a policy that writes the place shares the host's");
    const bool has_right = has_rule && (rule->access == access || rule->access == policy::FsAccess::write);
    const std::string spelled = policy::escaped_path(*path);  // the shell has read its patterns before
    if (!has_right && std::ranges::find(all, Json(spelled)) == all.end()) all.push_back(spelled);
  }
  return all;
}

Result<Json> read_endpoints(const std::vector<std::string>& words) {
  Json all = Json::array();
  for (const std::string& word : words) {
    if (const auto endpoint = parse_address_port(word)) {
      all.push_back(
          {{"address", policy::to_string(endpoint->address)}, {"ports", {endpoint->port}}, {"protocol", "tcp"}});
    } else if (const auto named = parse_name_port(word)) {
      all.push_back({{"host", named->name}, {"ports", {named->port}}, {"protocol", "tcp"}});
    } else {
      return fail("usage", fmt::format("--connect '{}' is no endpoint", word),
                  "write HOST:PORT, 192.0.2.1:443 or [2001:db8::1]:443");
    }
  }
  return all;
}

}  // namespace

Result<std::string> extending_policy(const std::string& extended, const policy::Policy& base, const MoreRules& more) {
  const bool files = !more.read.empty() || !more.write.empty();
  if (files && !base.filesystem.requested)
    return fail("usage",
                fmt::format("the policy {} has no rules for files: it lets the program have all of them", base.name),
                "leave --read and --write out, or take a policy that judges files, such as untrusted");
  const auto read = more_paths(more.read, policy::FsAccess::read, base);
  if (!read) return tl::unexpected<Error>(read.error());
  const auto write = more_paths(more.write, policy::FsAccess::write, base);
  if (!write) return tl::unexpected<Error>(write.error());
  const auto endpoints = read_endpoints(more.connect);
  if (!endpoints) return tl::unexpected<Error>(endpoints.error());
  Json policy = {{"version", 1}, {"name", base.name.substr(0, SBPF_NAME_LEN - 6) + ".more"}, {"extends", {extended}}};
  if (!read->empty()) policy["filesystem"]["read"] = *read;
  if (!write->empty()) policy["filesystem"]["write"] = *write;
  if (!endpoints->empty()) policy["network"]["connect"] = *endpoints;
  try {
    return policy.dump(1);  // JSON is YAML, and nothing in a string of it becomes a key
  } catch (const Json::type_error&) {
    return fail("usage", "a path or an endpoint on the command line is not UTF-8", "name the directory above it");
  }
}

}  // namespace sbpf::cli
