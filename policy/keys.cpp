// SPDX-License-Identifier: Apache-2.0
#include "policy/keys.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>

#include "policy/key_text.h"

namespace sbpf::policy::internal {
namespace {

// ---- what rows are made of: members of Policy, by the way to them ----

template <auto... Members>
auto& at(Policy& policy) {
  return (policy.*....*Members);
}
template <auto... Members>
const auto& at(const Policy& policy) {
  return (policy.*....*Members);
}

template <auto... Members>
void replace(Draft& base, Draft& later) {
  at<Members...>(base.policy) = std::move(at<Members...>(later.policy));
}

template <auto... Members>
void append(Draft& base, Draft& later) {
  auto& to = at<Members...>(base.policy);
  auto& from = at<Members...>(later.policy);
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

// Of all rules for a path the last one stands, whichever list has it.
template <auto Rules, auto Belongs>
void replace_rules(Draft& base, Draft& later) {
  for (auto& [path, rule] : (later.*Rules).by_path)
    if (Belongs(rule)) (base.*Rules).by_path.insert_or_assign(path, rule);
}

bool always(const Policy&) { return true; }
bool judges_files(const Policy& policy) { return policy.filesystem.judged(); }
bool has_filesystem(const Policy& policy) { return policy.filesystem.requested; }
bool judges_exec(const Policy& policy) { return policy.exec.judged(); }

// true or false. Written where `Shown` says so.
template <auto Shown, auto... Members>
constexpr Key flag(std::string_view path) {
  return {path,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            const auto value = reader.boolean(node, where);
            if (!value) return;
            at<Members...>(draft.policy) = *value;
            draft.written.insert_or_assign(key.path, reader.where(node));
          },
          replace<Members...>,
          [](const Key& key, const Policy& policy) {
            return Shown(policy) ? line(key, at<Members...>(policy) ? "true" : "false") : "";
          }};
}

// One of some words. A word that is none of them has the code "bad_KEY".
template <auto Shown, auto... Members>
struct Word {
  template <auto... Values>
  static constexpr Key of(std::string_view path) {
    return {path,
            [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
              constexpr std::array kValues = {Values...};
              const auto i = reader.word(node, where, "bad_" + std::string(key.name()), {policy::to_string(Values)...});
              if (!i) return;
              at<Members...>(draft.policy) = kValues[*i];
              draft.written.insert_or_assign(key.path, reader.where(node));
            },
            replace<Members...>,
            [](const Key& key, const Policy& policy) {
              return Shown(policy) ? line(key, policy::to_string(at<Members...>(policy))) : "";
            }};
  }
};

// A value that may be left out, as `Kind` reads and writes it.
template <typename Kind, auto... Members>
constexpr Key optional(std::string_view path) {
  return {path,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            auto& value = at<Members...>(draft.policy);
            value = reader.value<std::remove_cvref_t<decltype(*value)>>(node, where, Kind::kExpected, Kind::parse);
            if (value) draft.written.insert_or_assign(key.path, reader.where(node));
          },
          replace<Members...>,
          [](const Key& key, const Policy& policy) {
            const auto& value = at<Members...>(policy);
            return value ? line(key, Kind::text(*value)) : "";
          }};
}

// A list, which is united with that of what is extended.
template <auto Read, auto Write, auto... Members>
constexpr Key list(std::string_view path) {
  return {path,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            draft.written.insert_or_assign(key.path, reader.where(node));
            Read(node, where, reader, at<Members...>(draft.policy));
          },
          append<Members...>, Write};
}

// What its own functions read, put over what is extended, and write.
template <auto Read, auto Merge, auto Write>
constexpr Key own(std::string_view path) {
  return {path,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            draft.written.insert_or_assign(key.path, reader.where(node));
            Read(node, where, reader, draft);
          },
          Merge, Write};
}

// A map of keys.
template <auto Write>
constexpr Key section(std::string_view path) {
  return {path,
          [](const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
            draft.written.insert_or_assign(key.path, reader.where(node));
            read_section(key.path, node, where, reader, draft);
          },
          nullptr, Write};
}

constexpr Key later(std::string_view path, const char* hint) { return {path, nullptr, nullptr, nullptr, hint}; }

// A list of paths of `filesystem`.
template <FsAccess Access>
struct FsPaths {
  static void read(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) { read_fs_paths(node, where, Access, reader, draft); }
  static bool belongs(const FsRule& rule) { return rule.access == Access; }
  static std::string write(const Key& key, const Policy& policy) { return fs_paths_text(key, policy, Access); }
};
template <FsAccess Access>
constexpr Key fs_paths(std::string_view path) {
  using List = FsPaths<Access>;
  return own<List::read, replace_rules<&Draft::filesystem, List::belongs>, List::write>(path);
}

// ---- values ----

constexpr std::uint64_t kMaxProcesses = 4194304;                    // the kernel's PID_MAX_LIMIT
constexpr std::uint64_t kFewestFiles = 8, kMostFiles = 1073741816;  // no program starts below; the kernel's most
constexpr std::uint64_t kSmallestStack = 128 << 10;                 // arguments have a quarter of it

struct Processes {
  static constexpr std::string_view kExpected = "a number";
  static Value<std::uint64_t> parse(std::string_view text) {
    const auto number = parse_number(text);
    if (number && *number >= 1 && *number <= kMaxProcesses) return *number;
    return tl::unexpected(BadValue{"bad_processes", quoted(text) + " is not a number of processes",
                                   "write a number from 1 to " + std::to_string(kMaxProcesses)});
  }
  static std::string text(std::uint64_t number) { return std::to_string(number); }
};

struct OpenFiles {
  static constexpr std::string_view kExpected = "a number";
  static Value<std::uint64_t> parse(std::string_view text) {
    const auto number = parse_number(text);
    if (number && *number >= kFewestFiles && *number <= kMostFiles) return *number;
    return tl::unexpected(BadValue{"bad_open_files", quoted(text) + " is not a number of open files",
                                   "write a number from " + std::to_string(kFewestFiles) + " to " + std::to_string(kMostFiles)});
  }
  static std::string text(std::uint64_t number) { return std::to_string(number); }
};

struct Memory {
  static constexpr std::string_view kExpected = "an amount such as 512MiB";
  static Value<std::uint64_t> parse(std::string_view text) { return parse_memory(text); }
  static std::string text(std::uint64_t bytes) { return memory_text(bytes); }
};

// Of a limit of each process.
template <std::uint64_t Least>
struct Size {
  static constexpr std::string_view kExpected = "an amount such as 64MiB";
  static Value<std::uint64_t> parse(std::string_view text) {
    if (text == "0" && Least == 0) return std::uint64_t{0};
    auto size = parse_memory(text);
    if (size && *size < Least)
      return tl::unexpected(BadValue{"bad_memory", quoted(text) + " is too little for any program", "write at least " + memory_text(Least)});
    return size;
  }
  static std::string text(std::uint64_t bytes) { return memory_text(bytes); }
};

struct Cpu {
  static constexpr std::string_view kExpected = "a number such as 1.5";
  static Value<std::uint32_t> parse(std::string_view text) { return parse_cpu(text); }
  static std::string text(std::uint32_t millis) { return cpu_text(millis); }
};

struct Time {
  static constexpr std::string_view kExpected = "a time such as 10m";
  static Value<std::chrono::milliseconds> parse(std::string_view text) { return parse_timeout(text); }
  static std::string text(std::chrono::milliseconds time) { return timeout_text(time); }
};

void read_exec_allow(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  read_exec_paths(node, where, true, reader, draft);
}
void read_exec_deny(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  read_exec_paths(node, where, false, reader, draft);
}
bool is_exec_allow(const ExecRule& rule) { return rule.allow && rule.sha256.empty(); }
bool is_exec_sha256(const ExecRule& rule) { return !rule.sha256.empty(); }
bool is_exec_deny(const ExecRule& rule) { return !rule.allow; }

void append_connect(Draft& base, Draft& later) {
  append<&Policy::network, &Network::connect>(base, later);
  append<&Policy::network, &Network::hosts>(base, later);
}

void replace_unix(Draft& base, Draft& later) {
  for (auto& [peer, rule] : later.unix_peers) base.unix_peers.insert_or_assign(peer, std::move(rule));
}

void replace_env_set(Draft& base, Draft& later) {
  for (auto& [name, value] : later.policy.env.set) base.policy.env.set.insert_or_assign(name, std::move(value));
}

void replace_secrets(Draft& base, Draft& later) {
  for (auto& [name, secret] : later.secrets) base.secrets.insert_or_assign(name, std::move(secret));
}

// `none` stands for the whole section.
void read_network(const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  draft.written.insert_or_assign(key.path, reader.where(node));
  if (node.kind == YamlNode::Kind::scalar && node.text == "none")
    draft.network_none = true;
  else if (node.kind == YamlNode::Kind::map)
    read_section(key.path, node, where, reader, draft);
  else
    reader.error(node, where,
                 {"wrong_type", "a map, or the word none, is expected here",
                  "write network: none to deny everything, or the keys connect and bind"});
}

bool records_flows(const Policy& policy) { return policy.network.record_flows; }

constexpr auto kNetwork = &Policy::network;
constexpr auto kLimits = &Policy::limits;
constexpr auto kKernel = &Policy::kernel;
constexpr auto kLaunch = &Policy::launch;

constexpr Key kKeys[] = {
    own<read_version, nullptr, version_text>("version"),
    own<read_name, replace<&Policy::name>, name_text>("name"),
    own<read_extends, nullptr, nullptr>("extends"),
    Word<always, &Policy::mode>::of<Mode::enforce, Mode::audit>("mode"),
    Word<always, &Policy::on_loss>::of<OnLoss::freeze, OnLoss::kill, OnLoss::alert>("on_loss"),

    {"network", read_network, nullptr, head_text},
    own<read_connect, append_connect, connect_text>("network.connect"),
    list<read_bind, bind_text, kNetwork, &Network::bind>("network.bind"),
    flag<always, kNetwork, &Network::dangerously_allow_all>("network.dangerously_allow_all"),
    flag<always, kNetwork, &Network::dangerously_allow_metadata>("network.dangerously_allow_metadata"),
    list<read_sockets, sockets_text, kNetwork, &Network::dangerously_allow_sockets>("network.dangerously_allow_sockets"),
    flag<records_flows, kNetwork, &Network::record_flows>("network.record_flows"),
    section<dns_text>("network.dns"),
    own<read_resolver, replace<kNetwork, &Network::resolver>, nullptr>("network.dns.resolver"),
    list<read_trusted_programs, trusted_programs_text, kNetwork, &Network::trusted_programs>("network.trusted_programs"),
    list<read_network_interfaces, interfaces_text, kNetwork, &Network::interfaces>("network.interfaces"),
    own<read_unix, replace_unix, unix_text>("network.unix"),

    section<filesystem_text>("filesystem"),
    Word<judges_files, &Policy::filesystem, &Filesystem::fallback>::of<FsDefault::deny, FsDefault::read, FsDefault::write>("filesystem.default"),
    fs_paths<FsAccess::read>("filesystem.read"),
    fs_paths<FsAccess::write>("filesystem.write"),
    fs_paths<FsAccess::deny>("filesystem.deny"),
    fs_paths<FsAccess::protect>("filesystem.protect"),
    flag<has_filesystem, &Policy::filesystem, &Filesystem::dangerously_allow_all>("filesystem.dangerously_allow_all"),

    section<head_text>("process"),
    section<exec_text>("process.exec"),
    own<read_exec_allow, replace_rules<&Draft::exec, is_exec_allow>, exec_allow_text>("process.exec.allow"),
    own<read_exec_deny, replace_rules<&Draft::exec, is_exec_deny>, exec_deny_text>("process.exec.deny"),
    own<read_exec_sha256, replace_rules<&Draft::exec, is_exec_sha256>, exec_sha256_text>("process.exec.sha256"),
    flag<judges_exec, &Policy::exec, &Exec::deny_writable>("process.exec.deny_writable"),
    section<head_text>("process.env"),
    list<read_env_allow, env_allow_text, &Policy::env, &Env::allow>("process.env.allow"),
    own<read_env_set, replace_env_set, env_set_text>("process.env.set"),
    section<limits_text>("process.limits"),
    optional<Processes, kLimits, &Limits::processes>("process.limits.processes"),
    optional<Memory, kLimits, &Limits::memory_bytes>("process.limits.memory"),
    optional<Cpu, kLimits, &Limits::cpu_millis>("process.limits.cpu"),
    optional<Time, kLimits, &Limits::timeout>("process.limits.timeout"),
    optional<OpenFiles, kLimits, &Limits::open_files>("process.limits.open_files"),
    optional<Size<1>, kLimits, &Limits::file_size>("process.limits.file_size"),
    optional<Size<0>, kLimits, &Limits::core>("process.limits.core"),
    optional<Size<kSmallestStack>, kLimits, &Limits::stack>("process.limits.stack"),
    optional<Size<0>, kLimits, &Limits::locked_memory>("process.limits.locked_memory"),
    own<read_seccomp, replace<kLaunch, &Launch::seccomp>, seccomp_text>("process.seccomp"),
    own<read_capabilities, replace<kLaunch, &Launch::capabilities>, capabilities_text>("process.capabilities"),
    own<read_user, replace<kLaunch, &Launch::user>, user_text>("process.user"),
    flag<always, kLaunch, &Launch::dangerously_allow_new_privileges>("process.dangerously_allow_new_privileges"),
    section<head_text>("process.kernel"),
    list<read_closed_interfaces, kernel_allow_text, kKernel, &KernelAccess::allow>("process.kernel.allow"),
    list<read_open_interfaces, kernel_deny_text, kKernel, &KernelAccess::deny>("process.kernel.deny"),
    list<read_host_capabilities, host_capabilities_text, kKernel, &KernelAccess::dangerously_allow_capabilities>("process.kernel.dangerously_allow_capabilities"),
    own<read_secrets, replace_secrets, secrets_text>("process.secrets"),
    later("process.runtime", "the choice of a runtime comes in a later version; choose it where the container is made"),

    later("inference", "the inference proxy comes in a later version; allow the address of your own in network.connect"),
};

}  // namespace

std::string Key::indent() const { return std::string(2 * static_cast<std::size_t>(std::ranges::count(path, '.')), ' '); }

std::span<const Key> keys() { return kKeys; }

void read_section(std::string_view section, const YamlNode& node, const std::string& at, Reader& reader, Draft& draft) {
  std::vector<Reader::Field> fields;
  std::vector<Reader::Later> unsupported;
  for (const Key& key : kKeys) {
    if (key.section() != section) continue;
    if (key.unsupported != nullptr)
      unsupported.push_back({key.name(), key.unsupported});
    else
      fields.push_back({key.name(), [&](const YamlNode& value, const std::string& where) { key.read(key, value, where, reader, draft); }});
  }
  reader.map(node, at, fields, unsupported);
}

void merge(Draft& base, Draft later) {
  if (later.network_none) {
    base.network_none = true;  // for whoever merges the result of this merge over something else
    base.policy.network = {};
    base.unix_peers.clear();
  }
  for (const Key& key : kKeys) {
    const auto written = later.written.find(key.path);
    if (written == later.written.end()) continue;
    if (key.merge != nullptr) key.merge(base, later);
    base.written.insert_or_assign(key.path, written->second);
  }
}

}  // namespace sbpf::policy::internal
