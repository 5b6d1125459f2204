// SPDX-License-Identifier: Apache-2.0
#include "agent/events.h"

#include <bpf/libbpf.h>
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "agent/kernel.h"
#include "agent/sandbox.h"

namespace sbpf::agent {

RingReader::RingReader(const Fd& ring) {
  const auto on_event = [](void* context, void* data, std::size_t size) {
    auto* self = static_cast<RingReader*>(context);
    sbpf_fs_event event{};
    if (size < sizeof event.event) return 0;
    std::memcpy(&event, data, std::min(size, sizeof event));
    self->sink_(event);
    return 0;
  };
  if (ring) ring_buffer_ = ring_buffer__new(ring.get(), on_event, this, nullptr);
}

RingReader::~RingReader() { ring_buffer__free(static_cast<ring_buffer*>(ring_buffer_)); }

void RingReader::read_all(const std::function<void(const sbpf_fs_event&)>& sink) {
  if (ring_buffer_ == nullptr) return;
  sink_ = sink;
  ring_buffer__consume(static_cast<ring_buffer*>(ring_buffer_));
}

Result<void> events(const std::string& name, bool follow, const std::function<bool(const Event&)>& sink) {
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto record = find_record(*kernel, name);
  if (!record) return tl::unexpected<Error>(record.error());
  // One reader a sandbox: two would steal each other's events.
  Fd turn(::open("/run/sbpf-events.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(record->cgroup_id);
  range.l_len = 1;
  if (!turn || ::fcntl(turn.get(), F_OFD_SETLK, &range) != 0)
    return fail("busy", "another `sbpf events` reads " + name, "end it first", errno);
  Fd ring = open_ring(*kernel, record->cgroup_id);
  if (!ring) return fail("no_such_sandbox", "the sandbox has no ring of events", "", errno);
  RingReader reader(ring);
  bool wanted = true;
  while (true) {
    reader.read_all([&](const sbpf_fs_event& raw) {
      if (wanted) wanted = sink(explain_event(raw, name));
    });
    kernel->renew();
    if (!follow || !wanted || !find_record(*kernel, record->cgroup_id)) return {};
    pollfd waiting{ring.get(), POLLIN, 0};
    (void)::poll(&waiting, 1, 500);
  }
}

}  // namespace sbpf::agent
