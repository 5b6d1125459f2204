// SPDX-License-Identifier: Apache-2.0
// A request's text -> what is asked for, and a failure -> a status code. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "service/peer.h"

namespace sbpf::service {

enum class Asks {
  preflight,
  sandboxes,
  sandbox,
  events,
  policies,
  metrics,
  health,
  attach,
  swap,
  detach,
  run,
  policy_of,
  exec
};

struct Route {
  Asks asks = Asks::health;
  std::string name;    // of a sandbox, where the path has one
  bool kill = false;   // detach: its processes, too
  bool follow = true;  // events: those to come, too
};

// `method` as in the request line; `target` with its query. Errors: "no_such_path", "wrong_method", "bad_name",
// "bad_query".
Result<Route> route(std::string_view method, std::string_view target);

// How many pairs of a method and a path route() knows.
std::size_t number_of_calls();

Wants wants(Asks asks);
// Is it only for root and for the owner of the sandbox?
bool is_of_owner(Asks asks);

// The body of POST /v1/sandboxes; without cgroup and name, of PUT …/policy; with pid, and a name or none, of POST
// /v1/runs; of POST …/processes with pid, and a policy or none.
struct Change {
  std::string cgroup, name;
  std::string policy;       // by name…
  std::string policy_text;  // …or as it is; exactly one of both is given, but of …/processes none need be
  int pid = 0;
  bool keep = true;  // of an attach: the policy is assigned to the path
  // What becomes of sockets (attach) and files (swap) that are open already and that the policy forbids.
  enum class Open { refuse, evict, keep } open = Open::refuse;
};

// Errors: "bad_body": not JSON, an unknown key, one that is missing or given twice, a value of another kind.
Result<Change> parse_change(std::string_view body, Asks asks);

// Names of sandboxes and of policies: 1 to 63 of a-z A-Z 0-9 . _ -, the first a letter or a digit. So none is a path or
// an option.
bool is_name(std::string_view text);

// What the sandbox of a run is called: with the user's number, so that nobody takes a name that others go by.
std::string run_name(uid_t uid, const std::string& name);

// {"error":{"code","message","hint"}} and a newline.
std::string error_body(const Error& error);

}  // namespace sbpf::service
