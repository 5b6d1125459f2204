// SPDX-License-Identifier: Apache-2.0
#include "service/assignments.h"

#include <fcntl.h>
#include <unistd.h>

#include <fmt/core.h>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>

#include "base/fd.h"
#include "base/file.h"
#include "policy/values.h"
#include "service/json.h"
#include "service/requests.h"

namespace sbpf::service {

namespace {

// What is written there is a name or a number, or it is not ours: names become paths, and words of command lines.
bool has_name(const Json& one, const char* key) {
  return one.contains(key) && one.at(key).is_string() && is_name(one.at(key).get_ref<const std::string&>());
}
bool has_number(const Json& one, const char* key, std::uint64_t most) {
  return one.contains(key) && one.at(key).is_number_unsigned() && one.at(key).get<std::uint64_t>() <= most;
}

constexpr std::size_t kMostBytes = 64 << 20;  // of many thousand sandboxes

constexpr std::uint64_t kMostNumber = std::numeric_limits<std::uint64_t>::max(),
                        kMostUid = std::numeric_limits<std::uint32_t>::max() - 1;

}  // namespace

Result<void> Assignments::load() {
  all_.clear();
  runs_.clear();
  const Fd file = open_regular(file_, O_RDONLY);
  if (!file && errno == ENOENT) return {};
  const Json read = Json::parse(file ? read_up_to(file, kMostBytes).value_or("") : "", nullptr, false);
  const auto sandboxes = read.is_object() ? read.find("sandboxes") : read.end();
  if (!read.is_object() || !read.contains("version") || read.at("version") != 1 || sandboxes == read.end() ||
      !sandboxes->is_object())
    return fail("state", fmt::format("{} is not readable", file_),
                "sandboxes no longer follow their policies' files: PUT their policies again");
  std::map<std::string, Assignment> all;
  for (const auto& [name, one] : sandboxes->items()) {
    if (!is_name(name) || !one.is_object() || !has_name(one, "policy") || !has_number(one, "instance", kMostNumber) ||
        !one.contains("sha256") || !one.at("sha256").is_string())
      return fail("state", fmt::format("{} has an entry that is not ours: {}", file_, policy::internal::quoted(name)),
                  "remove the file, and PUT the policies again");
    all[name] = {one.at("policy").get<std::string>(), one.at("instance").get<std::uint64_t>(),
                 one.at("sha256").get<std::string>()};
  }
  std::map<std::string, Run> runs;
  const Json listed = read.contains("runs") ? read.at("runs") : Json::object();  // a service of before had none
  if (!listed.is_object())
    return fail("state", fmt::format("{} is not readable", file_),
                "remove the file, and end what `sbpf list` shows of users by `sbpf kill`");
  for (const auto& [name, one] : listed.items()) {
    if (!is_name(name) || !one.is_object() || !has_number(one, "uid", kMostUid) ||
        !has_number(one, "cgroup_id", kMostNumber))
      return fail("state", fmt::format("{} has a run that is not ours: {}", file_, policy::internal::quoted(name)),
                  "remove the file, and end what `sbpf list` shows of users by `sbpf kill`");
    const std::string within = text_in(one, "within");
    if (!within.empty() && !is_name(within))
      return fail("state", fmt::format("{} has a run that is not ours: {}", file_, policy::internal::quoted(name)),
                  "remove the file, and end what `sbpf list` shows of users by `sbpf kill`");
    runs[name] = {one.at("uid").get<std::uint32_t>(), one.at("cgroup_id").get<std::uint64_t>(), within};
  }
  all_ = std::move(all);
  runs_ = std::move(runs);
  return {};
}

Result<void> Assignments::set_run(const std::string& sandbox, Run run) {
  runs_[sandbox] = std::move(run);
  return save();
}

Result<void> Assignments::remove_run(const std::string& sandbox) {
  if (runs_.erase(sandbox) == 0) return {};
  return save();
}

Result<void> Assignments::set(const std::string& sandbox, Assignment assignment) {
  all_[sandbox] = std::move(assignment);
  return save();
}

Result<void> Assignments::remove(const std::string& sandbox) {
  if (all_.erase(sandbox) == 0) return {};
  return save();
}

Result<void> Assignments::save() const {
  Json sandboxes = Json::object();
  for (const auto& [name, one] : all_)
    sandboxes[name] = {{"policy", one.policy}, {"instance", one.instance}, {"sha256", one.sha256}};
  Json runs = Json::object();
  for (const auto& [name, one] : runs_) {
    runs[name] = {{"uid", one.uid}, {"cgroup_id", one.cgroup_id}};
    if (!one.within.empty()) runs[name]["within"] = one.within;
  }
  const Json whole = {{"version", 1}, {"sandboxes", sandboxes}, {"runs", runs}};
  const std::string text = whole.dump(2) + "\n", fresh = file_ + ".new";
  const Fd file = open_regular(fresh, O_WRONLY | O_CREAT | O_TRUNC);
  const bool written = file && write_all(file.get(), text) && std::rename(fresh.c_str(), file_.c_str()) == 0;
  if (written) return {};
  return fail(
      "state",
      SystemError{errno,
                  "after a restart sandboxes will not follow their policies' files, and no run of a user begins"},
      "cannot write {}", file_);
}

}  // namespace sbpf::service
