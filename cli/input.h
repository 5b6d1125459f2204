// SPDX-License-Identifier: Apache-2.0
// Words of the command line -> values. Pure, but for parse_user() and of_user(), which ask the host who its users are.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/filesystem.h"
#include "policy/image.h"
#include "policy/policy.h"

namespace sbpf::cli {

struct AddressPort {
  policy::Address address{};
  std::uint16_t port = 0;
};

// "1.2.3.4:443" or "[2001:db8::1]:443". Errors: "usage".
Result<AddressPort> parse_address_port(std::string_view text);

// The same, as people write it.
std::string to_string(const AddressPort& endpoint);

// "packages.example.org:443". Nothing if the text is none.
struct NamePort {
  std::string name;
  std::uint16_t port = 0;
};
std::optional<NamePort> parse_name_port(std::string_view text);

// "connect", "bind" or "send", with "tcp", "udp" or "" (udp for send, tcp otherwise). Errors: "usage".
Result<policy::NetQuery> parse_question(std::string_view operation, std::string_view endpoint,
                                        std::string_view protocol);

struct FileQuestion {
  policy::FsOperation operation = policy::FsOperation::read;
  std::string access;  // of open: "r", "w" or "rw"; else empty
};

// "open", "create", "delete", "rename", "exec": what is asked of a path.
bool is_file_operation(std::string_view word);

// `access` is of open: "r", "w", "rw" or "" (r); to write is to read, too. Errors: "usage".
Result<FileQuestion> parse_file_question(std::string_view operation, std::string_view path, std::string_view access);

// "90", "1.5s", "500ms", "10m", "2h", "1d"; without a unit seconds, as timeout(1). Errors: "usage".
Result<std::chrono::milliseconds> parse_timeout(std::string_view text);

// For CLI::Option::check(): an empty value, as of a shell's variable that is not set, is an error. It would count as an
// option that was left out, which may allow more.
std::string refuse_empty(const std::string& value);

// The smaller of those that are set.
std::optional<std::chrono::milliseconds> earlier(std::optional<std::chrono::milliseconds> a,
                                                 std::optional<std::chrono::milliseconds> b);

// "1000:1000", "1000", "nobody" or "nobody:users"; without a group the user's own. No supplementary groups.
// Errors: "usage".
Result<policy::User> parse_user(const std::string& text);

// The user who called sudo to start us as root, by SUDO_UID and SUDO_GID, without supplementary groups; nobody where we
// are not root, or were called by root. Errors: "usage": these variables are no numbers.
Result<std::optional<policy::User>> caller_of_sudo();

// Is the variable taken over? `allow` has exact names and prefixes with a trailing '*', which never take
// what env_by_name_only() says.
bool env_allowed(std::string_view name, std::span<const std::string> allow);

// The program's environment, complete and sorted: from `inherited` what the policy allows, then what the policy sets,
// then `given`, "NAME=VALUE" or "NAME" for its value in `own`, whatever the policy allows; later ones win. Errors:
// "usage" (an entry of `given` without a name, or by a name that nothing has).
Result<std::vector<std::string>> build_env(const policy::Env& policy, std::span<const std::string> inherited,
                                           std::span<const std::string> given, std::span<const std::string> own);

// The variables as this user has them who is to be the program's: HOME, USER and LOGNAME are the user's, and those of
// the caller go. A user whom the host does not know has / as HOME, and no name.
std::vector<std::string> of_user(std::vector<std::string> variables, std::uint32_t uid);

// What a null-terminated environ holds.
std::vector<std::string> env_strings(char* const* environment);

}  // namespace sbpf::cli
