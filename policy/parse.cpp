// SPDX-License-Identifier: Apache-2.0
// Policy files -> Policy: reads the file and all that it extends, merges, and checks the whole.
//
// What `extends` means. The profiles and files are taken in the order in which they are named, each with what it
// extends in turn, and the policy itself comes last:
//   - a single value that is written later replaces the earlier one; one that is not written leaves it;
//   - lists are united; a profile's entry cannot be taken back one by one, but (how each key merges: policy/keys.cpp)
//   - `network: none` drops all of the network part that came before it, dangerously_* included;
//   - filesystem rules are united, as are exec rules; a later rule for a path replaces the earlier one of that very
//     path and section, but what one profile makes private no other opens again; process.exec.allow, once written,
//     makes what no rule covers denied;
//   - env.set and secrets are merged name by name, the later one replaces the earlier;
//   - name and version are the policy's own.
// Defaults stand for what nobody wrote: mode enforce, on_loss freeze, no network, files not judged (filesystem.default
// deny, where any of the files has the section), env.allow [HOME, LANG, PATH, TERM], no limits,
// seccomp default, no capabilities, the caller's user, no new privileges.
#include <fmt/core.h>
#include <algorithm>
#include <tuple>

#include "base/nearest.h"
#include "policy/entry_text.h"
#include "policy/image.h"
#include "policy/keys.h"
#include "policy/loopback.h"
#include "policy/via.h"
#include "policy/yaml_ready.h"

namespace sbpf::policy {
namespace {

using internal::Draft;

// One spelling for each set, so that a policy equals what is read back from its canonical text.
template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void normalise(std::vector<Endpoint>& entries) {
  const auto content = [](const Endpoint& e) { return std::tie(e.address, e.prefix, e.protocol, e.ports, e.via); };
  std::stable_sort(entries.begin(), entries.end(),
                   [&](const Endpoint& a, const Endpoint& b) { return content(a) < content(b); });
  const auto same = [&](const Endpoint& a, const Endpoint& b) { return content(a) == content(b); };
  entries.erase(std::unique(entries.begin(), entries.end(), same), entries.end());
}

void normalise(std::vector<HostRule>& hosts) {
  const auto content = [](const HostRule& h) { return std::tie(h.pattern, h.protocol, h.ports, h.via); };
  std::stable_sort(hosts.begin(), hosts.end(),
                   [&](const HostRule& a, const HostRule& b) { return content(a) < content(b); });
  const auto same = [&](const HostRule& a, const HostRule& b) { return content(a) == content(b); };
  hosts.erase(std::unique(hosts.begin(), hosts.end(), same), hosts.end());
}

class Loader {
 public:
  Loader(const ProfileSource& profiles, std::vector<Diagnostic>& diagnostics)
      : profiles_(profiles), diagnostics_(diagnostics) {}

  // Reads a file, and under it what it extends.
  Draft load(std::string_view text, std::string_view file) {
    ++files_;
    auto ready = internal::ready_tree(text);
    const auto tree =
        ready ? tl::expected<internal::YamlNode, Diagnostic>(std::move(*ready)) : internal::load_yaml(text, file);
    if (!tree) {
      internal::report(diagnostics_, tree.error());
      return {};
    }
    internal::Reader reader(file, diagnostics_);
    Draft own;
    internal::read_section("", *tree, "", reader, own);
    if (tree->kind == internal::YamlNode::Kind::map) {
      if (!own.wrote("version"))
        reader.error(*tree, "version", {"missing_key", "the policy has no version", "add version: 1"});
      if (!own.wrote("name"))
        reader.error(*tree, "name", {"missing_key", "the policy has no name", "add name: my-policy"});
    }
    Draft merged;
    for (std::size_t i = 0; i < own.extends.size(); ++i)
      load_profile(own.extends[i], fmt::format("extends[{}]", i), merged);
    internal::merge(merged, std::move(own));
    return merged;
  }

 private:
  // A file's path is relative to the file that names it. What a profile of another kind names is never a file of this
  // tree: an installed profile means the same wherever it is extended.
  std::optional<std::string> reference_of(const std::string& written) const {
    if (!internal::is_file_reference(written)) return written;
    if (!chain_.empty() && !internal::is_file_reference(chain_.back())) return std::nullopt;
    return internal::file_reference(chain_.empty() ? "" : chain_.back(), written);
  }

  void load_profile(const internal::Placed<std::string>& profile, const std::string& key, Draft& merged) {
    const auto error = [&](const char* code, std::string message, std::string hint) {
      internal::report(diagnostics_, Diagnostic{profile.where, code, key, std::move(message), std::move(hint)});
    };
    const auto reference = reference_of(profile.value);
    if (!reference) {
      error("unknown_profile", fmt::format("the profile \"{}\" is installed, and extends a file", chain_.back()),
            "install the file as a profile, and extend its name");
      return;
    }
    if (std::find(chain_.begin(), chain_.end(), *reference) != chain_.end()) {
      std::string way;
      for (const std::string& name : chain_) way += name + " -> ";
      error("extends_cycle", fmt::format("the profile \"{}\" extends itself: {}{}", *reference, way, *reference),
            "remove one of these extends");
      return;
    }
    if (files_ > internal::kMaxFiles) {
      error("too_many_profiles", fmt::format("more than {} profiles are extended in all", internal::kMaxFiles),
            "join some of them");
      return;
    }
    const auto text = profiles_ ? profiles_(*reference) : std::nullopt;
    const bool is_file = internal::is_file_reference(*reference);
    if (!text && is_file) {
      error("unknown_profile", fmt::format("the file \"{}\" cannot be read here", *reference),
            "a path is relative to the file that names it; a policy that is not read from a file extends names only");
      return;
    }
    if (!text) {
      const std::vector<std::string> names = built_in_profile_names();
      const std::string near = did_you_mean(profile.value, names);
      error("unknown_profile", fmt::format("there is no profile \"{}\"", profile.value),
            near.empty() ? "name a built-in profile such as runtime-base, or install this one" : near);
      return;
    }
    chain_.push_back(*reference);
    Draft loaded = load(*text, is_file ? *reference : fmt::format("profile {}", *reference));
    chain_.pop_back();
    keep_private(merged, loaded);
    internal::merge(merged, std::move(loaded));
  }

  // Of two profiles neither knows the other, and the order in which they are named is soon chosen wrongly.
  static void keep_private(const Draft& merged, Draft& later) {
    for (const auto& [path, rule] : merged.filesystem.by_path) {
      const auto other = later.filesystem.by_path.find(path);
      if (rule.access == FsAccess::private_place && other != later.filesystem.by_path.end() &&
          other->second.access != FsAccess::deny)
        later.filesystem.by_path.erase(other);
    }
  }

  const ProfileSource& profiles_;
  std::vector<Diagnostic>& diagnostics_;
  std::vector<std::string> chain_;  // the profiles that are being read, outermost first
  std::size_t files_ = 0;
};

Policy finish(Draft draft) {
  Policy policy = std::move(draft.policy);
  normalise(policy.network.hosts);
  normalise(policy.network.connect);
  normalise(policy.network.bind);
  sort_unique(policy.network.dangerously_allow_sockets);
  sort_unique(policy.network.trusted_programs);
  sort_unique(policy.network.interfaces);
  for (auto& [peer, rule] : draft.unix_peers) policy.network.unix_peers.push_back(std::move(rule));
  policy.filesystem.requested = draft.wrote("filesystem");
  for (auto& [path, rule] : draft.filesystem.by_path) policy.filesystem.rules.push_back(std::move(rule));
  policy.exec.allow_listed = draft.wrote("process.exec.allow") || draft.wrote("process.exec.sha256");
  for (auto& [path, rule] : draft.exec.by_path) policy.exec.rules.push_back(std::move(rule));
  if (!draft.wrote("process.env.allow")) policy.env.allow = {"HOME", "LANG", "PATH", "TERM"};
  sort_unique(policy.env.allow);
  sort_unique(policy.kernel.allow);
  sort_unique(policy.kernel.deny);
  sort_unique(policy.kernel.dangerously_allow_capabilities);
  internal::finish_secrets(draft, policy);
  return policy;
}

// A list beside dangerously_allow_all looks as if it limited something.
void check_network_contradiction(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const Network& network = draft.policy.network;
  if (!network.dangerously_allow_all) return;
  const char* list = !network.connect.empty() || !network.hosts.empty() ? "connect"
                     : !network.bind.empty()                            ? "bind"
                     : !network.dangerously_allow_sockets.empty()       ? "dangerously_allow_sockets"
                     : !draft.unix_peers.empty()                        ? "unix"
                                                                        : nullptr;
  if (!list) return;
  internal::report(
      diagnostics,
      Diagnostic{draft.written.at("network.dangerously_allow_all"), "contradiction", "network.dangerously_allow_all",
                 fmt::format("dangerously_allow_all lets everything through, so that {} would limit nothing", list),
                 fmt::format("remove dangerously_allow_all, or all entries of {}, those of extended profiles too "
                             "(network: none in between drops them)",
                             list)});
}

void check_filesystem_contradiction(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  if (!draft.policy.filesystem.dangerously_allow_all) return;
  const auto& rules = draft.filesystem.by_path;
  if (rules.empty() && !draft.wrote("filesystem.default")) return;
  std::string what = "default";
  if (!rules.empty()) {
    const FsRule& rule = rules.begin()->second;
    what = fmt::format("{}: {}", to_string(rule.access), internal::shown(rule.path));
  }
  internal::report(
      diagnostics,
      Diagnostic{draft.written.at("filesystem.dangerously_allow_all"), "contradiction",
                 "filesystem.dangerously_allow_all",
                 fmt::format("dangerously_allow_all lets everything through, so that {} would limit nothing", what),
                 "remove dangerously_allow_all, or default and all paths of filesystem, those "
                 "of extended profiles too"});
}

// An entry that lies wholly where nothing is allowed would say nothing; one that reaches further is cut.
void check_metadata(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  if (draft.policy.network.dangerously_allow_metadata) return;
  for (const Endpoint& entry : draft.policy.network.connect)
    if (is_metadata(entry))
      internal::report(diagnostics, Diagnostic{entry.where, "metadata", "network.connect",
                                               fmt::format("{} is where clouds keep a machine's credentials",
                                                           internal::entry_text(entry)),
                                               "remove the entry, or add dangerously_allow_metadata: true to network"});
}

// Without rules that say what may be written, everything may.
void check_deny_writable(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  if (!draft.policy.exec.deny_writable) return;
  const bool open = draft.policy.filesystem.dangerously_allow_all;
  if (draft.wrote("filesystem") && !open) return;
  internal::report(
      diagnostics,
      Diagnostic{draft.written.at("process.exec.deny_writable"), "needs_filesystem", "process.exec.deny_writable",
                 fmt::format("deny_writable goes by what the filesystem rules let the sandbox write, and {}",
                             open ? "dangerously_allow_all lets it write everything" : "there are none"),
                 "give the policy a section filesystem, or remove deny_writable"});
}

// Without no_new_privs the kernel takes a filter only from who could harm set-user-id programs anyway: a filter makes
// calls of theirs fail that never do otherwise.
void check_new_privileges(const Draft& draft, std::vector<Diagnostic>& diagnostics) {
  const Launch& launch = draft.policy.launch;
  if (!launch.dangerously_allow_new_privileges || launch.seccomp.kind == SeccompKind::dangerously_unconfined) return;
  internal::report(diagnostics, Diagnostic{draft.written.at("process.dangerously_allow_new_privileges"),
                                           "contradiction", "process.dangerously_allow_new_privileges",
                                           "set-user-id programs must not run under a seccomp filter",
                                           "remove it, or write seccomp: dangerously_unconfined as well"});
}

// In the order of the files, and in each from top to bottom.
void sort_by_place(std::vector<Diagnostic>& diagnostics) {
  std::map<std::string, std::size_t> rank;
  for (const Diagnostic& d : diagnostics) rank.try_emplace(d.where.file, rank.size());
  std::stable_sort(diagnostics.begin(), diagnostics.end(), [&rank](const Diagnostic& a, const Diagnostic& b) {
    return std::make_tuple(rank[a.where.file], a.where.line, a.where.column) <
           std::make_tuple(rank[b.where.file], b.where.line, b.where.column);
  });
}

}  // namespace

tl::expected<Policy, std::vector<Diagnostic>> parse(std::string_view text, std::string_view file,
                                                    const ProfileSource& profiles) {
  std::vector<Diagnostic> diagnostics;
  Draft draft = Loader(profiles, diagnostics).load(text, file);
  check_network_contradiction(draft, diagnostics);
  check_filesystem_contradiction(draft, diagnostics);
  check_metadata(draft, diagnostics);
  internal::check_via(draft.policy.network.connect, diagnostics);
  internal::check_loopback(draft, diagnostics);
  check_deny_writable(draft, diagnostics);
  check_new_privileges(draft, diagnostics);
  internal::check_private_places(draft, diagnostics);
  internal::check_secrets(draft, diagnostics);
  if (!diagnostics.empty()) {
    sort_by_place(diagnostics);
    return tl::unexpected(std::move(diagnostics));
  }
  Policy policy = finish(std::move(draft));
  // What cannot be read back is refused here, not when somebody tries.
  if (canonical(policy).size() > kMaxTextBytes)
    return tl::unexpected(std::vector<Diagnostic>{
        Diagnostic{Location{std::string(file), 1, 1}, "too_large", "",
                   "the policy, with all that it extends, is larger than 1 MiB", "use wider prefixes or port ranges"}});
  return policy;
}

}  // namespace sbpf::policy
