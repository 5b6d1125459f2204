// SPDX-License-Identifier: Apache-2.0
#include "service/watch.h"

#include <algorithm>
#include <boost/asio.hpp>
#include <csignal>

#include "service/log.h"

namespace sbpf::service {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kFirstPause(100), kLongestPause(5000), kCheck(250), kMercy(2000);
// Before its first pass it may have to wait for a command that loads the programs.
constexpr std::chrono::seconds kFirstPass(120);

}  // namespace

asio::awaitable<void> Watch::run() {
  milliseconds pause = kFirstPause;
  for (;;) {
    world_.restarted();
    co_await run_once();
    if (stopping_) co_return;
    restarted_(why_);
    pause = world_.current() ? kFirstPause : std::min(2 * pause, kLongestPause);
    boost::system::error_code error;
    pause_.expires_after(pause);
    co_await pause_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (stopping_) co_return;
  }
}

asio::awaitable<void> Watch::run_once() {
  Command command;
  command.arguments = {sbpf_, "watch", "--json"};
  auto started = Child::start(context_, command);
  if (!started) {
    why_ = started.error().message;
    co_return;
  }
  why_.clear();
  const auto child = std::make_shared<Child>(std::move(*started));
  child_ = child;
  asio::co_spawn(context_, look_after(child, Clock::now()), asio::detached);
  asio::co_spawn(
      context_,
      [child]() -> asio::awaitable<void> {
        co_await each_line(child->err(),
                           [](std::string_view line) { return log::warning(fmt::format("watch: {}", line)), true; });
      },
      asio::detached);
  bool told = false;  // what it says wrong, it says twice a second
  co_await each_line(child->out(), [&](std::string_view line) {
    auto taken = world_.take(line, Clock::now());
    if (!taken && !std::exchange(told, true)) log::error("watch", taken.error());
    return taken || taken.error().code != "untold";  // a new one tells all of it again
  });
  // It has closed its output: whether or not it lives on, it is of no use.
  if (!stopping_) child->signal(SIGTERM);
  boost::system::error_code error;
  co_await child->ended().async_wait(asio::posix::stream_descriptor::wait_read,
                                     asio::redirect_error(asio::use_awaitable, error));
  const int code = child->wait();
  child->ended().close(error);
  child_.reset();
  if (why_.empty())
    why_ = code > 128 ? "it was ended by signal " + std::to_string(code - 128)
                      : "it ended with exit code " + std::to_string(code);
}

asio::awaitable<void> Watch::look_after(std::shared_ptr<Child> child, Clock::time_point started) {
  boost::system::error_code error;
  while (child_ == child && !stopping_) {
    check_.expires_after(kCheck);
    co_await check_.async_wait(asio::redirect_error(asio::use_awaitable, error));
    const auto now = Clock::now();
    const auto quiet = world_.current() ? world_.age(now).value_or(now - started) : now - started;
    if (child_ != child || stopping_ || quiet <= (world_.current() ? limit_ : kFirstPass)) continue;
    why_ = "it made no pass for " + std::to_string(std::chrono::duration_cast<milliseconds>(quiet).count()) + " ms";
    child->signal(SIGKILL);
    co_return;
  }
  if (child_ != child) co_return;
  check_.expires_after(kMercy);
  co_await check_.async_wait(asio::redirect_error(asio::use_awaitable, error));
  if (child_ == child) child->signal(SIGKILL);
}

void Watch::stop() {
  stopping_ = true;
  pause_.cancel();
  check_.cancel();
  if (child_) child_->close_stdin();
}

}  // namespace sbpf::service
