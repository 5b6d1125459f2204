// SPDX-License-Identifier: Apache-2.0
#include "cli/lesson.h"

#include <sys/stat.h>

#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/denial_summary.h"
#include "cli/input.h"
#include "policy/advice.h"
#include "policy/image.h"

namespace sbpf::cli {
namespace {

namespace fs = std::filesystem;

// The temporary directory that the path lies in; "": none.
std::string temporary_place_of(const std::string& path) {
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"})
    if (path.starts_with(std::string(place) + "/")) return place;
  return "";
}

bool is_bind(const std::string& hook) {
  return hook.starts_with("bind") || hook == "socket_bind" || hook == "socket_listen";
}

// From here on a port is one that the kernel chose: net.ipv4.ip_local_port_range as it is everywhere.
constexpr std::uint64_t kFirstChosenPort = 32768;

std::optional<policy::Address> address_in(const Json& event) {
  return policy::parse_address(text_in(event, "address"));
}

// The ports of loopback at which the command would have a server.
std::set<std::uint64_t> ports_of_servers(const std::vector<Json>& events) {
  std::set<std::uint64_t> ports;
  for (const Json& event : events)
    if (const auto address = address_in(event);
        address && policy::is_loopback(*address) && is_bind(text_in(event, "hook")))
      ports.insert(number_in(event, "port"));
  return ports;
}

// A server of the command's own, or a port of one, which is another each time: on loopback; or at a port that the
// kernel is to choose, which nobody outside could know; or a client's by UDP, which chose its port by chance.
bool is_own_port(const Json& event, const std::set<std::uint64_t>& servers) {
  const std::uint64_t port = number_in(event, "port");
  const auto address = address_in(event);
  if (text_in(event, "reason") != to_string(SBPF_REASON_NO_RULE) || !address) return false;
  if (policy::is_wildcard(*address))
    return is_bind(text_in(event, "hook")) && (port == 0 || text_in(event, "protocol") == "udp");
  return policy::is_loopback(*address) && (servers.contains(port) || port == 0 || port >= kFirstChosenPort);
}

bool can_have_own_loopback(const policy::Policy& policy) {
  return policy.network.loopback != policy::Loopback::private_namespace &&
         policy::with_change(policy, "network: {loopback: private}").has_value();
}

// The name that the sandbox's resolver refused; "": it is another denial.
std::string refused_name_of(const Json& event) {
  return text_in(event, "reason") == to_string(SBPF_REASON_NAME) ? text_in(event, "name") : "";
}

// C libraries ask for a name that nobody answers for below the domains of resolv.conf's `search`, too.
bool is_searched_for(const std::string& name, const std::set<std::string>& names) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
    if (names.contains(name.substr(0, dot))) return true;
  return false;
}

// The names that the command asked for itself.
std::set<std::string> names_in(const std::vector<Json>& events) {
  std::set<std::string> names;
  for (const Json& event : events) names.insert(refused_name_of(event));
  names.erase("");
  std::erase_if(names, [all = names](const std::string& name) { return is_searched_for(name, all); });
  return names;
}

// What else is in a directory that is opened.
std::string others_in(const DenialSummary::Remedy& remedy) {
  constexpr std::size_t kMost = 10000, kNamed = 3;
  const std::set<std::string> asked(remedy.paths.begin(), remedy.paths.end());
  std::string names;
  std::size_t others = 0;
  std::error_code error;
  for (fs::directory_iterator entry(remedy.directory, error), end; !error && entry != end && others < kMost;
       entry.increment(error)) {
    if (asked.contains(entry->path())) continue;
    if (others++ < kNamed) names += (names.empty() ? "" : ", ") + entry->path().filename().string();
  }
  const char* what = remedy.operation == "write" ? "written" : "read";
  if (others == 0) return fmt::format("{}: what comes there later may be {}, too", remedy.directory, what);
  return fmt::format("{}: {} more may be {} there that were not asked for: {}{}", remedy.directory, others, what, names,
                     others > kNamed ? "…" : "");
}

// Does a rule of the policy deny or protect the file?
bool is_ruled_out(const policy::Policy& policy, const std::string& path, bool writes) {
  const auto operation = writes ? policy::FsOperation::write : policy::FsOperation::read;
  const std::string rule = policy::explain_path(policy, operation, path).rule;
  return rule.starts_with("filesystem.deny:") || rule.starts_with("filesystem.protect:");
}

constexpr const char* kSecrets = "secrets may be there";
constexpr const char* kRun = "the host may run what is put there, or do as it says";

std::string why_of_name(const std::string& path, bool writes) {
  if (policy::is_of_the_kernel(path)) return "it is a device, or the kernel's own";
  if (policy::may_hold_secrets(path)) return kSecrets;
  return writes && policy::may_be_run_by_host(path) ? kRun : "";
}

// A rule for a directory is one for all below it.
std::string why_of_directory(const std::string& directory, bool writes) {
  constexpr std::size_t kMost = 20000;
  if (std::ranges::count(directory, '/') < 2) return "it is close to the root, and all below it would be open";
  std::error_code error;
  std::size_t seen = 0;
  fs::recursive_directory_iterator entry(directory, error), end;
  for (; !error && entry != end; entry.increment(error)) {
    if (++seen > kMost) return "there is too much below it to be looked through";
    const std::string path = entry->path();
    const std::string below = path.substr(directory.size());
    if (policy::may_hold_secrets(below)) return fmt::format("{}: {}", kSecrets, path);
    if (writes && policy::may_be_run_by_host(below)) return fmt::format("{}: {}", kRun, path);
    const fs::file_type type = entry->symlink_status(error).type();
    if (type == fs::file_type::block || type == fs::file_type::character) return fmt::format("{} is a device", path);
  }
  return error ? "not all below it can be looked at" : "";
}

std::string why_of_path(const std::string& path, bool writes) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(path, error).type();
  if (type == fs::file_type::block || type == fs::file_type::character) return "it is a device";
  if (std::string why = why_of_name(path, writes); !why.empty()) return why;
  return type == fs::file_type::directory ? why_of_directory(path, writes) : "";
}

// Why a person decides; "": nobody has to.
std::string why_withheld(const policy::Policy& policy, const DenialSummary::Remedy& remedy) {
  if (remedy.change.empty()) return "only a relaxation allows it, or nothing does";
  if (remedy.change.starts_with("network: {unix")) return "a service of the host's may do more there than it seems";
  if (remedy.change.find("kernel: {") != std::string::npos) return "it is an interface of the kernel";
  if (remedy.change.find("deny_writable") != std::string::npos) return "it could run whatever it writes";
  const bool writes = remedy.operation == "write";
  std::vector<std::string> paths = remedy.paths;
  if (!remedy.directory.empty()) paths.push_back(remedy.directory);
  for (const std::string& path : paths) {
    if (is_ruled_out(policy, path, writes)) return "a rule of the policy denies or protects it";
    if (std::string why = why_of_path(path, writes); !why.empty()) return why;
  }
  return "";
}

using Inode = std::pair<dev_t, ino_t>;

// The files that it asked for, as far as they are there.
std::set<Inode> inodes_of(const DenialSummary::Remedy& remedy) {
  std::set<Inode> all;
  struct stat info {};
  for (const std::string& path : remedy.paths)
    if (::stat(path.c_str(), &info) == 0) all.insert({info.st_dev, info.st_ino});
  return all;
}

// Rules name inodes: a file that is withheld is withheld by its other names, too.
void withhold_by_other_names(std::vector<std::pair<DenialSummary::Remedy, std::string>>& decided) {
  std::set<Inode> withheld;
  for (const auto& [remedy, why] : decided)
    if (!why.empty()) withheld.merge(inodes_of(remedy));
  for (auto& [remedy, why] : decided)
    if (why.empty() && std::ranges::any_of(inodes_of(remedy), [&](const Inode& one) { return withheld.contains(one); }))
      why = "it is another name of a file that stays denied";
}

}  // namespace

Lesson learn_from(const policy::Policy& policy, const std::vector<Json>& events, bool own_places) {
  Lesson lesson;
  DenialSummary denials(&policy);
  std::set<std::string> places;
  const std::set<std::string> names = names_in(events);
  const std::set<std::uint64_t> servers = ports_of_servers(events);
  bool own_ports = false;
  const bool own_loopback = own_places && can_have_own_loopback(policy);
  for (const Json& event : events) {
    const std::string place = temporary_place_of(text_in(event, "path"));
    if (own_places && !place.empty() && text_in(event, "reason") == to_string(SBPF_REASON_FS_DEFAULT))
      places.insert(place);
    else if (own_loopback && is_own_port(event, servers))
      own_ports = true;
    else if (const std::string name = refused_name_of(event); name.empty() || names.contains(name))
      denials.add(event);
  }
  lesson.whole = denials.whole();
  for (const std::string& place : places) lesson.changes.push_back(fmt::format("filesystem: {{private: [{}]}}", place));
  if (own_ports) lesson.changes.emplace_back("network: {loopback: private}");
  for (const std::string& name : names)
    if (!policy::host_suggestion(name).empty())
      lesson.opened.push_back(name + ": port 443, as nobody tells a resolver which one a name is asked for");
  std::vector<std::pair<DenialSummary::Remedy, std::string>> decided;
  for (const DenialSummary::Remedy& remedy : denials.remedies())
    decided.emplace_back(remedy, why_withheld(policy, remedy));
  withhold_by_other_names(decided);
  for (const auto& [remedy, why] : decided) {
    if (!why.empty()) {
      lesson.withheld.push_back({remedy.line, why, remedy.change});
      continue;
    }
    lesson.changes.push_back(remedy.change);
    if (!remedy.directory.empty()) lesson.opened.push_back(others_in(remedy));
  }
  return lesson;
}

void add_withheld(std::vector<Withheld>& all, std::vector<Withheld> more) {
  const auto is_same = [](const Withheld& a, const Withheld& b) {
    const auto denied = [](const Withheld& one) { return one.line.substr(0, one.line.rfind(" (")); };
    return a.change.empty() && b.change.empty() ? denied(a) == denied(b) : a.change == b.change;
  };
  for (Withheld& one : more)
    if (std::ranges::none_of(all, [&](const Withheld& known) { return is_same(known, one); }))
      all.push_back(std::move(one));
}

}  // namespace sbpf::cli
