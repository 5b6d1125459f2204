// SPDX-License-Identifier: Apache-2.0
// Policy -> Image: the exact contents of the policy's kernel map (bpf/abi.h). Pure.
#pragma once

#include <array>
#include <cstring>
#include <map>
#include <span>

#include "policy/policy.h"

namespace sbpf::policy {

// Orders keys by their bytes, so that an image has one serial form.
struct KeyLess {
  bool operator()(const sbpf_rule_key& a, const sbpf_rule_key& b) const { return std::memcmp(&a, &b, sizeof a) < 0; }
};

// The key of a header entry.
sbpf_rule_key slot_key(sbpf_header_slot slot);

// The limits of the cgroup; none of a policy that an older sbpf published.
Limits limits_of(const sbpf_policy_process& process);

// The map contents of one policy. Header entries (SBPF_RULE_HEADER) are made by compile() too, all slots.
struct Image {
  std::map<sbpf_rule_key, sbpf_rule, KeyLess> entries;

  // A header entry, typed; zeroes if there is none.
  template <typename Slot>
  Slot slot(sbpf_header_slot number) const {
    Slot typed{};
    if (const auto found = entries.find(slot_key(number)); found != entries.end())
      std::memcpy(&typed, &found->second, sizeof typed);
    return typed;
  }
  // The header entry, typed. Precondition: made by compile().
  sbpf_policy_header header() const;
  // The same under another number of publication. Precondition: likewise.
  Image renumbered(std::uint32_t generation) const;
  // The same with a flag of enum sbpf_policy_flags. Precondition: likewise.
  Image flagged(sbpf_policy_flags flag) const;
};

struct FsView;  // policy/filesystem.h

// Compiles a policy. `generation` numbers the publication; `view` says where the paths of filesystem rules lie. Rules
// are numbered in order: network.connect first, then network.bind, then filesystem, then process.exec, then the names
// of network.connect (rule_text() gives a number's text). Errors: "too_many_rules", "too_many_prefixes",
// "too_many_ranges", and those of filesystem_entries(), with the offending entry's location in the message.
Result<Image> compile(const Policy& policy, std::uint32_t generation, const FsView& view);

// The same without the policy's hash and the image's own, which are most of the work: for callers that ask whether a
// policy can be compiled and what it says, and do not publish it.
Result<Image> compile_rules(const Policy& policy, std::uint32_t generation, const FsView& view);

// SHA-256 over all entries in their order, but for the header (port 0), which holds it: what the agent recomputes from
// the kernel's map.
std::array<std::uint8_t, 32> image_sha256(const std::map<sbpf_rule_key, sbpf_rule, KeyLess>& entries);

// The number of the rule of network.hosts[0].
std::uint32_t first_of_hosts(const Policy& policy);

// The rules that an answer for a name adds: those that this address has by one of network.hosts, as compile() makes
// them of an entry with an address. `number` is the rule's. None for an address that is not public: the policy's own
// entries for the address allow all that both allow, and the kernel asks them first. Errors: "too_many_ranges".
using Entries = std::map<sbpf_rule_key, sbpf_rule, KeyLess>;
Result<Entries> opened_entries(const HostRule& rule, std::uint32_t number, const Address& address);

// Adds to a rule's ranges those of another one for the same key. False if there is no room: `into` is as it was.
bool join_rules(sbpf_rule& into, const sbpf_rule& other);

// Puts a rule for a single address into an image, beside the ports that the image allows there already; where both do
// not fit into one rule, the image's own stays. Its hash is then not that of its contents.
void add_rule(Image& image, const sbpf_rule_key& key, const sbpf_rule& rule);

// Where a rule's number could stand: no rule decided (SBPF_NO_RULE of bpf/decide.h).
inline constexpr std::uint32_t kNoRule = ~0u;
// Or that the policy's loopback is the sandbox's own (SBPF_OWN_LOOPBACK).
inline constexpr std::uint32_t kOwnLoopback = ~1u;

// The endpoint a question is about.
struct NetQuery {
  sbpf_rule_kind kind = SBPF_RULE_CONNECT;  // or SBPF_RULE_BIND
  sbpf_proto proto = SBPF_PROTO_TCP;
  Address address{};
  std::uint16_t port = 0;
  bool in_own_netns = false;  // of a socket in a network namespace that was made for the sandbox
};

// The kernel's verdict on the endpoint under this image (mode aside), by sbpf_decide_net() and
// sbpf_decide_own_loopback() of bpf/decide.h. `rule`, if given, receives the number of the rule that allowed it,
// kNoRule, or kOwnLoopback; `judged` the address that it was allowed by: that of the query, or loopback, to which the
// kernel leads a wildcard that a network allows.
bool allows(const Image& image, const NetQuery& query, std::uint32_t* rule = nullptr, Address* judged = nullptr);

// Does this entry of network.connect or network.bind cover the endpoint, by itself?
bool covers(const Endpoint& entry, const NetQuery& query);

// A bind to the wildcard that no rule allows becomes one to this address of loopback, which a rule does allow: that of
// a socket of IPv6 which takes IPv4 too. Nothing: it is refused. `rule` as above.
std::optional<Address> narrowed(const Image& image, const NetQuery& query, std::uint32_t* rule = nullptr);

// The proxy to which connections that this rule allows are sent; nothing: they go to their destination.
std::optional<Via> via_of(const Image& image, std::uint32_t rule);

// Is it ::1, or of 127.0.0.0/8?
bool is_loopback(const Address& address);

// Is it no address of its own: 0.0.0.0 or ::?
bool is_wildcard(const Address& address);

// Is it the endpoint that every policy denies (SBPF_CANARY_PORT)?
bool is_canary(const NetQuery& query);

// Is it a cloud's metadata service, which no policy allows without dangerously_allow_metadata (sbpf_is_metadata())?
bool is_metadata(const NetQuery& query);
// Is all that this entry of network.connect covers one?
bool is_metadata(const Endpoint& entry);

// May root inside use it over the host; is the interface open? bpf/decide_process.h on the image.
bool allows_capability(const Image& image, std::uint32_t number);
bool opens(const Image& image, sbpf_kernel_interface interface);

// sbpf_classify_socket() of bpf/decide.h.
sbpf_socket_class classify_socket(int family, int type, int protocol);
// Does this option of sockets name a network interface to leave by? sbpf_is_interface_option() of bpf/decide_option.h.
bool is_interface_option(int level, int option);
// May a socket of this class be made? sbpf_decide_socket() of bpf/decide.h on the image.
bool allows_socket(const Image& image, sbpf_socket_class kind);

// The answer of `sbpf explain`: decided by sbpf_decide_net() of bpf/decide.h on the image, as in the kernel.
struct Explanation {
  bool allowed = false;
  bool audit_only = false;  // mode: audit
  std::string rule;         // the entry that allowed it, as YAML, or "dangerously_allow_all"; empty if none
  std::optional<Location> where;
  std::string suggestion;                // on denial: the smallest YAML that would allow it
  std::optional<Address> narrowed = {};  // allowed only there: narrowed()
};
Explanation explain(const Policy& policy, const Image& image, const NetQuery& query);

// The same for a connection to a host's name: by the patterns of network.connect. `name` as parse_host_pattern() takes
// it, without a *.
Explanation explain_host(const Policy& policy, const std::string& name, sbpf_proto proto, std::uint16_t port);

// The text of a rule number: "network.connect: {address: 1.2.3.4, ports: [443], protocol: tcp}" or
// "filesystem.protect: /workspace/tests"; empty if there is none.
std::string rule_text(const Policy& policy, std::uint32_t rule);

// The smallest YAML that would allow the endpoint, to be pasted into a policy (of which in_own_netns says that it has a
// private loopback): "network: {connect: [{address: 1.2.3.4, ports: [443], protocol: tcp}]}". Empty if nothing can allow it.
std::string suggestion(const NetQuery& query);

// The same for a path, which comes from a sandbox and may be made to look like YAML, and for a host's name. Empty also
// where a policy cannot name it.
enum class PathUse { read, write, exec, unix_peer };
std::string suggestion(PathUse use, std::string_view path);
std::string host_suggestion(std::string_view name);
// And for a network interface, whose name may be the sandbox's choice.
std::string interface_suggestion(std::string_view name);

}  // namespace sbpf::policy
