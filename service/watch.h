// SPDX-License-Identifier: Apache-2.0
// `sbpf watch --json` as a permanent child: started anew when it ends or says nothing for too long.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "service/asio.h"
#include "service/child.h"
#include "service/world.h"

namespace sbpf::service {

class Watch {
 public:
  // `restarted` is called each time that it has to be started again, with the reason.
  Watch(asio::io_context& context, World& world, std::string sbpf, std::function<void(const std::string&)> restarted)
      : context_(context),
        world_(world),
        sbpf_(std::move(sbpf)),
        restarted_(std::move(restarted)),
        pause_(context),
        check_(context) {}

  void set_limit(std::chrono::seconds limit) { limit_ = limit; }
  // Until stop(). To be spawned once; the object must outlive it.
  asio::awaitable<void> run();
  // Asks the child to end; run() returns when it has, at the latest after two seconds.
  void stop();

 private:
  asio::awaitable<void> run_once();
  asio::awaitable<void> look_after(std::shared_ptr<Child> child, Clock::time_point started);

  asio::io_context& context_;
  World& world_;
  std::string sbpf_;
  std::function<void(const std::string&)> restarted_;
  asio::steady_timer pause_, check_;
  std::chrono::seconds limit_{3};
  std::shared_ptr<Child> child_;
  std::string why_;  // it ended
  bool stopping_ = false;
};

}  // namespace sbpf::service
