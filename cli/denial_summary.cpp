// SPDX-License-Identifier: Apache-2.0
#include "cli/denial_summary.h"

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "policy/advice.h"
#include "policy/image.h"

namespace sbpf::cli {
namespace {

constexpr std::size_t kSeveral = 3, kAsked = 16, kMostRemedies = 256;

// The agent ends a text with who did it, "(comm, pid 123)"; the same denial by another process is no other kind.
std::string_view without_task(std::string_view text, const Json& event) {
  const std::string task = fmt::format(" ({}, pid {})", text_in(event, "comm"), number_in(event, "pid"));
  if (text.ends_with(task)) return text.substr(0, text.size() - task.size());
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

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return '0' <= c && c <= '9'; });
}

// What runtimes set of a process in /proc: Java its core dumps, Chromium who is killed first.
bool is_setting_of_process(const std::string& path) {
  constexpr std::string_view kProc = "/proc/";
  constexpr std::array kSettings = {"coredump_filter", "oom_score_adj", "clear_refs", "comm", "timerslack_ns"};
  if (!path.starts_with(kProc)) return false;
  const std::size_t pid_end = path.find('/', kProc.size()), name = path.rfind('/') + 1;
  if (pid_end == std::string::npos || !is_number(path.substr(kProc.size(), pid_end - kProc.size()))) return false;
  const std::string between = path.substr(pid_end, name - pid_end);
  return (between == "/" || between.starts_with("/task/")) &&
         std::ranges::find(kSettings, path.substr(name)) != kSettings.end();
}

struct Tried {
  std::string_view wanted, path;
};
constexpr std::array kTried = {
    Tried{"read", "/etc"},                           // Python's pip looks for the release of the system
    Tried{"write", "/var/cache/fontconfig"},         // a cache that root's packages have filled
    Tried{"write", "/usr/lib/chromium/extensions"},  // Chromium makes the directory, where it may
    Tried{"read", "/sys/devices/virtual/dmi/id/sys_vendor"}, Tried{"read", "/sys/devices/virtual/dmi/id/product_name"}};

// Whether a device was plugged in, as libudev listens for it.
bool is_of_udev(const Json& event) {
  constexpr std::uint64_t kNetlink = 16;
  return text_in(event, "reason") == to_string(SBPF_REASON_SOCKET_CLASS) && number_in(event, "family") == kNetlink &&
         text_in(event, "protocol") == "15";  // NETLINK_KOBJECT_UEVENT
}

// What programs try and do as well without. No program is started again for it, so it is counted, and in the events,
// but told to nobody.
bool is_noise(const Json& event) {
  const std::string path = text_in(event, "path"), wanted = text_in(event, "wanted");
  return is_setting_of_process(path) || is_of_udev(event) ||
         std::ranges::any_of(kTried, [&](const Tried& one) { return one.wanted == wanted && one.path == path; });
}

// What an event of a denied connect was about.
std::optional<policy::NetQuery> connect_in(const Json& event) {
  const auto address = policy::parse_address(text_in(event, "address"));
  const std::string protocol = text_in(event, "protocol");
  if (!address || !text_in(event, "hook").starts_with("connect") || (protocol != "tcp" && protocol != "udp"))
    return std::nullopt;
  return policy::NetQuery{SBPF_RULE_CONNECT, protocol == "tcp" ? SBPF_PROTO_TCP : SBPF_PROTO_UDP, *address,
                          static_cast<std::uint16_t>(number_in(event, "port"))};
}

// `named`: a name of the policy led to the address.
bool lists_tcp(const policy::Policy& policy, policy::NetQuery query, bool named) {
  query.proto = SBPF_PROTO_TCP;
  return std::ranges::any_of(policy.network.connect, [&](const auto& entry) { return covers(entry, query); }) ||
         std::ranges::any_of(policy.network.hosts, [&](const policy::HostRule& rule) {
           return named && rule.protocol != policy::Protocol::udp && policy::has_port(rule.ports, query.port);
         });
}

}  // namespace

void DenialSummary::add(const agent::Event& event) { add(event_json(event, 0)); }

void DenialSummary::add(const Json& event) {
  const sbpf_verdict verdict = verdict_in(event);
  const std::string reason = text_in(event, "reason");
  if (verdict == SBPF_ALLOW || reason == to_string(SBPF_REASON_CANARY)) return;
  const std::uint64_t times = std::max<std::uint64_t>(number_in(event, "times"), 1);
  (verdict == SBPF_AUDIT ? would_deny_ : denied_) += times;
  std::string path = text_in(event, "path");
  if (is_noise(event)) return;
  const std::string text = text_in(event, "text");
  const std::string key = (verdict == SBPF_AUDIT ? "a" : "d") + std::string(without_task(text, event));
  if (const auto known = index_.find(key); known != index_.end()) {
    Kind& kind = kinds_[known->second];
    kind.times += times;
    // A name may be asked for by a type that no policy opens, and then by its addresses.
    if (kind.allow.empty()) kind.allow = text_in(event, "allow");
    return;
  }
  if (kinds_.size() >= kMaxKinds) {
    beyond_++;
    return;
  }
  Kind kind;
  kind.line = fmt::format("sbpf: {}", verdict_text(verdict, text));
  kind.allow = text_in(event, "allow");
  kind.relaxation = text_in(event, "relaxation");
  kind.times = times;
  kind.path = std::move(path);
  const std::string wanted = text_in(event, "wanted");
  if (!kind.path.empty()) kind.operation = wanted.find("write") != std::string::npos ? "write" : wanted;
  kind.uncovered = reason == to_string(SBPF_REASON_FS_DEFAULT) && !kind.path.empty() && !kind.allow.empty() &&
                   kind.allow == policy::suggestion(use_of(kind.writes()), kind.path);
  kind.connect = connect_in(event);
  kind.named = !text_in(event, "name").empty();
  if (kind.connect && kind.connect->proto == SBPF_PROTO_TCP) tcp_.emplace(kind.connect->address, kind.connect->port);
  index_[key] = kinds_.size();
  kinds_.push_back(std::move(kind));
}

std::string DenialSummary::key_of(const Kind& kind) { return (kind.writes() ? "w" : "r") + directory_of(kind.path); }

// getaddrinfo(3) connects a UDP socket to each address of a name, at the port that it was given, and sends nothing: the
// kernel says from which address it would. Queries of DNS are sent, by UDP first.
bool DenialSummary::is_look_up(const Kind& kind) const {
  constexpr std::uint16_t kDnsPort = 53;
  // By this address Chromium asks whether there is a route of IPv6.
  constexpr std::string_view kAnywhere = "2001:4860:4860::8888";
  constexpr std::uint16_t kHttpsPort = 443;
  if (!kind.connect || kind.connect->proto != SBPF_PROTO_UDP || kind.connect->port == kDnsPort) return false;
  return (kind.connect->address == policy::parse_address(kAnywhere) && kind.connect->port == kHttpsPort) ||
         tcp_.contains({kind.connect->address, kind.connect->port}) ||
         (policy_ != nullptr && lists_tcp(*policy_, *kind.connect, kind.named));
}

DenialSummary::Directories DenialSummary::directories() const {
  Directories all;
  for (std::size_t i = 0; i < kinds_.size(); i++)
    if (kinds_[i].uncovered) all[key_of(kinds_[i])].push_back(i);
  return all;
}

std::string DenialSummary::change_of(const std::vector<std::size_t>& kinds) const {
  const Kind& first = kinds_[kinds.front()];
  const std::string directory = directory_of(first.path);
  if (policy_ == nullptr || kinds.size() < kSeveral || !may_be_proposed(directory, first.writes())) return "";
  const std::string change = policy::suggestion(use_of(first.writes()), directory);
  const auto changed = change.empty() ? std::nullopt : policy::with_change(*policy_, change);
  if (!changed) return "";
  const auto operation = first.writes() ? policy::FsOperation::write : policy::FsOperation::read;
  for (std::size_t i = 0; i < kinds.size() && i < kAsked; i++)
    if (!policy::explain_path(*changed, operation, kinds_[kinds[i]].path).allowed) return "";
  return change;
}

std::vector<DenialSummary::Group> DenialSummary::groups(std::size_t limit) const {
  const Directories all = directories();
  std::map<std::string, std::string> changes;  // by key_of(): the policy is asked once
  std::vector<Group> groups;
  std::set<std::size_t> taken;
  for (std::size_t i = 0; i < kinds_.size() && groups.size() < limit; i++) {
    if (taken.contains(i) || is_look_up(kinds_[i])) continue;
    Group group{{i}, kinds_[i].allow};
    if (kinds_[i].uncovered) {
      const auto& [key, beside] = *all.find(key_of(kinds_[i]));
      const auto [change, asked_first] = changes.try_emplace(key);
      if (asked_first) change->second = change_of(beside);
      if (!change->second.empty()) group = {beside, change->second};
    }
    taken.insert(group.kinds.begin(), group.kinds.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

bool DenialSummary::whole() const { return beyond_ == 0 && groups(kMostRemedies + 1).size() <= kMostRemedies; }

std::vector<DenialSummary::Remedy> DenialSummary::remedies() const {
  std::vector<Remedy> all;
  for (const Group& group : groups(kMostRemedies)) {
    const Kind& first = kinds_[group.kinds.front()];
    Remedy remedy{first.line, group.change, "", {}, first.operation};
    if (group.kinds.size() > 1) remedy.directory = directory_of(first.path);
    for (const std::size_t i : group.kinds)
      if (!kinds_[i].path.empty()) remedy.paths.push_back(kinds_[i].path);
    all.push_back(std::move(remedy));
  }
  return all;
}

std::string DenialSummary::text(std::size_t limit) const {
  std::string text;
  auto told = static_cast<std::size_t>(std::ranges::count_if(kinds_, [&](const Kind& one) { return is_look_up(one); }));
  std::vector<std::string> changes;
  for (const Group& group : groups(limit)) {
    const Kind& first = kinds_[group.kinds.front()];
    told += group.kinds.size();
    text += first.line + (first.times > 1 ? fmt::format(", {} times", first.times) : "") + "\n";
    if (group.kinds.size() > 1)
      text += printable(fmt::format("  and of {} more in {}, all of which this opens:", group.kinds.size() - 1,
                                    directory_of(first.path))) +
              "\n";
    text += remedy_lines(group.change, first.relaxation);
    if (!group.change.empty() && std::ranges::find(changes, group.change) == changes.end())
      changes.push_back(group.change);
  }
  if (const std::uint64_t rest = kinds_.size() - told + beyond_; rest > 0) text += fmt::format("… and {} more\n", rest);
  if (policy_ == nullptr || changes.size() < 2) return text;
  const policy::Combined all = policy::combine(*policy_, changes);
  if (all.left_out.empty()) text += "sbpf: to allow all of these at once:\n" + remedy_lines(all.change, "");
  return text;
}

}  // namespace sbpf::cli
