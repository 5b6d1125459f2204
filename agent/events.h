// SPDX-License-Identifier: Apache-2.0
// A sandbox's ring of events, and what an event means.
#pragma once

#include <functional>
#include <string>

#include "agent/agent.h"
#include "base/fd.h"

namespace sbpf::agent {

// Reads a BPF ring buffer. One reader at a time: the consumer position is shared by all who map it.
class RingReader {
 public:
  explicit RingReader(const Fd& ring);
  ~RingReader();
  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;
  // Calls `sink` for each event that is there now. Only filesystem events have more than their `event`.
  void read_all(const std::function<void(const sbpf_fs_event&)>& sink);

 private:
  void* ring_buffer_ = nullptr;  // libbpf's
  std::function<void(const sbpf_fs_event&)> sink_;
};

// The event in words, with the policy line that would allow it.
Event explain_event(const sbpf_fs_event& raw, const std::string& sandbox);

}  // namespace sbpf::agent
