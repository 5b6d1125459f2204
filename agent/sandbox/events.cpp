// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/events.h"

#include <poll.h>
#include <unistd.h>

#include <fmt/core.h>

#include "agent/host/cgroup.h"
#include "agent/host/mount_places.h"
#include "agent/kernel/kernel.h"
#include "agent/sandbox/event_advice.h"
#include "agent/sandbox/event_log.h"
#include "agent/sandbox/sandbox.h"

namespace sbpf::agent {
namespace {
constexpr int kPause = 500;  // ms, between two looks at what others collected
constexpr useconds_t kOthersTurn = 50'000;

// By the mounts of one of its processes. What others made may have any mounts.
std::vector<Mount> its_own_mounts(const sbpf_sandbox& record) {
  if ((record.flags & SBPF_SANDBOX_ATTACHED) != 0) return {};
  const auto cgroup = Cgroup::open_by_id(record.cgroup_id);
  const auto processes = cgroup ? cgroup->processes() : tl::unexpected<Error>(cgroup.error());
  if (!processes || processes->empty()) return {};
  return mounts_of_its_own(parse_mounts(read_file(fmt::format("/proc/{}/mountinfo", processes->front()))),
                           own_mounts());
}
}  // namespace

Result<void> events(const std::string& name, bool follow, const std::function<bool(const Event&)>& sink) {
  auto kernel = Kernel::open();
  if (!kernel) return tl::unexpected<Error>(kernel.error());
  auto record = find_record(*kernel, name);
  if (!record) return tl::unexpected<Error>(record.error());
  EventLog log(*kernel, record->cgroup_id);
  EventAdvice advice(*kernel, record->cgroup_id);
  if (log.ring() < 0) return fail("no_such_sandbox", "the sandbox has no ring of events", "", errno);
  const std::vector<Mount> its_own = its_own_mounts(*record);
  bool wanted = true;
  const auto tell = [&](const sbpf_fs_event& raw) {
    if (!wanted) return;
    Event event = explain_event(raw, name, its_own);
    advice.complete(event);
    wanted = sink(event);
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
