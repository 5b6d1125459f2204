// SPDX-License-Identifier: Apache-2.0
// How a policy is found, read and checked, with the seccomp profile that it names.
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
std::optional<std::string> read_text(const fs::path& path) { return read_up_to(path.string(), policy::kMaxTextBytes + 1); }

// What `extends` may name: never a path, so that a policy means the same wherever it is read.
std::optional<std::string> profile_source(std::string_view name) {
  if (auto text = policy::built_in_profile(name)) return text;
  if (is_path(name)) return std::nullopt;
  return read_text(installed_path(name));
}

struct PolicyText {
  std::string text, file;
};

Result<PolicyText> find_policy(const std::string& reference) {
  if (auto text = policy::built_in_profile(reference)) return PolicyText{*text, "built-in:" + reference};
  const fs::path path = is_path(reference) ? fs::path(reference) : installed_path(reference);
  if (auto text = read_text(path)) return PolicyText{*text, printable(path.string())};
  const int error = errno;
  if (is_path(reference) || error != ENOENT)
    return fail("no_such_policy", "cannot read policy " + path.string() + ": " + std::strerror(error), "", error);

  std::vector<std::string> names = policy::built_in_profile_names();
  std::ranges::move(installed_policy_names(), std::back_inserter(names));
  std::error_code ignored;
  std::string hint = "`sbpf policy list` shows the names; a file is given by its path";
  if (fs::exists(reference, ignored))
    hint = "to use the file, write ./" + reference;
  else if (const std::string near = nearest(reference, names); !near.empty())
    hint = "did you mean " + near + "?";
  return fail("no_such_policy", "no policy is named " + reference, hint);
}

std::string text_of(const std::vector<policy::Diagnostic>& diagnostics) {
  std::string text = policy::format(diagnostics);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// Reads the profile that process.seccomp names by path: from here on the policy is what it was when it was read.
Result<void> load_seccomp(policy::Policy& policy) {
  policy::Seccomp& seccomp = policy.launch.seccomp;
  if (seccomp.kind != policy::SeccompKind::file) return {};
  const auto wrong = [&seccomp](const char* code, std::string message, std::string hint) {
    return fail("invalid_policy", text_of({{seccomp.where, code, "process.seccomp", std::move(message), std::move(hint)}}));
  };
  std::error_code error;
  constexpr std::uintmax_t kMaxBytes = 1 << 20;
  const bool regular = fs::is_regular_file(seccomp.path, error) && fs::file_size(seccomp.path, error) <= kMaxBytes;
  auto text = regular ? read_text(seccomp.path) : std::nullopt;
  if (!text)
    return wrong("no_such_profile",
                 "cannot read " + seccomp.path + ": " +
                     (error     ? error.message()
                      : regular ? std::strerror(errno)
                                : "not a file of at most 1 MiB"),
                 "name an OCI seccomp profile; `sbpf policy seccomp` prints one to start from");
  Sha256 digest;
  digest.add(text->data(), text->size());
  const std::string sha256 = policy::hex(digest.finish());
  if (!seccomp.sha256.empty() && seccomp.sha256 != sha256)
    return wrong("other_content", seccomp.path + " has the SHA-256 " + sha256,
                 "the policy names another content of the file: write this one, or leave sha256 out");
  if (auto profile = policy::parse_seccomp(*text, seccomp.path); !profile)
    return fail("invalid_profile", text_of(profile.error()));
  seccomp.sha256 = sha256;
  seccomp.text = std::move(*text);
  return {};
}

}  // namespace

Result<LoadedPolicy> load_policy(const std::string& reference, bool with_seccomp) {
  auto found = find_policy(reference);
  if (!found) return tl::unexpected<Error>(found.error());
  auto parsed = policy::parse(found->text, found->file, profile_source);
  if (!parsed) {
    return fail("invalid_policy", "policy " + printable(reference) + " is not valid\n" + text_of(parsed.error()));
  }
  if (auto read = with_seccomp ? load_seccomp(*parsed) : Result<void>(); !read)
    return fail("invalid_policy", "policy " + printable(reference) + " is not valid\n" + read.error().message);
  auto image = policy::compile_rules(*parsed, 1, policy::empty_view(*parsed));
  if (!image) return fail(image.error(), "policy " + reference);
  return LoadedPolicy{std::move(*parsed), std::move(*image)};
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
