// SPDX-License-Identifier: Apache-2.0
#include "cli/denial_summary.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "policy/advice.h"
#include "policy/image.h"

namespace sbpf::cli {
namespace {

constexpr std::size_t kSeveral = 3, kAsked = 16;

// The agent ends a text with who did it, "(comm, pid 123)"; the same denial by another process is no other kind.
std::string_view without_task(std::string_view text) {
  const std::size_t open = text.rfind(" (");
  return open != std::string_view::npos && text.ends_with(')') ? text.substr(0, open) : text;
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

policy::PathUse use_of(bool writes) { return writes ? policy::PathUse::write : policy::PathUse::read; }

// May a rule for this whole directory be proposed? Not where it is close to the root, a home, the kernel's, or hidden:
// secrets are kept there. And not, to be written, where it is the system's: the host would run what is put there.
bool may_be_proposed(const std::string& directory, bool writes) {
  const auto depth = std::ranges::count(directory, '/');
  if (depth < 2 || directory.find("/.") != std::string::npos) return false;
  if (depth == 2 && directory.starts_with("/home/")) return false;
  const auto lies_in = [&](const char* above) { return (directory + "/").starts_with(above); };
  constexpr std::array kSecret = {"/proc/", "/sys/", "/dev/", "/run/", "/etc/", "/root/", "/boot/", "/var/"};
  constexpr std::array kSystem = {"/usr/", "/bin/", "/sbin/", "/lib", "/opt/"};
  return std::ranges::none_of(kSecret, lies_in) && !(writes && std::ranges::any_of(kSystem, lies_in));
}

}  // namespace

void DenialSummary::add(const agent::Event& event) { add(event_json(event, 0)); }

void DenialSummary::add(const Json& event) {
  const sbpf_verdict verdict = verdict_in(event);
  const std::string reason = text_in(event, "reason");
  if (verdict == SBPF_ALLOW || reason == to_string(SBPF_REASON_CANARY)) return;
  const std::uint64_t times = std::max<std::uint64_t>(number_in(event, "times"), 1);
  (verdict == SBPF_AUDIT ? would_deny_ : denied_) += times;
  const std::string text = text_in(event, "text");
  const std::string key = (verdict == SBPF_AUDIT ? "a" : "d") + std::string(without_task(text));
  if (const auto known = index_.find(key); known != index_.end()) {
    kinds_[known->second].times += times;
    return;
  }
  if (kinds_.size() >= kMaxKinds) {
    beyond_++;
    return;
  }
  Kind kind;
  kind.line = fmt::format("sbpf: {}", verdict_text(verdict, text));
  const std::string allow = text_in(event, "allow");
  kind.remedy = remedy_lines(allow, text_in(event, "relaxation"));
  kind.times = times;
  const std::string wanted = text_in(event, "wanted"), path = text_in(event, "path");
  kind.writes = wanted.find("write") != std::string::npos;
  const bool alone = !allow.empty() && allow == policy::suggestion(use_of(kind.writes), path);
  if (reason == to_string(SBPF_REASON_FS_DEFAULT) && alone) kind.path = path;
  index_[key] = kinds_.size();
  kinds_.push_back(std::move(kind));
}

std::string DenialSummary::key_of(const Kind& kind) { return (kind.writes ? "w" : "r") + directory_of(kind.path); }

DenialSummary::Directories DenialSummary::directories() const {
  Directories all;
  for (std::size_t i = 0; i < kinds_.size(); i++)
    if (!kinds_[i].path.empty()) all[key_of(kinds_[i])].push_back(i);
  return all;
}

std::string DenialSummary::remedy_of(const std::vector<std::size_t>& kinds) const {
  const Kind& first = kinds_[kinds.front()];
  const std::string directory = directory_of(first.path);
  if (policy_ == nullptr || kinds.size() < kSeveral || !may_be_proposed(directory, first.writes)) return "";
  const std::string change = policy::suggestion(use_of(first.writes), directory);
  const auto changed = change.empty() ? std::nullopt : policy::with_change(*policy_, change);
  if (!changed) return "";
  const auto operation = first.writes ? policy::FsOperation::write : policy::FsOperation::read;
  for (std::size_t i = 0; i < kinds.size() && i < kAsked; i++)
    if (!policy::explain_path(*changed, operation, kinds_[kinds[i]].path).allowed) return "";
  return remedy_lines(change, "");
}

std::string DenialSummary::text(std::size_t limit) const {
  const Directories all = directories();
  std::set<std::size_t> told;
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < kinds_.size() && shown < limit; i++) {
    const Kind& kind = kinds_[i];
    if (!told.insert(i).second) continue;
    shown++;
    text += kind.line + (kind.times > 1 ? fmt::format(", {} times", kind.times) : "") + "\n";
    const auto beside = kind.path.empty() ? all.end() : all.find(key_of(kind));
    const std::string of_directory = beside == all.end() ? "" : remedy_of(beside->second);
    if (!of_directory.empty()) {
      const std::size_t others = beside->second.size() - 1;
      text +=
          printable(fmt::format("  and of {} more in {}, all of which this opens:", others, directory_of(kind.path))) +
          "\n";
      told.insert(beside->second.begin(), beside->second.end());
    }
    text += of_directory.empty() ? kind.remedy : of_directory;
  }
  if (const std::uint64_t rest = kinds_.size() - told.size() + beyond_; rest > 0)
    text += fmt::format("… and {} more\n", rest);
  return text;
}

}  // namespace sbpf::cli
