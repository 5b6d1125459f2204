// SPDX-License-Identifier: Apache-2.0
// A host for tests: a hierarchy of cgroups, the places where sbpf keeps what it has, and a clock, all of this process
// alone.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sbpf::agent {

// In a mount namespace of its own, where /run, /var/lib, /sys/fs/bpf and /sys/fs/cgroup are empty at first. There a
// directory is a cgroup as far as sbpf asks: it has an id, freezes, and is killed. One at a time.
class FakeHost {
 public:
  // Throws where the process may make no namespaces.
  FakeHost();
  ~FakeHost();
  FakeHost(const FakeHost&) = delete;
  FakeHost& operator=(const FakeHost&) = delete;

  // Makes a cgroup, and those above it, at a path that begins with /; its id. Something runs in it.
  std::uint64_t add_cgroup(const std::string& path);
  // Removes it, and whatever runs in it.
  void remove_cgroup(const std::string& path);
  // A file of it; "" if there is none.
  static std::string read(const std::string& path, const std::string& file);
  // What the kernel would say in another file of it, e.g. "memory.events".
  static void set_file(const std::string& path, const std::string& file, const std::string& text);
  // Says in its cgroup.events, e.g. "populated", that this is so.
  static void set_event(const std::string& path, const std::string& key, bool on);
  // From now on a cgroup cannot be opened by its id, with this errno; 0: it can.
  void fail_handles(int error) { handle_error_ = error; }
  // Time goes on by so much at once.
  void advance(std::int64_t seconds) { advanced_ += seconds; }

  // The one that answers; null: none.
  static FakeHost* answering();
  std::int64_t advanced() const { return advanced_; }
  int handle_error() const { return handle_error_; }
  // What is opened in the place of this file; nullptr: the file itself.
  const char* in_place_of(const char* path) const;

 private:
  int handle_error_ = 0;
  std::int64_t advanced_ = 0;
  std::map<std::string, std::string> replaced_;
};

}  // namespace sbpf::agent
