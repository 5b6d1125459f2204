// SPDX-License-Identifier: Apache-2.0
#include "agent/host/inside_sandbox.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/proc_cgroup.h"

namespace sbpf::agent {
namespace {

constexpr const char* kOutside = "0::/user.slice/user-0.slice\n";

std::string text_of(const Inside& inside) {
  return (inside.seen == Seen::there    ? "inside " + inside.sandbox
          : inside.seen == Seen::absent ? "outside"
                                        : "unknown") +
         (inside.refused_to_root ? ", refused to root" : "");
}

TEST(Inside, is_told_by_the_cgroup_where_bpf_is_refused) {
  for (const char* cgroups :
       {"0::/sbpf/web\n", "0::/sbpf/web/below/it\n", "1:name=systemd:/x\n0::/sbpf/web\n", "0::/sbpf/web"})
    for (const int error : {EPERM, ENOSYS})
      for (const bool privileged : {false, true})
        EXPECT_EQ(text_of(inside_of(cgroups, error, privileged, true)), "inside web") << cgroups;
}

TEST(Inside, is_not_where_bpf_is_open) {
  for (const char* cgroups : {"0::/sbpf/web\n", kOutside, ""})
    EXPECT_EQ(text_of(inside_of(cgroups, EINVAL, true, false)), "outside") << cgroups;
}

TEST(Inside, cannot_be_told_otherwise) {
  for (const char* cgroups : {kOutside, "0::/\n", "0::/sbpf\n", "0::/sbpf/\n", "0::/x/sbpf/web\n", "0::/sbpfx/web\n",
                              "3:cpu:/sbpf/web\n", ""}) {
    EXPECT_EQ(text_of(inside_of(cgroups, EPERM, true, false)), "unknown, refused to root") << cgroups;
    EXPECT_EQ(text_of(inside_of(cgroups, EPERM, true, true)), "unknown") << cgroups;
    EXPECT_EQ(text_of(inside_of(cgroups, EPERM, false, false)), "unknown") << cgroups;
  }
}

TEST(Inside, only_the_unified_hierarchy_counts) {
  EXPECT_EQ(unified_cgroup("1:name=systemd:/sbpf/a\n0::/b\n"), "/b");
  EXPECT_EQ(unified_cgroup("10::/sbpf/a\n0::/b\n"), "/b");
  EXPECT_EQ(unified_cgroup("0::/"), "/");
  EXPECT_EQ(unified_cgroup("0::/a/0::/b\n"), "/a/0::/b");
  for (const char* none : {"", "\n", "2:cpu:/sbpf/a\n", "10::/sbpf/a\n", "0:"})
    EXPECT_EQ(unified_cgroup(none), "") << none;
}

TEST(Inside, explains_an_error) {
  const Error error{"missing_seccomp", "a filter refuses bpf(2)", "allow it", EPERM, "network", false};
  const Error in = explained_by({Seen::there, "web"}, error);
  EXPECT_EQ(
      in.message,
      "this is the inside of sandbox web, where nothing of sbpf's can be seen or changed (a filter refuses bpf(2))");
  EXPECT_EQ(in.hint, "run sbpf outside of the sandbox");
  EXPECT_EQ(in.code.text(), "missing_seccomp");
  const Error perhaps = explained_by({Seen::unknown, "", true}, error);
  EXPECT_EQ(perhaps.message, error.message);
  EXPECT_EQ(
      perhaps.hint,
      "bpf(2) is refused to root here: by another tool, or this is the inside of a sandbox that `attach` made, which cannot be told; "
      "else: allow it");
  for (const Inside& other : {Inside{Seen::absent}, Inside{Seen::unknown}}) {
    EXPECT_EQ(explained_by(other, error).message, error.message);
    EXPECT_EQ(explained_by(other, error).hint, error.hint);
  }
}

}  // namespace
}  // namespace sbpf::agent
