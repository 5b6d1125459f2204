// SPDX-License-Identifier: Apache-2.0
// The values of the keys of `network`.
#include <algorithm>
#include <charconv>
#include <set>

#include "policy/draft.h"
#include "policy/via.h"

namespace sbpf::policy::internal {
namespace {

constexpr Protocol kProtocols[] = {Protocol::any, Protocol::tcp, Protocol::udp};

bool has_key(const YamlNode& map, std::string_view name) {
  return std::any_of(map.keys.begin(), map.keys.end(),
                     [name](const YamlNode& key) { return key.kind == YamlNode::Kind::scalar && key.text == name; });
}

// One entry of connect or bind while it is read.
struct EntryReader {
  Reader& reader;
  std::uint16_t lowest_port;  // bind may ask the kernel to pick (0)
  Endpoint endpoint;
  bool bad = false;
  const YamlNode* address = nullptr;
  const YamlNode* cidr = nullptr;
  const YamlNode* host = nullptr;
  std::string pattern = {};
  const YamlNode* ports = nullptr;
  const YamlNode* via = nullptr;

  void read_address(const YamlNode& node, const std::string& key) {
    address = &node;
    if (auto value = reader.value<Address>(node, key, "an address", parse_host))
      endpoint.address = *value;
    else
      bad = true;
  }
  void read_host(const YamlNode& node, const std::string& key) {
    host = &node;
    if (auto value = reader.value<std::string>(node, key, "a host name", parse_host_pattern))
      pattern = *value;
    else
      bad = true;
  }
  void read_cidr(const YamlNode& node, const std::string& key) {
    cidr = &node;
    const auto prefix = reader.value<Prefix>(node, key, "a network such as 10.0.0.0/8", parse_cidr);
    if (!prefix) {
      bad = true;
      return;
    }
    endpoint.address = prefix->address;
    endpoint.prefix = prefix->length;
  }
  void read_ports(const YamlNode& node, const std::string& key) {
    ports = &node;
    if (node.kind == YamlNode::Kind::sequence && node.items.empty())
      reader.error(node, key,
                   {"empty_ports", "the list of ports is empty, so the entry allows nothing",
                    "name the ports, or remove the entry; [1-65535] is all of them"});
    reader.list(node, key, "a list, as in ports: [443, 6000-6010]",
                [&](const YamlNode& item, const std::string& item_key) {
                  const auto parse_item = [this](std::string_view text) { return parse_ports(text, lowest_port); };
                  if (auto range = reader.value<PortRange>(item, item_key, "a port or a range of ports", parse_item))
                    endpoint.ports.push_back(*range);
                });
    bad = bad || node.kind != YamlNode::Kind::sequence || endpoint.ports.size() != node.items.size() ||
          node.items.empty();
  }
  void read_via(const YamlNode& node, const std::string& key) {
    via = &node;
    Via proxy;
    bool has_address = false;
    reader.map(node, key,
               {{"address",
                 [&](const YamlNode& n, const std::string& k) {
                   if (auto value = reader.value<Address>(n, k, "an address", parse_host)) {
                     proxy.address = *value;
                     has_address = true;
                   }
                 }},
                {"port",
                 [&](const YamlNode& n, const std::string& k) {
                   const auto parse_one = [](std::string_view text) { return parse_ports(text, 1); };
                   const auto range = reader.value<PortRange>(n, k, "a port", parse_one);
                   if (range && range->first == range->last) proxy.port = range->first;
                   if (range && range->first != range->last)
                     reader.error(n, k, {"bad_port", "a proxy has one port", "write port: 3128"});
                 }}},
               {});
    bad = bad || !has_address || proxy.port == 0;
    if (node.kind != YamlNode::Kind::map) return;
    if (!has_key(node, "address") || !has_key(node, "port"))
      reader.error(node, key,
                   {"missing_key", "a proxy has an address and a port", "write via: {address: 127.0.0.1, port: 3128}"});
    else if (const std::string problem = bad ? "" : via_problem(proxy); !problem.empty())
      reader.error(node, key, {"bad_via", problem, "name the proxy by its own address"});
    endpoint.via = proxy;
  }
  // What only the whole entry tells.
  void check_via(const std::string& key) {
    if (!via || bad) return;
    if (endpoint.protocol != Protocol::tcp)
      reader.error(*via, key + ".via",
                   {"via_needs_tcp", "only TCP connections are sent to a proxy", "add protocol: tcp to the entry"});
    else if (!is_v4(endpoint.via->address) && (host || is_v4(endpoint.address)))
      reader.error(*via, key + ".via",
                   {"via_family", "an IPv4 connection cannot go to a proxy with an IPv6 address",
                    "name the proxy by an IPv4 address"});
  }
  void read_protocol(const YamlNode& node, const std::string& key) {
    if (auto i = reader.word(node, key, "bad_protocol", {"any", "tcp", "udp"}))
      endpoint.protocol = kProtocols[*i];
    else
      bad = true;
  }
};

void read_entry(const YamlNode& node, const std::string& key, bool bind, Reader& reader, std::vector<Endpoint>& out,
                std::vector<HostRule>* hosts) {
  EntryReader entry{reader, static_cast<std::uint16_t>(bind ? 0 : 1), {}};
  entry.endpoint.where = reader.where(node);
  std::vector<Reader::Field> fields = {
      {"address", [&](const YamlNode& n, const std::string& k) { entry.read_address(n, k); }},
      {"cidr", [&](const YamlNode& n, const std::string& k) { entry.read_cidr(n, k); }},
      {"ports", [&](const YamlNode& n, const std::string& k) { entry.read_ports(n, k); }},
      {"protocol", [&](const YamlNode& n, const std::string& k) { entry.read_protocol(n, k); }},
  };
  if (!bind) {
    fields.push_back({"host", [&](const YamlNode& n, const std::string& k) { entry.read_host(n, k); }});
    fields.push_back({"via", [&](const YamlNode& n, const std::string& k) { entry.read_via(n, k); }});
  }
  reader.map(node, key, fields, {});
  if (node.kind != YamlNode::Kind::map) return;
  const int targets = (entry.address ? 1 : 0) + (entry.cidr ? 1 : 0) + (entry.host ? 1 : 0);
  if (targets > 1) {
    reader.error(node, key,
                 {"address_and_cidr", fmt::format("an entry has one of address, cidr{}", bind ? "" : " and host"),
                  "make it two entries"});
    return;
  }
  if (targets == 0)
    reader.error(node, key,
                 {"missing_key", fmt::format("the entry has neither address nor cidr{}", bind ? "" : " nor host"),
                  "add address: 127.0.0.1, or cidr: 10.0.0.0/8"});
  if (!entry.ports)
    reader.error(node, key, {"missing_key", "the entry has no ports", "add ports: [443]; [1-65535] is all of them"});
  entry.check_via(key);
  if (entry.bad || !entry.ports || targets == 0) return;
  Endpoint& endpoint = entry.endpoint;
  endpoint.ports = normal_ports(std::move(endpoint.ports));
  if (entry.host)
    hosts->push_back(
        HostRule{std::move(entry.pattern), std::move(endpoint.ports), endpoint.protocol, endpoint.where, endpoint.via});
  else
    out.push_back(std::move(endpoint));
}

void read_entries(const YamlNode& node, const std::string& key, bool bind, Reader& reader, std::vector<Endpoint>& out,
                  std::vector<HostRule>* hosts) {
  reader.list(
      node, key, "a list, as in [{address: 127.0.0.1, ports: [18443]}]",
      [&](const YamlNode& item, const std::string& item_key) { read_entry(item, item_key, bind, reader, out, hosts); });
}

Value<ProgramTag> parse_tag(std::string_view text) {
  const BadValue bad{"bad_tag", fmt::format("{} is no tag of a BPF program", quoted(text)),
                     "16 hexadecimal digits, as `sbpf status` and `bpftool prog show` say it"};
  ProgramTag tag{};
  if (text.size() != 2 * tag.size()) return tl::unexpected(bad);
  for (std::size_t i = 0; i < tag.size(); i++) {
    const char* end = text.data() + 2 * i + 2;
    if (const auto [at, error] = std::from_chars(end - 2, end, tag[i], 16); error != std::errc() || at != end)
      return tl::unexpected(bad);
  }
  return tag;
}

}  // namespace

void read_connect(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  read_entries(node, key, false, reader, draft.policy.network.connect, &draft.policy.network.hosts);
}

void read_bind(const YamlNode& node, const std::string& key, Reader& reader, std::vector<Endpoint>& out) {
  read_entries(node, key, true, reader, out, nullptr);
}

void read_resolver(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  if (auto address = reader.value<Address>(node, key, "an address", parse_host))
    draft.policy.network.resolver = *address;
}

void read_sockets(const YamlNode& node, const std::string& key, Reader& reader, std::vector<sbpf_socket_class>& out) {
  std::vector<std::string_view> words;
  for (int c = SBPF_SOCKET_NORMAL + 1; c < SBPF_SOCKET_OTHER; ++c)
    words.push_back(policy::to_string(static_cast<sbpf_socket_class>(c)));
  reader.list(node, key, "a list, as in [ping]", [&](const YamlNode& item, const std::string& item_key) {
    if (auto i = reader.word(item, item_key, "bad_socket", words))
      out.push_back(static_cast<sbpf_socket_class>(SBPF_SOCKET_NORMAL + 1 + *i));
  });
}

void read_unix(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  std::set<std::string> seen;  // in this file
  reader.list(node, key, "a list of sockets, as in [/run/postgresql/.s.PGSQL.5432, \"@name\"]",
              [&](const YamlNode& item, const std::string& item_key) {
                const auto peer = reader.value<std::string>(item, item_key, "a path, or @ and a name", parse_unix_peer);
                if (!peer) return;
                if (!seen.insert(*peer).second)
                  reader.error(item, item_key,
                               {"duplicate_value", fmt::format("{} is named twice", quoted(*peer)), "remove one"});
                draft.unix_peers.insert_or_assign(*peer, UnixRule{*peer, reader.where(item)});
              });
}

void read_trusted_programs(const YamlNode& node, const std::string& key, Reader& reader, std::vector<ProgramTag>& out) {
  reader.list(node, key, "a list of tags, as in [\"6deef7357e7b4530\"]",
              [&](const YamlNode& item, const std::string& item_key) {
                const auto tag = reader.value<ProgramTag>(item, item_key, "a tag", parse_tag);
                if (!tag) return;
                if (std::find(out.begin(), out.end(), *tag) != out.end())
                  reader.error(item, item_key,
                               {"duplicate_value", fmt::format("{} is named twice", quoted(item.text)), "remove one"});
                else if (out.size() == SBPF_TRUSTED_PROGRAMS)
                  reader.error(
                      item, item_key,
                      {"too_many_programs", fmt::format("at most {} programs can be trusted", SBPF_TRUSTED_PROGRAMS),
                       "name those that run after sbpf's alone: `sbpf status` names them"});
                else
                  out.push_back(*tag);
              });
}

void read_network_interfaces(const YamlNode& node, const std::string& key, Reader& reader,
                             std::vector<std::string>& out) {
  reader.list(node, key, "a list of network interfaces, as in [eth0]",
              [&](const YamlNode& item, const std::string& item_key) {
                const auto name = reader.value<std::string>(item, item_key, "a network interface", parse_interface);
                if (!name) return;
                if (std::find(out.begin(), out.end(), *name) != out.end())
                  reader.error(item, item_key,
                               {"duplicate_value", fmt::format("{} is named twice", quoted(*name)), "remove one"});
                else
                  out.push_back(*name);
              });
}

}  // namespace sbpf::policy::internal
