// SPDX-License-Identifier: Apache-2.0
// Which files a person decides about: where keys, passwords and tokens are, and what the host runs.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "policy/advice.h"

namespace sbpf::policy {
namespace {

// Names of directories, and of files. In small letters: names are compared so.
constexpr std::array<std::string_view, 21> kDirectories = {
    ".ssh",     ".gnupg",    ".aws",      ".azure",       ".kube",   ".docker", ".gcloud",
    "gcloud",   ".pki",      ".mozilla",  ".config",      "private", "secrets", "credentials",
    "keyrings", "wireguard", "sudoers.d", ".thunderbird", ".claude", ".codex",  ".password-store"};
constexpr std::array<std::string_view, 14> kFiles = {".netrc",    ".npmrc",     ".pypirc",   ".env",    ".envrc",
                                                     ".my.cnf",   "environ",    "sudoers",   "opasswd", "auth.json",
                                                     ".htpasswd", "kubeconfig", "hosts.yml", "wg0.conf"};
constexpr std::array<std::string_view, 12> kEndings = {".pem", ".key", ".p12",    ".pfx",  ".kdbx",     ".jks",
                                                       ".gpg", ".asc", ".keytab", ".ovpn", ".keystore", "_history"};
// Wherever they are in a name.
constexpr std::array<std::string_view, 9> kParts = {"shadow", "secret", "password",   "passphrase", "credential",
                                                    "token",  "wallet", "xauthority", ".pgpass"};
// Of copies.
constexpr std::array<std::string_view, 6> kOfCopies = {".bak", ".old", ".orig", ".save", "~", "-"};

std::string small(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

bool is_key_of_ssh(std::string_view name) {
  return (name.starts_with("id_") || name.starts_with("ssh_host_")) && !name.ends_with(".pub");
}

bool names_a_secret(std::string_view name) {
  for (const std::string_view ending : kOfCopies)
    if (name.size() > ending.size() && name.ends_with(ending)) name.remove_suffix(ending.size());
  return std::ranges::find(kFiles, name) != kFiles.end() || name.starts_with(".env.") || is_key_of_ssh(name) ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); }) ||
         std::ranges::any_of(kParts, [&](std::string_view part) { return name.find(part) != std::string_view::npos; });
}

}  // namespace

bool may_hold_secrets(std::string_view path) {
  const std::string names = small(path);
  const std::string_view all = names;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = std::min(all.find('/', begin), all.size());
    if (std::ranges::find(kDirectories, all.substr(begin, end - begin)) != kDirectories.end()) return true;
    begin = end + 1;
  }
  return names_a_secret(all.substr(all.rfind('/') + 1));
}

bool may_be_run_by_host(std::string_view path) {
  const std::string whole = std::string(path) + "/";
  constexpr std::array<std::string_view, 12> kSystem = {"/usr/",  "/bin/",  "/sbin/", "/lib",  "/opt/",  "/etc/",
                                                        "/boot/", "/root/", "/run/",  "/var/", "/snap/", "/nix/"};
  // Hidden files of homes and checkouts, as .bashrc, .config, .git/hooks; and directories that are in a PATH.
  constexpr std::array<std::string_view, 3> kAnywhere = {"/.", "/bin/", "/sbin/"};
  return std::ranges::any_of(kSystem, [&](std::string_view above) { return whole.starts_with(above); }) ||
         std::ranges::any_of(kAnywhere, [&](std::string_view part) { return whole.find(part) != std::string::npos; });
}

bool is_of_the_kernel(std::string_view path) {
  const std::string whole = std::string(path) + "/";
  return whole.starts_with("/dev/") || whole.starts_with("/proc/") || whole.starts_with("/sys/");
}

}  // namespace sbpf::policy
