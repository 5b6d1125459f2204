// SPDX-License-Identifier: Apache-2.0
// A child that waits, outside of any sandbox, until it is told to become the program. It is for callers other than
// root: the service moves their child into a sandbox in that time (agent/launch/held_process.h).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/launch/spawn.h"
#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Where the child is to be, beside the /proc and the IPC namespace that it has of its own there. sbpf-enter brings it.
struct OwnPlaces {
  std::set<std::string> directories;                    // filesystem.private
  bool network = false;                                 // a network that has nothing but a loopback
  std::optional<std::string> workspace = std::nullopt;  // a directory that is to be /workspace, and where it begins
  // Instead: where the program of a live sandbox is, a process, in the mount namespace of this number.
  struct Joined {
    pid_t pid = -1;
    std::uint64_t mounts = 0;
  };
  std::optional<Joined> joined = std::nullopt;
};

// What the child must know that sbpf-enter executed in between.
struct BeginText {
  std::string policy;   // canonical
  std::string seccomp;  // the text of the policy's own profile; "": it has none
  std::vector<std::string> argv, env;
  pid_t parent = -1;
  std::string own, own_seccomp;  // the policy of the program's own beside that; "": it has none
};

// The descriptors that `sbpf begin` gets.
inline constexpr int kBeginGo = 3, kBeginReport = 4, kBeginText = 5, kBeginListenerTo = 7;

std::string to_text(const BeginText& begin);
// Nothing: it is not such a text.
std::optional<BeginText> begin_text_of(std::string_view text);

// The executable beside this one; "": there is none.
std::string find_sbpf_enter();

// Destroyed before it was told, it is killed.
class WaitingChild {
 public:
  // In this process's places. Errors: "spawn".
  static Result<WaitingChild> start(const Launch& launch, const RunOptions& options);
  // In `places`: by sbpf-enter, and there by `sbpf begin`, which reads `begin`. `listener_to`: as of Launch. Errors:
  // "spawn", "private_places", "network_namespace", "no_namespace", "namespace", and those of `sbpf begin`.
  static Result<WaitingChild> start_in(const OwnPlaces& places, BeginText begin, int listener_to);
  WaitingChild(WaitingChild&& other) noexcept;
  WaitingChild& operator=(WaitingChild&&) = delete;
  ~WaitingChild();

  const Spawned& child() const { return child_; }
  // From then on the caller waits for it. Errors: "spawn".
  Result<void> go_on();

 private:
  WaitingChild() = default;
  // `become` is called in the child, with the end of the one pipe and of the other, and does not return.
  static Result<WaitingChild> fork_to(const std::function<void(int go, int report)>& become);

  Spawned child_;
  bool waits_ = true;
  Fd go_;
};

}  // namespace sbpf::agent
