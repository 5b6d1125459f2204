// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/events.h"

#include <poll.h>
#include <unistd.h>

#include "agent/kernel/kernel.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {
constexpr int kPause = 500;  // ms, between two looks at what others collected
constexpr useconds_t kOthersTurn = 50'000;
}  // namespace

Result<void> events(const std::string& name, bool follow, const std::function<bool(const Event&)>& sink) {
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto record = find_record(*kernel, name);
  if (!record) return tl::unexpected<Error>(record.error());
  EventLog log(*kernel, record->cgroup_id);
  if (log.ring() < 0) return fail("no_such_sandbox", "the sandbox has no ring of events", "", errno);
  bool wanted = true;
  const auto tell = [&](const sbpf_fs_event& raw) {
    if (wanted) wanted = sink(explain_event(raw, name));
  };
  while (true) {
    kernel->renew();
    const bool over = !follow || !find_record(*kernel, record->cgroup_id);  // asked before the last look
    auto collected = log.collect();
    if (!collected) return tl::unexpected<Error>(collected.error());
    if (!*collected) ::usleep(kOthersTurn);
    log.read_new(tell, over);
    if (over || !wanted) break;
    pollfd waiting{log.ring(), POLLIN, 0};
    (void)::poll(&waiting, 1, kPause);
  }
  return {};
}

}  // namespace sbpf::agent
