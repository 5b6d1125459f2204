// SPDX-License-Identifier: Apache-2.0
// The three runs of an attack and their verdicts.
#pragma once

#include <string>

#include "tests/attack/driver/run.h"

namespace attack::driver {

struct Verdict {
  enum class Kind { ok, not_ok, skip } kind = Kind::not_ok;
  std::string why;
};

// No sandbox: it must succeed. Skipped only if the kernel says that it lacks the feature.
Verdict control(const Host& host, const Attack& attack);
// In a sandbox whose policy allows it: it must succeed. For kNever: refused just the same.
Verdict allowed(const Host& host, const Attack& attack);
// In a sandbox whose policy does not: the exact errno at the exact step, and a victim that noticed nothing.
Verdict denied(const Host& host, const Attack& attack);

// In two sandboxes, one within the other: it succeeds if both policies allow it, else it is as in denied().
Verdict nested(const Host& host, const Attack& attack, const Nesting& nesting);

}  // namespace attack::driver
