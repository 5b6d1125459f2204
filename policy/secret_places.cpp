// SPDX-License-Identifier: Apache-2.0
// Which files a person decides about: where keys, passwords and tokens are, and what the host runs.
#include <algorithm>
#include <array>

#include "policy/advice.h"

namespace sbpf::policy {
namespace {

constexpr std::array<std::string_view, 17> kDirectories = {
    ".ssh", ".gnupg",   ".aws",    ".azure",  ".kube",  ".docker", ".gcloud", "gcloud",  ".password-store",
    ".pki", ".mozilla", ".config", ".claude", ".codex", "private", "secrets", "keyrings"};
constexpr std::array<std::string_view, 16> kFiles = {
    ".netrc",  ".pgpass",     ".git-credentials", ".npmrc",        ".pypirc", ".env",      ".my.cnf", "shadow",
    "gshadow", "credentials", ".vault-token",     ".bash_history", "environ", "auth.json", "token",   ".htpasswd"};
constexpr std::array<std::string_view, 6> kEndings = {".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks"};

bool is_key_of_ssh(std::string_view name) {
  return (name.starts_with("id_") || name.starts_with("ssh_host_")) && !name.ends_with(".pub");
}

}  // namespace

bool may_hold_secrets(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    if (std::ranges::find(kDirectories, path.substr(begin, end - begin)) != kDirectories.end()) return true;
    begin = end + 1;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
  return std::ranges::find(kFiles, name) != kFiles.end() || name.starts_with(".env.") ||
         name.starts_with("credentials.") || std::ranges::any_of(kEndings, ends) || is_key_of_ssh(name);
}

bool may_be_run_by_host(std::string_view path) {
  constexpr std::array<std::string_view, 12> kSystem = {"/usr/",  "/bin/", "/sbin/", "/lib",  "/opt/", "/etc/",
                                                        "/boot/", "/dev/", "/proc/", "/sys/", "/run/", "/var/"};
  const auto lies_in = [&](std::string_view above) { return path.starts_with(above); };
  // Hidden files of homes and checkouts: .bashrc, .config, .git/hooks.
  return std::ranges::any_of(kSystem, lies_in) || path.find("/.") != std::string_view::npos;
}

}  // namespace sbpf::policy
