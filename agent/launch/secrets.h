// SPDX-License-Identifier: Apache-2.0
// Secrets on their way to the program (I10): from their sources into locked memory, from there into a place that only
// the sandbox has. Never into a string, an argument, an environment, a message or a map.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "policy/policy.h"

namespace sbpf::agent {

inline constexpr std::size_t kMaxSecretBytes = 64 << 10;  // what a pipe holds

// Memory that is not swapped, dumped, or copied by fork; wiped when it goes.
class LockedMemory {
 public:
  // Errors: "secret_memory".
  static Result<LockedMemory> make(std::size_t size);
  LockedMemory(LockedMemory&& other) noexcept;
  LockedMemory& operator=(LockedMemory&& other) noexcept;
  ~LockedMemory();
  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  LockedMemory() = default;
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

// While one exists no core of this process is written and only root may trace it.
class NotDumpable {
 public:
  NotDumpable();
  ~NotDumpable();
  NotDumpable(const NotDumpable&) = delete;
  NotDumpable& operator=(const NotDumpable&) = delete;

 private:
  int before_;
};

// A secret, held.
struct LoadedSecret {
  std::string name;
  policy::Secret::Form form;
  LockedMemory memory;
  std::size_t size;
};

// How the program finds its secrets.
struct HandedSecrets {
  std::vector<std::string> env;  // NAME_FILE=path, NAME_FD=number
  std::vector<Fd> fds;           // read ends of pipes, which the program inherits by these numbers
};

// Reads all sources. A source that is a file must belong to root or to this user, and nobody else may read or write it.
// Takes stdin, where it is a source, to its end, and leaves /dev/null in its place. Errors: "secret_source" (naming the
// secret and what to do), "secret_memory".
Result<std::vector<LoadedSecret>> read_secrets(const std::vector<policy::Secret>& secrets);

// Places the held secrets where the program, with this owner, finds them, and wipes them here. This thread is in the
// sandbox's mount namespace. Errors: "secret_place".
Result<HandedSecrets> place_secrets(std::vector<LoadedSecret> held, uid_t uid, gid_t gid);

// The error of a command that starts no program, and so hands no secrets over, where the policy has some.
Result<void> refuse_secrets(const policy::Policy& policy, const std::string& command);

}  // namespace sbpf::agent
