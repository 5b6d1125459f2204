// SPDX-License-Identifier: Apache-2.0
// How `sbpf run` starts a program, as the policy says it: process.seccomp, capabilities, user, new privileges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbpf::policy {

// A place in a policy's text; line and column count from 1.
struct Location {
  std::string file;
  int line = 0;
  int column = 0;
};

enum class SeccompKind { builtin_default, builtin_strict, file, dangerously_unconfined };

struct Seccomp {
  SeccompKind kind = SeccompKind::builtin_default;
  std::string path;    // of file: an OCI profile
  std::string sha256;  // of file: its content's, in hex. Empty only between parse() and the reading of the file
  std::string text;    // of file: its content; whoever loads a policy reads it. Never part of the canonical text
  Location where;
};

struct Capabilities {
  bool dangerously_all = false;  // what sbpf itself has
  std::vector<unsigned> keep;    // their numbers, sorted, unique; no others stay
};

struct User {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary, sorted, unique
};

struct Launch {
  Seccomp seccomp;
  Capabilities capabilities;
  std::optional<User> user;  // unset: the caller's
  bool dangerously_allow_new_privileges = false;
};

// "NET_BIND_SERVICE" <-> its number; a leading CAP_ is taken as well. nullopt, and the
// number itself, for what the kernel's headers lack.
std::optional<unsigned> capability_number(std::string_view name);
std::string capability_name(unsigned number);
std::string_view to_string(SeccompKind kind);  // "default", "strict", "dangerously_unconfined"; "" of file

}  // namespace sbpf::policy
