// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/seccomp_ready.h"

#include "seccomp_ready.inc"

namespace sbpf::agent {
namespace {

template <std::size_t a, std::size_t b>
SeccompFilters filters_of(const sock_filter (&guard)[a], const sock_filter (&profile)[b]) {
  return {{std::begin(guard), std::end(guard)}, {std::begin(profile), std::end(profile)}};
}

}  // namespace

Result<SeccompFilters> seccomp_filters(const policy::Seccomp& seccomp, const policy::Capabilities& keep) {
  const bool keeps_none = !keep.dangerously_all && keep.keep.empty();
  if (keeps_none && seccomp.kind == policy::SeccompKind::builtin_default)
    return filters_of(kDefaultGuard, kDefaultProfile);
  if (keeps_none && seccomp.kind == policy::SeccompKind::builtin_strict)
    return filters_of(kStrictGuard, kStrictProfile);
  return compile_seccomp(seccomp, keep);
}

}  // namespace sbpf::agent
