// SPDX-License-Identifier: Apache-2.0
// A seccomp profile in the OCI format (runtime-spec's linux.seccomp, with the includes, excludes, archMap and comments
// that container engines add), as written. Which entries count on this host, and what they compile to, is
// agent/launch/seccomp.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/policy.h"

namespace sbpf::policy {

enum class SeccompAction { allow, log, deny, trap, kill_thread, kill_process };  // deny: SCMP_ACT_ERRNO
enum class SeccompOp { ne, lt, le, eq, ge, gt, masked_eq };

// The argument `index` compared; of masked_eq `value` is the mask and `value_two` what must remain.
struct SeccompArg {
  unsigned index = 0;
  std::uint64_t value = 0;
  std::uint64_t value_two = 0;
  SeccompOp op = SeccompOp::eq;
};

// On which hosts, and with which kept capabilities, an entry counts. Empty lists and unset ask for nothing.
struct SeccompCondition {
  std::vector<unsigned> caps;
  std::vector<std::string> arches;  // as container engines name them: amd64, arm64…
  std::optional<std::pair<unsigned, unsigned>> min_kernel;
  bool operator==(const SeccompCondition&) const = default;
};

struct SeccompRule {
  std::vector<std::string> names;
  SeccompAction action = SeccompAction::allow;
  std::optional<unsigned> errno_ret;    // of deny
  std::vector<SeccompArg> args;         // all must hold; none: every call of the name
  SeccompCondition includes, excludes;  // counts if all of includes holds, and nothing of excludes
  std::string comment;
  Location where;
};

struct SeccompArch {
  std::string name;  // "SCMP_ARCH_X86_64"
  std::vector<std::string> sub;
};

struct SeccompProfile {
  SeccompAction default_action = SeccompAction::deny;
  std::optional<unsigned> default_errno;
  std::vector<std::string> architectures;  // besides the machine's own
  std::vector<SeccompArch> arch_map;
  std::vector<SeccompRule> rules;
};

inline constexpr unsigned kSeccompErrno = 1;  // EPERM: of a denial that names no errnoRet

// Unknown keys and values, and actions that need a tracer or a listener, are errors; all are found in one pass.
tl::expected<SeccompProfile, std::vector<Diagnostic>> parse_seccomp(std::string_view text, std::string_view file);

// Does the profile allow the call whatever its arguments, the host and the capabilities that are kept?
bool always_allows(const SeccompProfile& profile, std::string_view call);

// The profile as OCI JSON; parse_seccomp() of it gives the same profile.
std::string oci_json(const SeccompProfile& profile);

std::string_view to_string(SeccompAction action);  // "SCMP_ACT_ALLOW"
std::string_view to_string(SeccompOp op);          // "SCMP_CMP_NE"

}  // namespace sbpf::policy
