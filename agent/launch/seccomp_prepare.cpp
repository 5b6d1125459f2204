// SPDX-License-Identifier: Apache-2.0
// seccomp_prepare FILE: run by the build; writes the built-in profiles' filters as C arrays.
#include <cstdio>
#include <fstream>

#include "agent/launch/seccomp.h"

using namespace sbpf;

namespace {

void write(std::ostream& out, const char* name, const std::vector<sock_filter>& filter) {
  out << "constexpr sock_filter " << name << "[] = {\n";
  for (const sock_filter& step : filter)
    out << "    {" << step.code << ", " << unsigned{step.jt} << ", " << unsigned{step.jf} << ", " << step.k << "u},\n";
  out << "};\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ofstream out(argv[1]);
  for (const bool strict : {false, true}) {
    policy::Seccomp seccomp;
    seccomp.kind = strict ? policy::SeccompKind::builtin_strict : policy::SeccompKind::builtin_default;
    const auto filters = agent::compile_seccomp(seccomp, {});
    if (!filters || filters->size() != 2) {
      std::fprintf(stderr, "seccomp_prepare: %s\n", filters ? "not two filters" : filters.error().message.c_str());
      return 1;
    }
    write(out, strict ? "kStrictGuard" : "kDefaultGuard", filters->front());
    write(out, strict ? "kStrictProfile" : "kDefaultProfile", filters->back());
  }
  out.flush();
  return out ? 0 : 1;
}
