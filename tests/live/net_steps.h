// SPDX-License-Identifier: Apache-2.0
// Random policies and system calls for net_differential. Both sides, the one that makes the calls in a sandbox and the
// one that judges them, draw the same ones from the same seed.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/decide/net_model.h"

namespace sbpf::live {

// std::mt19937_64 gives the same numbers everywhere; the standard's distributions do not.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<std::uint64_t>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937_64 engine_;
};

enum class Call {
  open,
  any_socket,
  connect,
  disconnect,
  bind,
  send,
  sendto,
  sendmsg,
  sendmmsg,
  fast_open,
  pass,
  dup,
  close
};
inline constexpr int kCalls = 13;
inline constexpr const char* kCallNames[kCalls] = {"open", "any_socket", "connect", "disconnect", "bind",
                                                   "send", "sendto",     "sendmsg", "sendmmsg",   "fast_open",
                                                   "pass", "dup",        "close"};
enum class By { self, child, thread, grandchild };  // who makes the call, with the same descriptors

struct Endpoint {
  net_model::Address address;
  int port = 0;
  bool native = true;  // IPv4 as AF_INET, or mapped, as AF_INET6
};

struct Step {
  Call call = Call::open;
  By by = By::self;
  int slot = 0;
  bool tcp = false, v6 = false;            // open
  int family = 0, type = 0, protocol = 0;  // any_socket
  Endpoint to, also;                       // also: sendmmsg's second
};

inline constexpr int kSlots = 5, kSteps = 300;
inline constexpr int kFirstPort = 20001, kPorts = 6;  // of the servers outside
inline constexpr const char* kServed[] = {"127.0.0.1", "127.0.0.2", "127.9.8.7", "::1"};

net_model::Address parse_address(const std::string& text);  // a mapped one for IPv4
std::string to_string(const net_model::Address& address);
std::string to_string(const Step& step);
net_model::Policy random_policy(Dice& dice);
std::string to_yaml(const net_model::Policy& policy);
Step random_step(Dice& dice);

bool is_wildcard(const net_model::Address& address);

// What a slot holds is told by the sequence alone: a socket that may be opened is.
struct Slot {
  bool tcp = false, v6 = false;
  bool connected = false;    // perhaps
  bool to_wildcard = false;  // which the kernel takes for loopback
  bool bound = false;        // perhaps
};

class Slots {
 public:
  const Slot& of(const Step& step) const { return slots_[step.slot]; }
  void after(const Step& step) {
    Slot& slot = slots_[step.slot];
    if (step.call == Call::open) slot = {step.tcp, step.v6};
    slot.bound = slot.bound || step.call == Call::bind;
    if (step.call != Call::connect && step.call != Call::fast_open) return;
    slot.connected = true;
    slot.to_wildcard = slot.to_wildcard || is_wildcard(step.to.address);
  }

 private:
  Slot slots_[kSlots];
};

// What must come of a call, whatever else may be wrong with it. `either` is for what the servers alone can tell.
enum class Verdict { refuse, allow, either };
Verdict verdict(const net_model::Policy& policy, const Step& step, const Slot& slot);

}  // namespace sbpf::live
