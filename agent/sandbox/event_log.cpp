// SPDX-License-Identifier: Apache-2.0
#include "agent/sandbox/event_log.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>

#include "agent/sandbox/sandbox.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

// Before each event in a file: how long it is.
using Length = std::uint32_t;
constexpr off_t kMostRead = 8 * kLogBytes;  // of a file at once: it is longer only where somebody else made it so
constexpr const char *kFirst = "/first", *kLatest = "/latest", *kOlder = "/older";

std::string directory_of(const std::string& logs, std::uint64_t cgroup_id) {
  return logs + "/" + std::to_string(cgroup_id);
}

void remove_directory(const std::string& path) {
  std::error_code ec;
  std::filesystem::remove_all(path, ec);
}

off_t size_of(const Fd& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 ? status.st_size : 0;
}

// 0: it is not there, or not any more.
std::size_t size_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

std::uint64_t inode_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

Result<void> append(const std::string& path, const std::string& text) {
  const Fd file = open_regular(path, O_WRONLY | O_CREAT | O_APPEND);
  const off_t before = file ? size_of(file) : 0;
  // At once: who reads meanwhile finds whole events, and the rest the next time.
  const ssize_t n = file ? ::write(file.get(), text.data(), text.size()) : -1;
  if (n == static_cast<ssize_t>(text.size())) return {};
  const int error = n < 0 ? errno : ENOSPC;
  if (n > 0) (void)!::ftruncate(file.get(), before);  // half an event would hide all that come later
  return fail("event_log", SystemError{error, "see whether /run is full or read-only"},
              "events are lost: {} cannot be written", path);
}

}  // namespace

Result<void> EventLog::begin(const Kernel& kernel, std::uint64_t cgroup_id) {
  remove(cgroup_id);  // of a cgroup that had this number before
  sbpf_told told{};
  if (::getrandom(&told.seed, sizeof told.seed, 0) != sizeof told.seed ||
      bpf_map_update_elem(kernel.told(), &cgroup_id, &told, BPF_ANY) != 0)
    return fail("sandbox_setup", SystemError{errno}, "cannot make the account of what was told");
  LIBBPF_OPTS(bpf_map_create_opts, options);
  // Whole pages, whatever their size here.
  const auto bytes = static_cast<std::uint32_t>(std::max<long>(SBPF_RING_BYTES, ::sysconf(_SC_PAGESIZE)));
  Fd ring(bpf_map_create(BPF_MAP_TYPE_RINGBUF, "sbpf_ring", 0, 0, bytes, &options));
  const int fd = ring.get();
  if (!ring || bpf_map_update_elem(kernel.rings(), &cgroup_id, &fd, BPF_ANY) != 0)
    return fail("sandbox_setup", SystemError{errno}, "cannot make the ring of events");
  return {};
}

EventLog::EventLog(const Kernel& kernel, std::uint64_t cgroup_id, std::string logs)
    : kernel_(kernel),
      id_(cgroup_id),
      logs_(std::move(logs)),
      directory_(directory_of(logs_, cgroup_id)),
      ring_(open_ring(kernel, cgroup_id)) {
  const auto on_event = [](void* context, void* data, std::size_t size) {
    sbpf_fs_event event{};
    if (size < sizeof event.event) return 0;
    std::memcpy(&event, data, std::min(size, sizeof event));
    static_cast<EventLog*>(context)->collecting_(event);
    return 0;
  };
  if (ring_) ring_buffer_ = ring_buffer__new(ring_.get(), on_event, this, nullptr);
}

EventLog::~EventLog() { ring_buffer__free(static_cast<ring_buffer*>(ring_buffer_)); }

Result<bool> EventLog::collect() {
  pollfd ready{ring_.get(), POLLIN, 0};
  if (ring_buffer_ == nullptr || ::poll(&ready, 1, 0) <= 0 || is_over()) return true;
  for (const std::string& made : {logs_, directory_}) (void)::mkdir(made.c_str(), 0700);
  // The ring has one reader at a time: its position is shared by all who map it. The lock ends with the descriptor.
  const Fd turn(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (turn && ::flock(turn.get(), LOCK_EX | LOCK_NB) != 0) return false;
  std::string first, others;
  collecting_ = [&](const sbpf_fs_event& event) {
    // Most events are no longer than what they begin with; a file's path, a host's name and a flow are.
    const bool whole = event.event.domain == SBPF_DOMAIN_FILESYSTEM || event.n_names + event.at_root > 0 ||
                       is_of_name(event.event) || event.event.verdict == SBPF_ALLOW;
    const Length length = whole ? sizeof event : sizeof event.event;
    std::string& to = event.event.first != 0 ? first : others;
    to.append(reinterpret_cast<const char*>(&length), sizeof length)
        .append(reinterpret_cast<const char*>(&event), length);
  };
  ring_buffer__consume(static_cast<ring_buffer*>(ring_buffer_));
  if (first.empty() && others.empty()) return true;
  auto written = write(first, others);
  if (is_over()) remove_directory(directory_);  // nobody else will
  if (!written) return tl::unexpected<Error>(written.error());
  return true;
}

bool EventLog::is_over() const {
  sbpf_sandbox record{};
  return bpf_map_lookup_elem(kernel_.sandboxes(), &id_, &record) != 0 && errno == ENOENT;
}

Result<void> EventLog::write(const std::string& first, const std::string& others) {
  // Kinds are few, but what sbpf itself has to say has no bound.
  const bool full = size_of(directory_ + kFirst) > kLogBytes;
  if (!first.empty())
    if (auto written = append(directory_ + (full ? kLatest : kFirst), first); !written) return written;
  if (others.empty()) return {};
  if (size_of(directory_ + kLatest) + others.size() > kLogBytes) begin_another_file();
  return append(directory_ + kLatest, others);
}

void EventLog::begin_another_file() {
  Part gone;
  std::vector<sbpf_fs_event> events;
  if (open_part(gone, kOlder)) read_part(gone, events);
  if (::rename((directory_ + kLatest).c_str(), (directory_ + kOlder).c_str()) != 0) return;
  for (const sbpf_fs_event& event : events) dropped_ += std::max<std::uint32_t>(event.event.times, 1);
}

bool EventLog::open_part(Part& part, const char* name) const {
  part = {};
  part.file = open_regular(directory_ + name, O_RDONLY);
  struct stat status {};
  if (part.file && ::fstat(part.file.get(), &status) == 0) part.inode = status.st_ino;
  return static_cast<bool>(part.file);
}

void EventLog::read_part(Part& part, std::vector<sbpf_fs_event>& to) {
  const off_t size = std::min(size_of(part.file), part.at + kMostRead);
  if (size <= part.at) return;
  std::string text(static_cast<std::size_t>(size - part.at), '\0');
  const ssize_t n = ::pread(part.file.get(), text.data(), text.size(), part.at);
  std::size_t at = 0;
  for (Length length = 0; n > 0; at += sizeof length + length) {
    if (at + sizeof length > static_cast<std::size_t>(n)) break;
    std::memcpy(&length, text.data() + at, sizeof length);
    sbpf_fs_event event{};
    if (length < sizeof event.event || length > sizeof event ||
        at + sizeof length + length > static_cast<std::size_t>(n))
      break;
    std::memcpy(&event, text.data() + at + sizeof length, length);
    to.push_back(event);
  }
  part.at += static_cast<off_t>(at);
}

// Follows the writer, who renames a file that is full and begins another.
void EventLog::read_latest(std::vector<sbpf_fs_event>& to) {
  const bool begins = !latest_.file;
  if (begins && !open_part(latest_, kLatest)) return;
  Part older;
  if (begins && open_part(older, kOlder) && older.inode != latest_.inode) read_part(older, to);
  const std::uint64_t now = inode_of(directory_ + kLatest);
  read_part(latest_, to);
  if (now == latest_.inode || now == 0) return;
  const std::uint64_t had = latest_.inode;
  if (!open_part(latest_, kLatest)) return;
  if (open_part(older, kOlder) && older.inode != had && older.inode != latest_.inode) read_part(older, to);
  read_part(latest_, to);
}

void EventLog::read_new(const Sink& sink, bool last) {
  std::vector<sbpf_fs_event> events;
  if (first_.file || open_part(first_, kFirst)) read_part(first_, events);
  read_latest(events);
  std::stable_sort(events.begin(), events.end(),
                   [](const sbpf_fs_event& a, const sbpf_fs_event& b) { return a.event.ts_ns < b.event.ts_ns; });
  if (last) add_untold(events);
  for (const sbpf_fs_event& event : events) {
    if (last_.size() > 4 * SBPF_TOLD) last_.clear();  // for the kernel's part, most are of no use any more
    if (event.event.key != 0) last_[event.event.key] = event;
    sink(event);
  }
}

void EventLog::add_untold(std::vector<sbpf_fs_event>& to) const {
  sbpf_told told{};
  if (bpf_map_lookup_elem(kernel_.told(), &id_, &told) != 0) return;
  for (const sbpf_told_one& one : std::span(&told.one[0][0], SBPF_TOLD)) {
    if (one.untold == 0) continue;
    const auto now =
        std::find_if(to.rbegin(), to.rend(), [&](const sbpf_fs_event& event) { return event.event.key == one.key; });
    if (now != to.rend()) {
      now->event.times += one.untold;
    } else if (const auto before = last_.find(one.key); before != last_.end()) {
      to.push_back(before->second);
      to.back().event.times = one.untold;
    }
  }
}

void EventLog::remove(std::uint64_t cgroup_id) { remove_directory(directory_of(kEventLogs, cgroup_id)); }

void EventLog::remove_all() { remove_directory(kEventLogs); }

}  // namespace sbpf::agent
