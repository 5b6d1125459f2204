// SPDX-License-Identifier: Apache-2.0
// Tells that something in a directory changed: files written, replaced, removed, or a symbolic link swapped, in it or
// in the place of the directory itself.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "base/result.h"
#include "service/asio.h"

namespace sbpf::service {

class Directory {
 public:
  // `changed` is called when there was a change and then none for 200 ms.
  Directory(asio::io_context& context, std::string path, std::function<void()> changed);

  // Also while the directory is not there. Errors: "inotify".
  Result<void> open();
  // Until close(). To be spawned once; the object must outlive it.
  asio::awaitable<void> run();
  void close();

  // Files that somebody writes now: what they hold is not what they will hold.
  const std::set<std::string>& being_written() const { return being_written_; }

 private:
  void take(const char* events, std::size_t size);
  void look_again();
  void soon();

  asio::posix::stream_descriptor inotify_;
  asio::steady_timer quiet_;
  std::string path_;
  std::function<void()> changed_;
  std::set<std::string> being_written_;
  int here_ = -1, above_ = -1;
};

}  // namespace sbpf::service
