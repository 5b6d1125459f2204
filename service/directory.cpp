// SPDX-License-Identifier: Apache-2.0
#include "service/directory.h"

#include <fcntl.h>
#include <sys/inotify.h>

#include <array>
#include <boost/asio.hpp>
#include <cstring>
#include <filesystem>

#include "base/fd.h"

namespace sbpf::service {
namespace {

constexpr auto kQuiet = std::chrono::milliseconds(200);
constexpr std::uint32_t kHere =
    IN_MODIFY | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB | IN_ONLYDIR;
constexpr std::uint32_t kAbove = IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ONLYDIR;

// Has anybody the file open for writing? A lease to read is given only where nobody has; it is given back at once, and
// the signal of one that is in somebody's way is ignored (main.cpp). What cannot be told counts as yes.
bool has_writer(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return errno != ENOENT;
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) != 0) return true;
  (void)::fcntl(file.get(), F_SETLEASE, F_UNLCK);
  return false;
}

}  // namespace

Directory::Directory(asio::io_context& context, std::string path, std::function<void()> changed)
    : inotify_(context), quiet_(context), path_(std::move(path)), changed_(std::move(changed)) {}

Result<void> Directory::open() {
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) return fail("inotify", SystemError{errno, "raise fs.inotify.max_user_instances"}, "cannot watch files");
  inotify_.assign(fd);
  // The name above it tells when the directory appears, or when the link to it is swapped.
  above_ = ::inotify_add_watch(fd, std::filesystem::path(path_).parent_path().c_str(), kAbove);
  look_again();
  return {};
}

// A watch is on an inode; the path may lead to another one by now.
void Directory::look_again() {
  const int now = ::inotify_add_watch(inotify_.native_handle(), path_.c_str(), kHere);
  if (now == here_) return;
  if (here_ >= 0) (void)::inotify_rm_watch(inotify_.native_handle(), here_);
  here_ = now;
  being_written_.clear();
}

void Directory::take(const char* events, std::size_t size) {
  for (std::size_t at = 0; at + sizeof(inotify_event) <= size;) {
    inotify_event event{};
    std::memcpy(&event, events + at, sizeof event);
    const std::string name = event.len > 0 ? events + at + sizeof event : "";
    at += sizeof event + event.len;
    if (event.wd == here_ && event.mask & IN_MODIFY) {
      being_written_.insert(name);  // it is told again when the writer is done
      soon();
      continue;
    }
    if (event.wd == here_ && event.mask & (IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE))
      being_written_.erase(name);
    if (event.mask & IN_Q_OVERFLOW) being_written_.clear();  // the end of a write may be among what was lost
    if (event.wd == above_ && name == std::filesystem::path(path_).filename()) look_again();
    soon();
  }
}

void Directory::soon() {
  quiet_.expires_after(kQuiet);
  quiet_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    look_again();
    // truncate(2) modifies a file that nobody opened, so nobody will close it.
    std::erase_if(being_written_, [this](const std::string& name) {
      return !has_writer((std::filesystem::path(path_) / name).string());
    });
    changed_();
  });
}

asio::awaitable<void> Directory::run() {
  alignas(inotify_event) std::array<char, 16384> events;
  for (;;) {
    boost::system::error_code error;
    const std::size_t n =
        co_await inotify_.async_read_some(asio::buffer(events), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    take(events.data(), n);
  }
}

void Directory::close() {
  boost::system::error_code ignored;
  quiet_.cancel();
  inotify_.close(ignored);
}

}  // namespace sbpf::service
