// SPDX-License-Identifier: Apache-2.0
// The canary's operations: for each hook one that calls it, and that changes nothing if it is not denied.
#pragma once

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/fd.h"
#include "bpf/abi.h"

namespace sbpf::agent::canary {

// Instead of an errno: this kernel cannot be brought to call the hook.
constexpr int kUnreachable = -1;

constexpr in_addr_t kPolicyProbeV4 = 0xc0000201;  // 192.0.2.1 (TEST-NET-1), port 9: never a real destination
constexpr std::uint16_t kPolicyProbePort = 9;
constexpr int kNoOption = 0x7fff;  // of no socket: one of those that are harmless is judged by no program

// Files for the path hooks, and the canary's parent; made outside the sandbox, before: the policy may forbid opening.
// `path` is empty if it could not be made. Removed with the object.
struct Scene {
  std::string path;
  Fd held;  // the directory, locked: whoever can lock one that is older than a moment removes it
  Fd file;
  int key = -1;                   // a key that the canary may see; -1: this kernel has none
  bool asks_for_modules = false;  // this kernel has a program that loads them
  bool nobody_traces = false;     // by Yama, for everybody
  bool user_namespaces = true;    // the host may have any
  Fd setting;                     // a file below /proc/sys, for reading
  Fd threads;                     // cgroup.threads of the canary's own cgroup, for writing
  pid_t parent = ::getpid();
  Scene();
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
};

// 0 or errno of what a system call returned.
inline int result(long value) { return value < 0 ? errno : 0; }

// All return 0 if the operation was allowed, else its errno or kUnreachable. They run in the canary.
int try_hook(sbpf_hook hook, const Scene& scene);
int try_network_hook(sbpf_hook hook);  // EINVAL: the hook is none of sockets
int try_receive(int passed);           // has a descriptor sent to itself
int try_allowed();                     // what every policy allows
int try_policy_probe();                // connects to kPolicyProbe…, for the policy's own verdict

}  // namespace sbpf::agent::canary
