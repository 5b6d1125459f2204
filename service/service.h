// SPDX-License-Identifier: Apache-2.0
// The whole of sbpfd: what it does when the watch tells something, when it gets a signal, and what systemd is told.
#pragma once

#include "service/api.h"
#include "service/asio.h"
#include "service/server.h"
#include "service/watch.h"

namespace sbpf::service {

class Service : private Observer {
 public:
  // `sbpf`: the executable's path. `config_file` is read again on SIGHUP; `optional`: it need not be there.
  Service(asio::io_context& context, Config config, std::string config_file, bool optional, std::string sbpf);

  // Errors: those of what is opened; "no_group".
  Result<void> open();
  // Until SIGTERM or SIGINT.
  void run();

 private:
  void pass(const Json& pass) override;
  void sandbox(const Json& now, const Json& before) override;
  void gone(const std::string& name, const Json& last) override;
  void loss(const Json& loss) override;
  void restored(const Json& restored) override;
  void trouble(const Json& error) override;

  // Until a canary of a sandbox of its own was denied by every hook, under what the service manager lets this process
  // do.
  asio::awaitable<void> prove();
  void become_ready(const std::string& status);
  Result<void> open_policies();
  void policies_changed();
  void handle_signals();
  void reload();
  void stop();

  Core core_;
  Api api_;
  Server server_;
  Watch watch_;
  asio::signal_set signals_;
  std::string config_file_;
  bool optional_;
  bool proven_ = false, ready_ = false;
  Clock::time_point told_{};  // systemd, last
};

// The id of a group. Errors: "no_group".
Result<gid_t> group_id(const std::string& name);

}  // namespace sbpf::service
