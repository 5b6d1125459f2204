// SPDX-License-Identifier: Apache-2.0
// Policy content as YAML. Internal to policy/.
#pragma once

#include <string>
#include <string_view>

#include "policy/policy.h"

namespace sbpf::policy::internal {

// "{address: 1.2.3.4, ports: [443], protocol: tcp}"
std::string entry_text(const Endpoint& endpoint);

// "{host: "*.example.org", ports: [443], protocol: tcp}"
std::string entry_text(const HostRule& rule);

// "filesystem.read: /usr"
std::string entry_text(const FsRule& rule);

// "process.exec.allow: /usr/bin"
std::string entry_text(const ExecRule& rule);

// "network.unix: /run/db.sock"
std::string entry_text(const UnixRule& rule);

// A path as a YAML scalar, without quotes where it needs none.
std::string path_text(std::string_view path);

// `text`, and before it the place if there is one: "file:line:column: text". Long texts are cut.
std::string located(const Location& where, std::string text);

// A text as a YAML scalar that every YAML reader reads as a text.
std::string scalar_text(std::string_view text);

}  // namespace sbpf::policy::internal
