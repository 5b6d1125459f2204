// SPDX-License-Identifier: Apache-2.0
// What a sandbox's ring told, kept in files for whoever asks, as long as there is the sandbox. Reading takes nothing away.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/kernel/kernel.h"
#include "base/fd.h"
#include "base/result.h"

namespace sbpf::agent {

// Below it each sandbox has a directory, named by its cgroup's id, with three files of events: "first" has those that are
// never given up, "latest" and "older" the others, at most kLogBytes each.
inline constexpr const char* kEventLogs = "/run/sbpf-events";
inline constexpr std::size_t kLogBytes = 128 * 1024;

class EventLog {
 public:
  // Only filesystem events have more than their `event`.
  using Sink = std::function<void(const sbpf_fs_event&)>;

  // Makes the ring of a new sandbox, and the kernel's account of what it told. Errors: "sandbox_setup".
  static Result<void> begin(const Kernel& kernel, std::uint64_t cgroup_id);

  // `kernel` must outlive it. Opens the sandbox's ring; without one nothing is ever collected.
  EventLog(const Kernel& kernel, std::uint64_t cgroup_id);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // The ring, to wait for; -1: there is none.
  int ring() const { return ring_.get(); }
  // Moves what is in the ring to the files. False: somebody else is at it, and nothing was waited for. An error: what was in
  // the ring could not be written, and is lost.
  Result<bool> collect();
  // Calls `sink` for each event of the files that it was not called for yet, oldest first. `last`: nothing is read after it, so
  // that equals of a denial which were not told yet count with the last one that was; if that went to `sink` before, it goes
  // there once more, for those alone.
  void read_new(const Sink& sink, bool last = false);

  // How many events, counted with their equals, fell out of the files that this object wrote, as only the latest are kept.
  std::uint64_t dropped() const { return dropped_; }

  // Removes the files of one sandbox; of all.
  static void remove(std::uint64_t cgroup_id);
  static void remove_all();

 private:
  // One of the files, as far as it was read.
  struct Part {
    Fd file;
    std::uint64_t inode = 0;
    off_t at = 0;
  };
  bool is_over() const;  // is the sandbox gone?
  Result<void> write(const std::string& first, const std::string& others);
  void begin_another_file();
  bool open_part(Part& part, const char* name) const;
  void read_part(Part& part, std::vector<sbpf_fs_event>& to) const;
  void read_latest(std::vector<sbpf_fs_event>& to);
  void add_untold(std::vector<sbpf_fs_event>& to) const;

  const Kernel& kernel_;
  std::uint64_t id_;
  std::string directory_;
  Fd ring_;
  void* ring_buffer_ = nullptr;  // libbpf's
  Sink collecting_;
  std::uint64_t dropped_ = 0;
  Part first_, latest_;
  std::map<std::uint64_t, sbpf_fs_event> last_;  // of each key, what was read last; a bounded number of them
};

}  // namespace sbpf::agent
