// SPDX-License-Identifier: Apache-2.0
// Carries requests out.
#pragma once

#include <map>
#include <string>

#include "service/asio.h"
#include "service/core.h"
#include "service/reply.h"
#include "service/requests.h"
#include "service/runs.h"

namespace sbpf::service {

class Api {
 public:
  explicit Api(Core& core) : core_(core), runs_(core) {}

  // May the peer ask for this, now? Errors: "not_permitted", "peer_sandboxed", "peer_unknown".
  Result<void> permit(const Peer& peer, Wants what) const;

  // What tells of a program, or is done to its sandbox, is its owner's and root's: reading events takes them out of the
  // ring. Errors: "not_permitted".
  Result<void> permit_owner(const Peer& peer, const std::string& sandbox) const;

  Runs& runs() { return runs_; }

  // Everything but Asks::events, Asks::run and Asks::exec.
  asio::awaitable<Reply> answer(Route route, std::string body);

  // After a change in the policies' directory, and once at the start: swaps what follows a policy that changed.
  asio::awaitable<void> follow_policies();
  // It is gone: it follows nothing any more.
  void forget(const std::string& sandbox);

  // Errors: "no_such_sandbox", as of the last pass.
  Result<void> known(const std::string& sandbox) const;

 private:
  asio::awaitable<Reply> preflight();
  asio::awaitable<Reply> policies();
  asio::awaitable<Reply> sandbox(std::string name);
  asio::awaitable<Reply> policy_of(std::string name);
  asio::awaitable<Reply> attach_or_swap(Route route, std::string body);
  asio::awaitable<Reply> detach(Route route);
  asio::awaitable<void> follow(std::string sandbox, Assignment assignment);
  void note(const std::string& sandbox, Assignment assignment, const std::string& sha256);
  Reply sandboxes() const;
  Reply health() const;
  Json with_policy_error(Json sandbox, const std::string& name) const;
  asio::awaitable<Result<Json>> sbpf(std::vector<std::string> arguments, int policy_fd = -1, bool ends_with_us = true);

  Core& core_;
  Runs runs_;
  std::map<std::string, Error> swap_errors_;  // by sandbox: its policy's file is valid, and could not be put in place
  bool preflight_runs_ = false;
  bool following_ = false, follow_again_ = false;
};

}  // namespace sbpf::service
