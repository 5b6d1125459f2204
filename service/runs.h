// SPDX-License-Identifier: Apache-2.0
// Sandboxes of users: POST /v1/runs. Each lives as long as the connection that asked for it.
#pragma once

#include <string>

#include "service/core.h"
#include "service/peer.h"
#include "service/reply.h"

namespace sbpf::service {

struct StartedRun {
  std::string name;  // of the sandbox; "": there is none
  std::uint64_t cgroup_id = 0;
};

class Runs {
 public:
  explicit Runs(Core& core) : core_(core) {}

  // Makes a sandbox and has `sbpf adopt` move the peer's waiting child into it. 201: `started` is set, and whoever
  // called ends it by end(); any other reply: there is none. Whose it is is written down before there is anything.
  asio::awaitable<Reply> start(Peer peer, std::string body, StartedRun& started);
  // Has `sbpf adopt` move the peer's waiting child into a live run of the peer's. It stays there when the connection
  // ends; but where the body has a policy, it is in a sandbox of its own within the run, and `started` is set, as
  // above.
  asio::awaitable<Reply> exec(Peer peer, std::string name, std::string body, StartedRun& started);
  // Kills what runs in it and removes it, however long that takes. A run of this name with another cgroup stays.
  asio::awaitable<void> end(StartedRun run);
  // The same, of DELETE by its owner.
  asio::awaitable<Reply> end_of_owner(std::string name);
  // Those that a service of before left, whose connections went with it.
  asio::awaitable<void> end_lost();

  bool owned_by(const std::string& name, uid_t uid) const;

 private:
  Result<void> check_limits(const Peer& peer, const std::string& name) const;
  // Without a policy in `change`: into the live sandbox of that name. `within`: the run in which the sandbox is to be;
  // "": in none.
  asio::awaitable<Result<Json>> adopt(const Peer& peer, const Change& change, const std::string& name,
                                      const std::string& within);
  // Makes the sandbox, written down before and after. 201: `started` is set.
  asio::awaitable<Reply> make(Peer peer, Change change, std::string name, std::string within, StartedRun& started);

  Core& core_;
};

}  // namespace sbpf::service
