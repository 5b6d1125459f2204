// SPDX-License-Identifier: Apache-2.0
// Seen: the three answers of a look. Only a proven absence is an end or a loss; who cannot tell changes nothing.
#pragma once

#include <cerrno>

namespace sbpf {

enum class Seen : unsigned char { there, absent, unknown };

// What a failed look-up by name, number or key says. Of all errors only these mean that there is no such thing: the
// rest (EMFILE, ENFILE, ENOMEM, EINTR, EPERM, EACCES, EROFS, EIO…) say something about who looks.
constexpr Seen seen_by_error(int error) { return error == ENOENT ? Seen::absent : Seen::unknown; }

// Likewise, of opening a pin of sbpf's as root. A file of another kind at its place says as much as none.
constexpr Seen seen_by_pin_error(int error) {
  return error == EACCES || error == EINVAL || error == ENOTDIR || error == ELOOP ? Seen::absent : seen_by_error(error);
}

// What helps whoever could not tell.
constexpr const char* hint_for(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
      return "too few descriptors: raise the limit (ulimit -n, LimitNOFILE=, fs.file-max); nothing was changed";
    case ENOMEM:
    case ENOBUFS:
      return "memory is short: try again when there is more; nothing was changed";
    case EPERM:
    case EACCES:
      return "run sbpf as root of the host, with CAP_SYS_ADMIN and CAP_DAC_READ_SEARCH";
    case EROFS:
      return "the BPF filesystem is mounted read-only: mount -o remount,rw /sys/fs/bpf";
    default:
      return "try again; nothing was changed";
  }
}

// Both must be there; what is absent is the answer, whatever else cannot be told.
constexpr Seen both(Seen one, Seen other) {
  if (one == Seen::absent || other == Seen::absent) return Seen::absent;
  return one == Seen::there ? other : one;
}

}  // namespace sbpf
