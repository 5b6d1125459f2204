// SPDX-License-Identifier: Apache-2.0
// How a policy is found, read and checked, with the seccomp profile that it names.
#include <fmt/core.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/file.h"
#include "base/nearest.h"
#include "base/sha256.h"
#include "cli/common.h"
#include "cli/format.h"
#include "cli/more_rules.h"
#include "policy/filesystem.h"
#include "policy/seccomp.h"

namespace sbpf::cli {
namespace {

namespace fs = std::filesystem;

bool is_path(std::string_view reference) {
  return reference.find('/') != std::string_view::npos || reference.ends_with(".yaml") || reference.ends_with(".yml");
}

fs::path installed_path(std::string_view name) { return fs::path(kPolicyDirectory) / (std::string(name) + ".yaml"); }

// One byte more than there may be, so that a text that is too large is told as that.
std::optional<std::string> read_text(const fs::path& path) {
  return read_up_to(path.string(), policy::kMaxTextBytes + 1);
}

struct PolicyText {
  std::string text, file;
  fs::path directory;  // to which the paths in `extends` are relative
};

// What `extends` may name. Without a directory: no files.
policy::ProfileSource profiles_from(const std::optional<fs::path>& directory) {
  return [directory](std::string_view name) -> std::optional<std::string> {
    if (auto text = policy::built_in_profile(name)) return text;
    if (name.find('/') == std::string_view::npos) return read_text(installed_path(name));
    std::error_code error;  // a pipe would be waited for
    if (!directory || !fs::is_regular_file(*directory / name, error)) return std::nullopt;
    return read_text(*directory / name);
  };
}

// The same, where the policy itself was read: that is not read again.
constexpr std::string_view kThePolicy = "./(the policy)";

policy::ProfileSource profiles_beside(const PolicyText& found) {
  return [found, others = profiles_from(found.directory)](std::string_view name) {
    return name == kThePolicy ? std::optional(found.text) : others(name);
  };
}

Result<PolicyText> find_policy(const std::string& reference) {
  if (auto text = policy::built_in_profile(reference)) return PolicyText{*text, "built-in:" + reference, {}};
  const fs::path path = is_path(reference) ? fs::path(reference) : installed_path(reference);
  if (auto text = read_text(path)) return PolicyText{*text, printable(path.string()), path.parent_path()};
  const int error = errno;
  if (is_path(reference) || error != ENOENT)
    return fail("no_such_policy", SystemError{error}, "cannot read policy {}", path.string());

  std::vector<std::string> names = policy::built_in_profile_names();
  std::ranges::move(installed_policy_names(), std::back_inserter(names));
  std::error_code ignored;
  std::string hint = "`sbpf policy list` shows the names; a file is given by its path";
  if (fs::exists(reference, ignored))
    hint = fmt::format("to use the file, write ./{}", reference);
  else if (std::string near = did_you_mean(reference, names); !near.empty())
    hint = std::move(near);
  return fail("no_such_policy", fmt::format("no policy is named {}", reference), hint);
}

using Faults = std::vector<policy::Diagnostic>;

tl::unexpected<PolicyError> invalid(const std::string& reference, Faults faults) {
  std::string text = policy::format(faults);
  while (text.ends_with('\n')) text.pop_back();
  auto error = fail("invalid_policy", fmt::format("policy {} is not valid\n{}", printable(reference), text));
  return tl::unexpected<PolicyError>(PolicyError{std::move(error.value()), std::move(faults)});
}

tl::unexpected<PolicyError> other(Error error) {
  return tl::unexpected<PolicyError>(PolicyError{std::move(error), {}});
}

// Reads the profile that process.seccomp names by path: from here on the policy is what it was when it was read.
tl::expected<void, Faults> load_seccomp(policy::Policy& policy) {
  policy::Seccomp& seccomp = policy.launch.seccomp;
  if (seccomp.kind != policy::SeccompKind::file) return {};
  const auto wrong = [&seccomp](const char* code, std::string message, std::string hint) {
    return tl::unexpected<Faults>(
        Faults{{seccomp.where, code, "process.seccomp", std::move(message), std::move(hint)}});
  };
  std::error_code error;
  constexpr std::uintmax_t kMaxBytes = 1 << 20;
  const bool regular = fs::is_regular_file(seccomp.path, error) && fs::file_size(seccomp.path, error) <= kMaxBytes;
  auto text = regular ? read_text(seccomp.path) : std::nullopt;
  if (!text)
    return wrong("no_such_profile",
                 fmt::format("cannot read {}: {}", seccomp.path,
                             error     ? error.message()
                             : regular ? std::strerror(errno)
                                       : "not a file of at most 1 MiB"),
                 "name an OCI seccomp profile; `sbpf policy seccomp` prints one to start from");
  Sha256 digest;
  digest.add(text->data(), text->size());
  const std::string sha256 = policy::hex(digest.finish());
  if (!seccomp.sha256.empty() && seccomp.sha256 != sha256)
    return wrong("other_content", fmt::format("{} has the SHA-256 {}", seccomp.path, sha256),
                 "the policy expects another digest: write this one, or remove sha256");
  if (auto profile = policy::parse_seccomp(*text, seccomp.path); !profile)
    return tl::unexpected<Faults>(std::move(profile.error()));
  seccomp.sha256 = sha256;
  seccomp.text = std::move(*text);
  return {};
}

tl::expected<LoadedPolicy, PolicyError> read_text_of(const PolicyText& found, const std::string& reference,
                                                     const policy::ProfileSource& profiles, bool with_files) {
  auto parsed = policy::parse(found.text, found.file, profiles);
  if (!parsed) return invalid(reference, std::move(parsed.error()));
  if (auto read = with_files ? load_seccomp(*parsed) : tl::expected<void, Faults>(); !read)
    return invalid(reference, std::move(read.error()));
  auto image = policy::compile_rules(*parsed, 1, policy::empty_view(*parsed));
  if (!image) return other(fail(image.error(), fmt::format("policy {}", reference)).value());
  return LoadedPolicy{std::move(*parsed), std::move(*image)};
}

}  // namespace

Result<void> read_seccomp_profile(policy::Policy& policy) {
  auto read = load_seccomp(policy);
  return read ? Result<void>() : fail("invalid_policy", policy::format(read.error()));
}

tl::expected<LoadedPolicy, PolicyError> read_policy(const std::string& reference, bool with_files) {
  auto found = find_policy(reference);
  if (!found) return other(std::move(found.error()));
  // An installed policy is root's word, whoever asks for it.
  const bool reads = with_files || !is_path(reference);
  return read_text_of(*found, reference, profiles_from(reads ? std::optional(found->directory) : std::nullopt),
                      with_files);
}

Result<LoadedPolicy> load_policy(const std::string& reference, bool with_files) {
  auto loaded = read_policy(reference, with_files);
  if (!loaded) return tl::unexpected<Error>(std::move(loaded.error().error));
  return std::move(*loaded);
}

Result<LoadedPolicy> load_policy(const std::string& reference, const MoreRules& more) {
  if (more.empty()) return load_policy(reference);
  const auto found = find_policy(reference);
  if (!found) return tl::unexpected<Error>(found.error());
  const auto profiles = profiles_beside(*found);
  auto loaded = read_text_of(*found, reference, profiles, true);
  if (!loaded) return tl::unexpected<Error>(std::move(loaded.error().error));
  auto text = extending_policy(std::string(kThePolicy), loaded->policy, more);
  if (!text) return tl::unexpected<Error>(text.error());
  loaded = read_text_of({*text, "the command line", {}}, reference, profiles, true);
  if (!loaded) return tl::unexpected<Error>(std::move(loaded.error().error));
  return std::move(*loaded);
}

std::string policy_origin(const std::string& reference) {
  if (policy::built_in_profile(reference)) return "built-in";
  return is_path(reference) ? reference : installed_path(reference).string();
}

std::vector<std::string> installed_policy_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(kPolicyDirectory, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".yaml") names.push_back(entry->path().stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace sbpf::cli
