// SPDX-License-Identifier: Apache-2.0
// The events of a sandbox's ring, kept in files for all readers, as long as the sandbox exists. Reading removes no
// events.
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

// Below it each sandbox has a directory, named by its cgroup's id, with three files of events: "first" has the events
// that are always kept, "latest" and "older" the others, at most kLogBytes each.
inline constexpr const char* kEventLogs = "/run/sbpf-events";
inline constexpr std::size_t kLogBytes = 128 * 1024;

class EventLog {
 public:
  // Only filesystem events have more than their `event`.
  using Sink = std::function<void(const sbpf_fs_event&)>;

  // Makes the ring of a new sandbox, and the kernel's account of what it told. Errors: "sandbox_setup".
  static Result<void> begin(const Kernel& kernel, std::uint64_t cgroup_id);

  // `kernel` must outlive it. Opens the sandbox's ring; without one nothing is ever collected. `logs`: where the
  // sandboxes' directories are.
  EventLog(const Kernel& kernel, std::uint64_t cgroup_id, std::string logs = kEventLogs);
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // The ring, to wait for; -1: there is none.
  int ring() const { return ring_.get(); }
  // Moves the events in the ring to the files. False: another process is doing so; this does not wait for it. An error:
  // the events could not be written, and are lost.
  Result<bool> collect();
  // Calls `sink` for each event of the files that it was not called for yet, oldest first. `last`: nothing is read
  // after it, so that equals of a denial which were not told yet count with the last one that was; if that went to
  // `sink` before, it goes there once more, for those alone.
  void read_new(const Sink& sink, bool last = false);

  // How many events, counted with their equals, fell out of the files that this object wrote, as only the latest are
  // kept.
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
  static void read_part(Part& part, std::vector<sbpf_fs_event>& to);
  void read_latest(std::vector<sbpf_fs_event>& to);
  void add_untold(std::vector<sbpf_fs_event>& to) const;

  const Kernel& kernel_;
  std::uint64_t id_;
  std::string logs_, directory_;
  Fd ring_;
  void* ring_buffer_ = nullptr;  // libbpf's
  Sink collecting_;
  std::uint64_t dropped_ = 0;
  Part first_, latest_;
  std::map<std::uint64_t, sbpf_fs_event> last_;  // of each key, what was read last; a bounded number of them
};

}  // namespace sbpf::agent
