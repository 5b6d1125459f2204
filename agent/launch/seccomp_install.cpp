// SPDX-License-Identifier: Apache-2.0
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "agent/launch/refused_calls.h"
#include "agent/launch/seccomp.h"

namespace sbpf::agent {
namespace {

// The descriptor of the filter's listener where `flags` ask for one, else 0; below 0: an errno.
int install(const std::vector<sock_filter>& filter, unsigned flags) {
  const sock_fprog program{static_cast<unsigned short>(filter.size()), const_cast<sock_filter*>(filter.data())};
  auto result = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  // The filter before may refuse seccomp(2), as `strict` does, and leave the older way, which knows no flags.
  if (result < 0 && flags == 0) result = ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
  return result < 0 ? -errno : static_cast<int>(result);
}

}  // namespace

int install_seccomp(const SeccompFilters& filters, int listener_to) {
  for (const std::vector<sock_filter>& filter : filters) {
    const bool asks = listener_to >= 0 && &filter == &filters.back();
    const int result = install(filter, asks ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0);
    if (result < 0) return -result;
    if (const int error = asks ? send_listener(listener_to, result) : 0; error != 0) return error;
  }
  return 0;
}

}  // namespace sbpf::agent
