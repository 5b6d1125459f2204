// SPDX-License-Identifier: Apache-2.0
#include "tests/live/net_steps.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

namespace sbpf::live {

namespace {

using net_model::Address;
using net_model::Policy;
using net_model::Proto;
using net_model::Rule;

// Served ones, their neighbours, other spellings, and what nobody reaches from a guest without a network.
constexpr const char* kAddresses[] = {
    "127.0.0.1", "127.0.0.2", "127.9.8.7", "::1",         "127.0.0.3", "127.9.8.6",       "0.0.0.0",
    "::",        "192.0.2.7", "192.0.3.7", "2001:db8::7", "::2",       "169.254.169.254", "::127.0.0.1"};
constexpr int kSpare = 20011;  // the first of the ports that may be bound

int any_port(Dice& dice, int first) { return first + dice.below(kPorts); }

Endpoint random_endpoint(Dice& dice, int first_port) {
  Endpoint endpoint;
  // Half of them reach a server, or nothing would arrive.
  endpoint.address = parse_address(dice.one_in(2) ? kServed[dice.below(std::size(kServed))]
                                                  : kAddresses[dice.below(std::size(kAddresses))]);
  endpoint.port = dice.one_in(20) ? 0 : any_port(dice, first_port);
  endpoint.native = !dice.one_in(3);
  return endpoint;
}

Rule random_rule(Dice& dice, int first_port) {
  static constexpr int kLengths[] = {96, 104, 112, 120, 125, 127};  // of IPv4: /0 to /31
  Rule rule;
  rule.address = parse_address(dice.one_in(2) ? kServed[dice.below(std::size(kServed))]
                                              : kAddresses[dice.below(std::size(kAddresses) - 2)]);
  if (dice.one_in(3)) {
    // Of IPv6 no network that would cover IPv4's mapped spelling: a policy may not have it.
    rule.bits = net_model::is_v4(rule.address) ? kLengths[dice.below(std::size(kLengths))] : 100 + dice.below(28);
    // As a policy must have it: no bits beyond the length.
    for (int bit = rule.bits; bit < 128; bit++)
      rule.address.bytes[static_cast<std::size_t>(bit / 8)] &= static_cast<std::uint8_t>(~(0x80 >> bit % 8));
  }
  rule.first = any_port(dice, first_port);
  rule.last = dice.one_in(3) ? rule.first : std::min(rule.first + dice.below(kPorts), first_port + kPorts - 1);
  const int protocols = dice.below(3);
  rule.tcp = protocols != 1;
  rule.udp = protocols != 0;
  return rule;
}

void print_rule(std::string& text, const Rule& rule) {
  const bool v4 = net_model::is_v4(rule.address);
  text += "    - {";
  text += rule.bits == 128 ? "address: \"" : "cidr: \"";
  text += to_string(rule.address);
  if (rule.bits != 128) text += "/" + std::to_string(v4 ? rule.bits - 96 : rule.bits);
  text += "\", ports: [" + std::to_string(rule.first);
  if (rule.last != rule.first) text += "-" + std::to_string(rule.last);
  text += "], protocol: ";
  text += rule.tcp && rule.udp ? "any" : rule.tcp ? "tcp" : "udp";
  text += "}\n";
}

bool refused_to(const Policy& policy, const Endpoint& to, bool tcp) {
  return !net_model::allows_connect(policy.connect, to.address, to.port, tcp ? Proto::tcp : Proto::udp);
}

// An address of another family than the socket's, which the kernel itself does not take there.
bool is_misfit(const Step& step, const Slot& slot) {
  const bool has_address = step.call == Call::connect || step.call == Call::bind || step.call == Call::sendto ||
                           step.call == Call::sendmsg || step.call == Call::sendmmsg || step.call == Call::fast_open;
  const bool v4 = net_model::is_v4(step.to.address) && step.to.native;
  return has_address && v4 == slot.v6;
}

bool must_be_refused(const Policy& policy, const Step& step, const Slot& slot) {
  switch (step.call) {
    case Call::any_socket:
      return !net_model::allows_socket(step.family, step.type, step.protocol);
    case Call::bind:
      return !net_model::allows_bind(policy.bind, step.to.address, step.to.port, slot.tcp ? Proto::tcp : Proto::udp);
    case Call::connect:
    case Call::fast_open:
      return refused_to(policy, step.to, slot.tcp);
    // TCP looks at no address here. Of sendmmsg's two the first decides what is returned; whether the second arrives is
    // seen where it would.
    case Call::sendto:
    case Call::sendmsg:
    case Call::sendmmsg:
      return !slot.tcp && refused_to(policy, step.to, false);
    default:
      return false;
  }
}

}  // namespace

Address parse_address(const std::string& text) {
  Address address;
  if (::inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  address.bytes[10] = address.bytes[11] = 0xff;
  ::inet_pton(AF_INET, text.c_str(), address.bytes.data() + 12);
  return address;
}

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (net_model::is_v4(address))
    ::inet_ntop(AF_INET, address.bytes.data() + 12, text, sizeof text);
  else
    ::inet_ntop(AF_INET6, address.bytes.data(), text, sizeof text);
  return text;
}

std::string to_string(const Step& step) {
  static constexpr const char* kBy[] = {"", " by a child", " by a thread", " by a grandchild"};
  std::string text = std::string(kCallNames[static_cast<int>(step.call)]) + " on " + std::to_string(step.slot);
  switch (step.call) {
    case Call::open:
      text += std::string(step.v6 ? " v6" : " v4") + (step.tcp ? " tcp" : " udp");
      break;
    case Call::any_socket:
      text += " " + std::to_string(step.family) + " " + std::to_string(step.type) + " " + std::to_string(step.protocol);
      break;
    case Call::connect:
    case Call::bind:
    case Call::sendto:
    case Call::sendmsg:
    case Call::sendmmsg:
    case Call::fast_open:
      text += " " + to_string(step.to.address) + (step.to.native ? "" : " mapped") + " port " +
              std::to_string(step.to.port);
      break;
    default:
      break;
  }
  if (step.call == Call::sendmmsg)
    text += ", " + to_string(step.also.address) + " port " + std::to_string(step.also.port);
  return text + kBy[static_cast<int>(step.by)];
}

Policy random_policy(Dice& dice) {
  Policy policy;
  for (int n = dice.below(9); n > 0; n--) policy.connect.push_back(random_rule(dice, kFirstPort));
  for (int n = dice.below(6); n > 0; n--) policy.bind.push_back(random_rule(dice, kSpare));
  return policy;
}

std::string to_yaml(const Policy& policy) {
  std::string text = "version: 1\nname: random\nprocess: {capabilities: dangerously_all}\nnetwork:\n  connect:";
  text += policy.connect.empty() ? " []\n" : "\n";
  for (const Rule& rule : policy.connect) print_rule(text, rule);
  text += policy.bind.empty() ? "  bind: []\n" : "  bind:\n";
  for (const Rule& rule : policy.bind) print_rule(text, rule);
  return text;
}

Step random_step(Dice& dice) {
  static constexpr Call kDrawn[] = {Call::open,    Call::open,    Call::open,       Call::any_socket, Call::connect,
                                    Call::connect, Call::connect, Call::disconnect, Call::bind,       Call::bind,
                                    Call::send,    Call::send,    Call::sendto,     Call::sendto,     Call::sendto,
                                    Call::sendmsg, Call::sendmsg, Call::sendmmsg,   Call::fast_open,  Call::pass,
                                    Call::dup,     Call::close};
  Step step;
  step.call = kDrawn[dice.below(std::size(kDrawn))];
  step.by = dice.one_in(4) ? static_cast<By>(1 + dice.below(3)) : By::self;
  step.slot = dice.below(kSlots);
  step.tcp = dice.one_in(2);
  step.v6 = dice.one_in(2);
  step.family = dice.one_in(2) ? (dice.one_in(2) ? AF_INET : AF_INET6) : dice.below(46);
  step.type = 1 + dice.below(10);
  step.protocol = dice.one_in(2) ? 0 : dice.below(263);
  // What a child opens or closes is the child's own, and the next step would not know.
  if (step.call == Call::open || step.call == Call::pass || step.call == Call::dup || step.call == Call::close)
    step.by = By::self;
  step.to = random_endpoint(dice, step.call == Call::bind ? kSpare : kFirstPort);
  step.also = random_endpoint(dice, kFirstPort);
  return step;
}

bool is_wildcard(const Address& address) {
  const std::string text = to_string(address);
  return text == "0.0.0.0" || text == "::";
}

Verdict verdict(const Policy& policy, const Step& step, const Slot& slot) {
  // To a connection that is there already, or is being made, neither goes anywhere else, whatever address they name.
  if (slot.tcp && slot.connected && (step.call == Call::connect || step.call == Call::fast_open))
    return Verdict::either;
  // The kernel puts a loopback address, of IPv4 or IPv6 as the socket is connected, in the place of the wildcard before
  // it asks.
  const bool sends = step.call == Call::sendto || step.call == Call::sendmsg || step.call == Call::sendmmsg ||
                     step.call == Call::fast_open;
  if (sends && slot.connected && is_wildcard(step.to.address)) return Verdict::either;
  if (must_be_refused(policy, step, slot)) return Verdict::refuse;
  // A misfit may be refused for what it is. What is sent on a socket that was connected to the wildcard is judged by
  // the address that the kernel made of it.
  const bool names_it = step.call == Call::connect || step.call == Call::bind || step.call == Call::any_socket;
  if (is_misfit(step, slot) || (slot.to_wildcard && !names_it)) return Verdict::either;
  return Verdict::allow;
}

}  // namespace sbpf::live
