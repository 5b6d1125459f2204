// SPDX-License-Identifier: Apache-2.0
// Policy -> Image. What each entry becomes is said in bpf/abi.h; how it is looked up, in bpf/decide.h.
#include <fmt/core.h>
#include <algorithm>
#include <set>
#include <tuple>

#include "base/sha256.h"
#include "policy/entry_text.h"
#include "policy/filesystem.h"
#include "policy/image.h"

namespace sbpf::policy {
namespace {

using Ranges = std::map<sbpf_rule_key, std::vector<sbpf_port_range>, KeyLess>;

// Header slots and rules share one value size; the bytes are copied as the kernel will read them.
template <typename Slot>
sbpf_rule as_value(const Slot& slot) {
  static_assert(sizeof(Slot) == sizeof(sbpf_rule));
  sbpf_rule value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}

sbpf_rule_key via_key(std::uint32_t rule) {
  sbpf_rule_key key{};
  key.kind = SBPF_RULE_VIA;
  std::memcpy(key.addr, &rule, sizeof rule);
  return key;
}

void add_via(Entries& entries, std::uint32_t rule, const std::optional<Via>& via) {
  if (!via) return;
  sbpf_via value{};
  std::memcpy(value.addr, via->address.data(), sizeof value.addr);
  value.port = via->port;
  entries.emplace(via_key(rule), as_value(value));
}

sbpf_rule_key interface_key(const std::string& name) {
  sbpf_rule_key key{};
  key.kind = SBPF_RULE_INTERFACE;
  std::memcpy(key.addr, name.data(), std::min(name.size(), sizeof key.addr - 1));
  return key;
}

// Ranges that are not used match no port.
sbpf_rule empty_rule() {
  sbpf_rule rule{};
  for (sbpf_port_range& range : rule.range) range = sbpf_port_range{1, 0, 0};
  return rule;
}

std::string describe(const Endpoint& entry) { return internal::located(entry.where, internal::entry_text(entry)); }

// Sorted, without overlap; a port that two rules allow stays with the one whose range begins first.
std::vector<sbpf_port_range> disjoint(std::vector<sbpf_port_range> all) {
  std::sort(all.begin(), all.end(), [](const sbpf_port_range& a, const sbpf_port_range& b) {
    return std::tie(a.first, a.rule) < std::tie(b.first, b.rule);
  });
  std::vector<sbpf_port_range> result;
  for (sbpf_port_range range : all) {
    if (!result.empty() && range.last <= result.back().last) continue;
    if (!result.empty() && range.first <= result.back().last) range.first = static_cast<__u16>(result.back().last + 1);
    result.push_back(range);
  }
  return result;
}

// Ports that only touch, of different rules, become one range when there is no room for two, unless one of them leads
// elsewhere; explain() then finds the rule by itself.
void join_touching(std::vector<sbpf_port_range>& ranges) {
  std::vector<sbpf_port_range> result;
  for (const sbpf_port_range& range : ranges) {
    if (!result.empty() && range.first == result.back().last + 1 &&
        (range.rule == result.back().rule || ((range.rule | result.back().rule) & SBPF_RULE_PROXIED) == 0))
      result.back().last = range.last;
    else
      result.push_back(range);
  }
  ranges = std::move(result);
}

class Compiler {
 public:
  explicit Compiler(std::uint32_t first_rule = 0) : next_rule_(first_rule) {}

  // Adds the keys of one list of entries. Rules are numbered on from where the last list ended.
  Result<void> add_all(sbpf_rule_kind kind, const std::vector<Endpoint>& entries) {
    ranges_.clear();
    for (const Endpoint& entry : entries) {
      for (const sbpf_proto proto : {SBPF_PROTO_TCP, SBPF_PROTO_UDP}) {
        if (entry.protocol == Protocol::tcp && proto != SBPF_PROTO_TCP) continue;
        if (entry.protocol == Protocol::udp && proto != SBPF_PROTO_UDP) continue;
        if (!add(kind, proto, entry))
          return fail("too_many_rules",
                      fmt::format("{}: the policy needs more than {} rules", describe(entry), SBPF_MAX_RULES),
                      fmt::format("use wider prefixes, or ranges of more than {} ports", SBPF_EXPAND_PORTS));
      }
      ++next_rule_;
    }
    return add_ranges(entries);
  }

  // Distinct prefix lengths of `kind`, longest first. A length that only exact /128 keys have is left out:
  // sbpf_decide_net looks those up before it reads this list, so that the commonest policies have an empty one.
  std::vector<std::uint8_t> prefixes(sbpf_rule_kind kind) const {
    std::set<std::uint8_t, std::greater<>> lengths;
    for (const auto& [key, value] : entries_)
      if (key.kind == kind && (key.prefix_len != 128 || key.match == SBPF_PORT_RANGES)) lengths.insert(key.prefix_len);
    return {lengths.begin(), lengths.end()};
  }

  Entries take() { return std::move(entries_); }
  std::size_t size() const { return entries_.size(); }
  std::uint32_t next_rule() const { return next_rule_; }

 private:
  bool add(sbpf_rule_kind kind, sbpf_proto proto, const Endpoint& entry) {
    sbpf_rule_key key{};
    key.kind = static_cast<__u8>(kind);
    key.proto = static_cast<__u8>(proto);
    key.prefix_len = entry.prefix;
    const std::uint32_t number = next_rule_ | (entry.via ? SBPF_RULE_PROXIED : 0);
    std::memcpy(key.addr, entry.address.data(), sizeof key.addr);
    for (const PortRange& ports : entry.ports) {
      if (ports.last - ports.first >= SBPF_EXPAND_PORTS) {
        key.match = SBPF_PORT_RANGES;
        key.port = 0;
        ranges_[key].push_back(sbpf_port_range{ports.first, ports.last, number});
        continue;
      }
      key.match = SBPF_PORT_EXACT;
      for (std::uint32_t port = ports.first; port <= ports.last; ++port) {
        key.port = static_cast<__u16>(port);
        sbpf_rule rule = empty_rule();
        rule.n_ranges = 1;
        rule.range[0] = sbpf_port_range{key.port, key.port, number};
        entries_.try_emplace(key, rule);  // of two rules that say the same, the first is the one that explains
      }
    }
    return entries_.size() + ranges_.size() <= SBPF_MAX_RULES;
  }

  Result<void> add_ranges(const std::vector<Endpoint>& entries) {
    const std::uint32_t first_rule = next_rule_ - static_cast<std::uint32_t>(entries.size());
    for (const auto& [key, all] : ranges_) {
      std::vector<sbpf_port_range> ranges = disjoint(all);
      if (ranges.size() > SBPF_MAX_RANGES) join_touching(ranges);
      if (ranges.size() > SBPF_MAX_RANGES)
        return fail("too_many_ranges",
                    fmt::format("{}: more than {} port ranges for this destination and protocol",
                                describe(entries[(ranges[SBPF_MAX_RANGES].rule & ~SBPF_RULE_PROXIED) - first_rule]),
                                SBPF_MAX_RANGES),
                    fmt::format("join ranges; ranges of up to {} ports do not count", SBPF_EXPAND_PORTS));
      sbpf_rule rule = empty_rule();
      rule.n_ranges = static_cast<__u32>(ranges.size());
      std::copy(ranges.begin(), ranges.end(), rule.range);
      entries_.emplace(key, rule);
    }
    return {};
  }

  Entries entries_;
  Ranges ranges_;
  std::uint32_t next_rule_ = 0;
};

Result<sbpf_prefixes> prefix_slot(const std::vector<std::uint8_t>& lengths, const std::vector<Endpoint>& entries) {
  sbpf_prefixes slot{};
  if (lengths.size() <= SBPF_MAX_PREFIXES) {
    std::copy(lengths.begin(), lengths.end(), slot.len);
    return slot;
  }
  const auto has_length = [&](const Endpoint& e) { return e.prefix == lengths[SBPF_MAX_PREFIXES]; };
  const auto entry = std::find_if(entries.begin(), entries.end(), has_length);
  return fail("too_many_prefixes",
              fmt::format("{}more than {} different prefix lengths",
                          entry == entries.end() ? "" : fmt::format("{}: ", describe(*entry)), SBPF_MAX_PREFIXES),
              "use fewer different lengths, for example by splitting a network into longer ones");
}

sbpf_policy_id id_slot(const Policy& policy) {
  sbpf_policy_id id{};
  for (const ProgramTag& tag : policy.network.trusted_programs)
    std::memcpy(id.trusted[id.n_trusted++], tag.data(), tag.size());
  const auto digest = sha256(policy);
  std::memcpy(id.policy_sha256, digest.data(), digest.size());
  switch (policy.on_loss) {
    case OnLoss::freeze:
      id.on_loss = SBPF_ON_LOSS_FREEZE;
      break;
    case OnLoss::kill:
      id.on_loss = SBPF_ON_LOSS_KILL;
      break;
    case OnLoss::alert:
      id.on_loss = SBPF_ON_LOSS_ALERT;
      break;
  }
  return id;
}

// A digest of all that decides what a name opens.
std::uint32_t host_names_id(const Policy& policy) {
  if (policy.network.hosts.empty()) return 0;
  Sha256 digest;
  const auto add = [&digest](const std::string& text) { digest.add(text.c_str(), text.size() + 1); };
  for (const HostRule& rule : policy.network.hosts) add(internal::entry_text(rule));
  for (const Endpoint& entry : policy.network.connect) add(internal::entry_text(entry));
  add(policy.network.resolver ? to_string(*policy.network.resolver) : "");
  add(policy.mode == Mode::audit ? "audit" : "");
  // What is opened bears the numbers of its rules, by which their proxies are found.
  const bool proxied = std::any_of(policy.network.hosts.begin(), policy.network.hosts.end(),
                                   [](const HostRule& rule) { return rule.via.has_value(); });
  add(proxied ? std::to_string(first_of_hosts(policy)) : "");
  const auto hash = digest.finish();
  std::uint32_t number = 0;
  std::memcpy(&number, hash.data(), sizeof number);
  return std::max<std::uint32_t>(number, 1);
}

// What an entry with this address, and the rest as the name's, would be.
Result<Entries> entries_at(const HostRule& rule, std::uint32_t number, const Address& address) {
  Compiler compiler(number);
  if (auto added = compiler.add_all(SBPF_RULE_CONNECT,
                                    {Endpoint{address, 128, rule.ports, rule.protocol, rule.where, rule.via}});
      !added)
    return tl::unexpected(added.error());
  return compiler.take();
}

sbpf_policy_process process_slot(const KernelAccess& kernel, const Limits& limits) {
  sbpf_policy_process slot{};
  slot.cpu_millis = limits.cpu_millis.value_or(0);
  slot.memory_bytes = limits.memory_bytes.value_or(0);
  slot.processes = limits.processes.value_or(0);
  for (std::uint32_t i = 0; i < SBPF_KERNEL_MAX; ++i)
    if (!closed_by_default(static_cast<sbpf_kernel_interface>(i))) slot.kernel |= 1u << i;
  for (const sbpf_kernel_interface i : kernel.allow) slot.kernel |= 1u << i;
  for (const sbpf_kernel_interface i : kernel.deny) slot.kernel &= ~(1u << i);
  for (const std::uint8_t number : kernel.dangerously_allow_capabilities) slot.capabilities |= __u64{1} << number;
  return slot;
}

// What the policy says as a whole.
sbpf_policy_header flags_of(const Policy& policy) {
  sbpf_policy_header header{};
  if (policy.filesystem.judged()) header.flags |= SBPF_POLICY_FS;
  if (policy.filesystem.requested) header.flags |= SBPF_POLICY_DEVICES;
  if (policy.exec.judged()) header.flags |= SBPF_POLICY_EXEC;
  if (!policy.network.unix_peers.empty()) header.flags |= SBPF_POLICY_UNIX;
  header.exec_places_only = policy.exec.allow_listed || policy.exec.deny_writable;
  if (policy.mode == Mode::audit) header.flags |= SBPF_POLICY_AUDIT;
  if (policy.network.dangerously_allow_all) header.flags |= SBPF_POLICY_NET_ALLOW_ALL;
  if (policy.network.loopback == Loopback::private_namespace) header.flags |= SBPF_POLICY_OWN_LOOPBACK;
  if (policy.network.record_flows) header.flags |= SBPF_POLICY_RECORD;
  if (policy.network.dangerously_allow_metadata) header.flags |= SBPF_POLICY_NET_METADATA;
  for (const sbpf_socket_class c : policy.network.dangerously_allow_sockets) header.sockets |= 1u << c;
  header.host_names_id = host_names_id(policy);
  return header;
}

}  // namespace

Result<Image> compile_rules(const Policy& policy, std::uint32_t generation, const FsView& view) {
  Compiler compiler;
  if (auto added = compiler.add_all(SBPF_RULE_CONNECT, policy.network.connect); !added)
    return tl::unexpected(added.error());
  if (auto added = compiler.add_all(SBPF_RULE_BIND, policy.network.bind); !added) return tl::unexpected(added.error());
  const auto connect_lengths = compiler.prefixes(SBPF_RULE_CONNECT);
  const auto bind_lengths = compiler.prefixes(SBPF_RULE_BIND);
  const auto connect_slot = prefix_slot(connect_lengths, policy.network.connect);
  if (!connect_slot) return fail(connect_slot.error(), "network.connect");
  const auto bind_slot = prefix_slot(bind_lengths, policy.network.bind);
  if (!bind_slot) return fail(bind_slot.error(), "network.bind");

  if (policy.network.trusted_programs.size() > SBPF_TRUSTED_PROGRAMS)
    return fail("too_many_programs",
                fmt::format("at most {} programs can be trusted, in all that is extended", SBPF_TRUSTED_PROGRAMS),
                "name those that run after sbpf's alone: `sbpf status` names them");
  for (const HostRule& rule : policy.network.hosts)
    if (auto entries = entries_at(rule, 0, Address{}); !entries)
      return fail(std::move(entries.error()), internal::entry_text(rule));
  Result<FsEntries> files;
  if (has_paths(policy)) files = filesystem_entries(policy, view, compiler.next_rule());
  if (!files)
    return fail(files.error(), policy.filesystem.judged() ? "filesystem"
                               : policy.exec.judged()     ? "process.exec"
                                                          : "network.unix");
  if (compiler.size() + files->size() > SBPF_MAX_RULES)
    return fail("too_many_rules", fmt::format("the policy needs more than {} rules", SBPF_MAX_RULES),
                "name directories instead of what is in them, use wider prefixes, or longer port ranges");

  sbpf_policy_header header = flags_of(policy);
  header.n_connect_prefixes = static_cast<__u8>(connect_lengths.size());
  header.n_bind_prefixes = static_cast<__u8>(bind_lengths.size());
  header.generation = generation;
  for (const auto& [key, node] : *files) set_file_bit(header, key);
  header.n_rules = static_cast<__u32>(compiler.size() + files->size());

  sbpf_policy_name name{};
  std::memcpy(name.name, policy.name.data(), std::min<std::size_t>(policy.name.size(), SBPF_NAME_LEN - 1));

  Image image;
  image.entries = compiler.take();
  for (const auto& [key, node] : *files) image.entries.emplace(key, as_value(node));
  for (const UnixRule& rule : policy.network.unix_peers)
    if (rule.abstract())
      for (const auto& [key, entry] : named_entries(unix_key(rule.peer), {}, rule.peer.substr(1)))
        image.entries.emplace(key, as_value(entry));
  for (const std::string& interface : policy.network.interfaces)
    image.entries.emplace(interface_key(interface), empty_rule());
  for (std::size_t i = 0; i < policy.network.connect.size(); ++i)
    add_via(image.entries, static_cast<std::uint32_t>(i), policy.network.connect[i].via);
  for (std::size_t i = 0; i < policy.network.hosts.size(); ++i)
    add_via(image.entries, first_of_hosts(policy) + static_cast<std::uint32_t>(i), policy.network.hosts[i].via);
  image.entries[slot_key(SBPF_SLOT_CONNECT_PREFIXES)] = as_value(*connect_slot);
  image.entries[slot_key(SBPF_SLOT_BIND_PREFIXES)] = as_value(*bind_slot);
  image.entries[slot_key(SBPF_SLOT_NAME)] = as_value(name);
  image.entries[slot_key(SBPF_SLOT_PROCESS)] = as_value(process_slot(policy.kernel, policy.limits));
  image.entries[slot_key(SBPF_SLOT_HEADER)] = as_value(header);
  return image;
}

Result<Image> compile(const Policy& policy, std::uint32_t generation, const FsView& view) {
  auto image = compile_rules(policy, generation, view);
  if (!image) return image;
  image->entries[slot_key(SBPF_SLOT_ID)] = as_value(id_slot(policy));
  const auto digest = image_sha256(image->entries);
  sbpf_policy_header header = image->header();
  std::memcpy(header.image_sha256, digest.data(), digest.size());
  image->entries[slot_key(SBPF_SLOT_HEADER)] = as_value(header);
  return image;
}

std::uint32_t first_of_hosts(const Policy& policy) {
  return static_cast<std::uint32_t>(policy.network.connect.size() + policy.network.bind.size() +
                                    policy.filesystem.rules.size() + policy.exec.rules.size());
}

Result<Entries> opened_entries(const HostRule& rule, std::uint32_t number, const Address& address) {
  if (!is_public(address)) return Entries{};
  return entries_at(rule, number, address);
}

bool join_rules(sbpf_rule& into, const sbpf_rule& other) {
  std::vector<sbpf_port_range> both(into.range, into.range + into.n_ranges);
  both.insert(both.end(), other.range, other.range + other.n_ranges);
  std::vector<sbpf_port_range> ranges = disjoint(both);
  if (ranges.size() > SBPF_MAX_RANGES) join_touching(ranges);
  if (ranges.size() > SBPF_MAX_RANGES) return false;
  into = empty_rule();
  into.n_ranges = static_cast<__u32>(ranges.size());
  std::copy(ranges.begin(), ranges.end(), into.range);
  return true;
}

void add_rule(Image& image, const sbpf_rule_key& key, const sbpf_rule& rule) {
  const auto [at, added] = image.entries.try_emplace(key, rule);
  if (key.match != SBPF_PORT_RANGES) return;
  if (!added) {
    (void)join_rules(at->second, rule);
    return;
  }
  sbpf_policy_header header = image.header();
  sbpf_prefixes prefixes{};
  sbpf_rule& slot = image.entries[slot_key(SBPF_SLOT_CONNECT_PREFIXES)];
  std::memcpy(&prefixes, &slot, sizeof prefixes);
  if (header.n_connect_prefixes > 0 && prefixes.len[0] == key.prefix_len) return;  // the longest comes first
  if (header.n_connect_prefixes == SBPF_MAX_PREFIXES) return;
  std::copy_backward(prefixes.len, prefixes.len + header.n_connect_prefixes,
                     prefixes.len + header.n_connect_prefixes + 1);
  prefixes.len[0] = key.prefix_len;
  ++header.n_connect_prefixes;
  slot = as_value(prefixes);
  image.entries[slot_key(SBPF_SLOT_HEADER)] = as_value(header);
}

}  // namespace sbpf::policy
