// SPDX-License-Identifier: Apache-2.0
// The `network` part of a policy.
#include <algorithm>
#include <set>

#include "policy/reader.h"

namespace sbpf::policy::internal {
namespace {

constexpr Protocol kProtocols[] = {Protocol::any, Protocol::tcp, Protocol::udp};

// One entry of connect or bind while it is read.
struct EntryReader {
  Reader& reader;
  std::uint16_t lowest_port;  // bind may ask the kernel to pick (0)
  Endpoint endpoint;
  bool bad = false;
  const YamlNode* address = nullptr;
  const YamlNode* cidr = nullptr;
  const YamlNode* ports = nullptr;

  void read_address(const YamlNode& node, const std::string& key) {
    address = &node;
    if (auto host = reader.value<Address>(node, key, "an address", parse_host))
      endpoint.address = *host;
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
  void read_protocol(const YamlNode& node, const std::string& key) {
    if (auto i = reader.word(node, key, "bad_protocol", {"any", "tcp", "udp"}))
      endpoint.protocol = kProtocols[*i];
    else
      bad = true;
  }
};

void read_entry(const YamlNode& node, const std::string& key, bool bind, Reader& reader, std::vector<Endpoint>& out) {
  EntryReader entry{reader, static_cast<std::uint16_t>(bind ? 0 : 1), {}};
  entry.endpoint.where = reader.where(node);
  const std::vector<Reader::Field> fields = {
      {"address", [&](const YamlNode& n, const std::string& k) { entry.read_address(n, k); }},
      {"cidr", [&](const YamlNode& n, const std::string& k) { entry.read_cidr(n, k); }},
      {"ports", [&](const YamlNode& n, const std::string& k) { entry.read_ports(n, k); }},
      {"protocol", [&](const YamlNode& n, const std::string& k) { entry.read_protocol(n, k); }},
  };
  bool is_later = false;
  std::vector<Reader::Later> later;
  if (!bind) {
    later = {{"host", "host names come with policed DNS in a later version; give the address"},
             {"via", "proxies come in a later version; allow the proxy's own address and port"}};
    is_later = std::any_of(node.keys.begin(), node.keys.end(), [](const YamlNode& name) {
      return name.kind == YamlNode::Kind::scalar && (name.text == "host" || name.text == "via");
    });
  }
  reader.map(node, key, fields, later);
  if (node.kind != YamlNode::Kind::map) return;
  if (entry.address && entry.cidr) {
    reader.error(node, key,
                 {"address_and_cidr", "an entry has either address or cidr, not both", "make it two entries"});
    return;
  }
  if (!entry.address && !entry.cidr && !is_later)
    reader.error(
        node, key,
        {"missing_key", "the entry has neither address nor cidr", "add address: 127.0.0.1, or cidr: 10.0.0.0/8"});
  if (!entry.ports)
    reader.error(node, key, {"missing_key", "the entry has no ports", "add ports: [443]; [1-65535] is all of them"});
  if (entry.bad || !entry.ports || (!entry.address && !entry.cidr)) return;
  entry.endpoint.ports = normal_ports(std::move(entry.endpoint.ports));
  out.push_back(std::move(entry.endpoint));
}

void read_entries(const YamlNode& node, const std::string& key, bool bind, Reader& reader, std::vector<Endpoint>& out) {
  reader.list(
      node, key, "a list, as in [{address: 127.0.0.1, ports: [18443]}]",
      [&](const YamlNode& item, const std::string& item_key) { read_entry(item, item_key, bind, reader, out); });
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

void read_unix(const YamlNode& node, const std::string& key, Reader& reader, std::map<std::string, UnixRule>& out) {
  std::set<std::string> seen;  // in this file
  reader.list(node, key, "a list of sockets, as in [/run/postgresql/.s.PGSQL.5432, \"@name\"]",
              [&](const YamlNode& item, const std::string& item_key) {
                const auto peer = reader.value<std::string>(item, item_key, "a path, or @ and a name", parse_unix_peer);
                if (!peer) return;
                if (!seen.insert(*peer).second)
                  reader.error(item, item_key, {"duplicate_value", quoted(*peer) + " is named twice", "remove one"});
                out.insert_or_assign(*peer, UnixRule{*peer, reader.where(item)});
              });
}

}  // namespace

void read_network(const YamlNode& node, const std::string& key, Reader& reader, Draft& draft) {
  if (node.kind == YamlNode::Kind::scalar && node.text == "none") {
    draft.network_none = true;
    return;
  }
  if (node.kind != YamlNode::Kind::map) {
    reader.error(node, key,
                 {"wrong_type", "a map, or the word none, is expected here",
                  "write network: none to deny everything, or the keys connect and bind"});
    return;
  }
  const std::vector<Reader::Field> fields = {
      {"connect", [&](const YamlNode& n, const std::string& k) { read_entries(n, k, false, reader, draft.connect); }},
      {"bind", [&](const YamlNode& n, const std::string& k) { read_entries(n, k, true, reader, draft.bind); }},
      {"dangerously_allow_all",
       [&](const YamlNode& n, const std::string& k) {
         if (auto b = reader.boolean(n, k)) draft.dangerously_allow_all = Placed<bool>{*b, reader.where(n)};
       }},
      {"dangerously_allow_metadata",
       [&](const YamlNode& n, const std::string& k) {
         if (auto b = reader.boolean(n, k)) draft.dangerously_allow_metadata = *b;
       }},
      {"dangerously_allow_sockets",
       [&](const YamlNode& n, const std::string& k) { read_sockets(n, k, reader, draft.dangerously_allow_sockets); }},
      {"unix", [&](const YamlNode& n, const std::string& k) { read_unix(n, k, reader, draft.unix_peers); }},
  };
  const std::vector<Reader::Later> later = {
      {"dns", "policed DNS comes in a later version; allow the resolver's address and port 53 in connect"},
  };
  reader.map(node, key, fields, later);
}

}  // namespace sbpf::policy::internal
