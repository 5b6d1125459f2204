// SPDX-License-Identifier: Apache-2.0
// Properties over random policies: the canonical text gives the policy back, and the kernel's decision function on the
// compiled image agrees with a model that only reads the policy.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "policy/image.h"
#include "tests/unit/addresses.h"
#include "tests/unit/images.h"

namespace sbpf::policy {
namespace {

// Few addresses, close to each other, so that queries hit, miss narrowly, and fall into nested prefixes.
rc::Gen<Address> any_address() {
  return rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::inRange(0, 256), rc::gen::inRange(0, 4)),
      [](const std::tuple<int, int, int>& t) {
        static const char* const kBases[] = {
            "127.0.0.0", "10.0.0.0", "192.0.2.0", "::", "2001:db8::", "2001:db8:8000::", "169.254.0.0", "fd00:ec2::"};
        Address a = parse_address(kBases[std::get<0>(t)]).value();
        a[15] = static_cast<std::uint8_t>(std::get<1>(t));
        a[14] = static_cast<std::uint8_t>(a[14] ^ (std::get<2>(t) & 1));
        a[5] = static_cast<std::uint8_t>(a[5] ^ (a[10] == 0xff ? 0 : std::get<2>(t) >> 1));
        return a;
      });
}

rc::Gen<std::uint16_t> any_port() {
  return rc::gen::map(
      rc::gen::oneOf(rc::gen::inRange(0, 64), rc::gen::inRange(7990, 8050), rc::gen::inRange(65500, 65536)),
      [](int p) { return static_cast<std::uint16_t>(p); });
}

PortRange any_range(bool bind) {
  PortRange range{*any_port(), 0};
  if (!bind && range.first == 0) range.first = 1;
  const int length = *rc::gen::element(0, 0, 1, 14, 15, 16, 17, 40, 600);
  range.last = static_cast<std::uint16_t>(std::min(65535, range.first + length));
  return range;
}

Endpoint any_endpoint(bool bind) {
  Endpoint e;
  e.address = *any_address();
  const bool v4 = e.address[10] == 0xff && e.address[0] == 0;
  e.prefix = static_cast<std::uint8_t>(v4 ? *rc::gen::element(96, 104, 119, 120, 124, 127, 128, 128)
                                          : *rc::gen::element(44, 48, 49, 64, 112, 120, 127, 128, 128));
  // A short v6 prefix of zeros would cover IPv4, which parse() refuses.
  if (!v4 && e.address[0] == 0 && e.prefix < 97) e.prefix = 112;
  for (unsigned bit = e.prefix; bit < 128; ++bit)
    e.address[bit / 8] = static_cast<std::uint8_t>(e.address[bit / 8] & ~(0x80u >> (bit % 8)));
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) e.ports.push_back(any_range(bind));
  e.protocol = *rc::gen::element(Protocol::any, Protocol::tcp, Protocol::udp);
  return e;
}

// Of entries for one place, all that have TCP are led to one proxy, or none is: parse() refuses what is ambiguous.
void lead_some(std::vector<Endpoint>& connect) {
  std::map<std::pair<Address, std::uint8_t>, std::optional<Via>> proxies;
  for (Endpoint& entry : connect) {
    const auto [place, fresh] = proxies.try_emplace({entry.address, entry.prefix});
    if (fresh && *rc::gen::inRange(0, 3) == 0)
      place->second = Via{parse_address(*rc::gen::element<std::string>("127.0.0.1", "10.1.2.3")).value(),
                          *rc::gen::element<std::uint16_t>(1, 3128, 65535)};
    if (!place->second || entry.protocol == Protocol::udp) continue;
    entry.protocol = Protocol::tcp;
    entry.via = place->second;
  }
}

std::string any_text() {
  const auto character = rc::gen::element<std::string>(
      "a", "Z", "0", " ", "\"", "\\", "'", "\n", "\t", "\x01", "\x7f", ":", "#", "-", "{", "}", "[", ",", "&", "*", "!",
      "|", ">", "%", "@", "~", "\xc2\x85", "\xc2\x9f", "\xc2\xa0", "\xe2\x80\xa8", "\xef\xbb\xbf", "\xef\xbf\xbe",
      "\xf0\x9f\x92\xa9", "null", "\r");
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(character)) text += part;
  return text;
}

Filesystem any_filesystem() {
  Filesystem files;
  files.requested = *rc::gen::inRange(0, 3) > 0;
  if (!files.requested) return files;
  files.dangerously_allow_all = *rc::gen::inRange(0, 8) == 0;
  if (files.dangerously_allow_all) return files;
  files.fallback = *rc::gen::element(FsDefault::deny, FsDefault::read, FsDefault::write);
  std::map<std::string, FsAccess> rules;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    std::string path;
    for (int depth = *rc::gen::inRange(0, 4); depth > 0; --depth)
      path += "/" + *rc::gen::element<std::string>("a", "b.c", "...", "no", "~", "a b", "\"", "\\", "'", "#", "- x",
                                                   "\xc2\xa0", "\xe2\x80\xa8", "\xef\xbf\xbe", "{}", "]", "[id]", "*",
                                                   "?\\", "\\[", "&a", "!x");
    rules[path.empty() ? "/" : path] =
        *rc::gen::element(FsAccess::read, FsAccess::write, FsAccess::deny, FsAccess::protect);
  }
  if (*rc::gen::arbitrary<bool>()) rules["/its own"] = FsAccess::private_place;
  for (const auto& [path, access] : rules) files.rules.push_back(FsRule{path, access, {}});
  return files;
}

Exec any_exec(const Filesystem& files) {
  Exec exec;
  exec.deny_writable = files.judged() && *rc::gen::arbitrary<bool>();
  std::map<std::string, bool> rules;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
    rules[*rc::gen::element<std::string>("/", "/usr", "/usr/bin", "/a b", "/no")] = *rc::gen::arbitrary<bool>();
  exec.allow_listed = *rc::gen::arbitrary<bool>();
  for (const auto& [path, allow] : rules) {
    exec.rules.push_back(ExecRule{path, allow, {}});
    exec.allow_listed = exec.allow_listed || allow;
  }
  return exec;
}

// With the rule that files of secrets need, as parse() adds it. No name is one of the variables below.
void add_secrets(Policy& p) {
  for (const char* name : {"S1", "nO", "yes"}) {
    if (*rc::gen::inRange(0, 3) > 0) continue;
    Secret secret;
    secret.name = name;
    const bool free = std::none_of(p.secrets.begin(), p.secrets.end(),
                                   [](const Secret& s) { return s.source == Secret::Source::standard_input; });
    secret.source =
        free ? *rc::gen::element(Secret::Source::file, Secret::Source::credential, Secret::Source::standard_input)
             : Secret::Source::file;
    if (secret.source == Secret::Source::file)
      secret.from = "/" + *rc::gen::element<std::string>("a", "a b", "{,}", "\xe2\x80\xa8");
    if (secret.source == Secret::Source::credential)
      secret.from = *rc::gen::element<std::string>("a", "1", "no", "a.b-c");
    secret.form = *rc::gen::element(Secret::Form::file, Secret::Form::fd);
    p.secrets.push_back(secret);
  }
  std::sort(p.secrets.begin(), p.secrets.end(), [](const Secret& a, const Secret& b) { return a.name < b.name; });
  const bool as_file =
      std::any_of(p.secrets.begin(), p.secrets.end(), [](const Secret& s) { return s.form == Secret::Form::file; });
  if (!as_file || !p.filesystem.requested || p.filesystem.dangerously_allow_all) return;
  p.filesystem.rules.push_back(FsRule{std::string(kSecretsDirectory), FsAccess::read, {}});
  std::sort(p.filesystem.rules.begin(), p.filesystem.rules.end(),
            [](const FsRule& a, const FsRule& b) { return a.path < b.path; });
}

// With nothing that cannot be reached from there.
void make_loopback_private(Network& network) {
  network.loopback = Loopback::private_namespace;
  network.connect = {};
  network.hosts = {};
  std::erase_if(network.unix_peers, [](const UnixRule& rule) { return rule.abstract(); });
}

Policy any_policy() {
  Policy p;
  p.name = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abzAZ019._-nulyes"))));
  p.name.resize(std::min<std::size_t>(p.name.size(), SBPF_NAME_LEN - 1));
  p.mode = *rc::gen::element(Mode::enforce, Mode::audit);
  p.on_loss = *rc::gen::element(OnLoss::freeze, OnLoss::kill, OnLoss::alert);
  p.network.dangerously_allow_all = *rc::gen::inRange(0, 8) == 0;
  p.network.record_flows = *rc::gen::arbitrary<bool>();
  p.network.dangerously_allow_metadata = *rc::gen::arbitrary<bool>();
  if (!p.network.dangerously_allow_all) {
    for (int i = *rc::gen::inRange(0, 7); i > 0; --i) p.network.connect.push_back(any_endpoint(false));
    lead_some(p.network.connect);
    // An entry that is nothing but metadata services is an error without it.
    for (const Endpoint& e : p.network.connect) p.network.dangerously_allow_metadata |= is_metadata(e);
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i) p.network.bind.push_back(any_endpoint(true));
    for (int c = SBPF_SOCKET_MPTCP; c < SBPF_SOCKET_OTHER; ++c)
      if (*rc::gen::inRange(0, 4) == 0)
        p.network.dangerously_allow_sockets.push_back(static_cast<sbpf_socket_class>(c));
    for (const char* host : {"a.example", "*.a.example", "**.x-y_z.example"}) {
      if (*rc::gen::inRange(0, 4) > 0) continue;
      p.network.hosts.push_back(
          HostRule{host, {any_range(false)}, *rc::gen::element(Protocol::any, Protocol::tcp), {}});
      if (p.network.hosts.back().protocol == Protocol::tcp && *rc::gen::arbitrary<bool>())
        p.network.hosts.back().via = Via{parse_address("192.168.0.1").value(), 8080};
    }
    if (*rc::gen::arbitrary<bool>()) p.network.resolver = *any_address();
    for (const char* peer : {"/run/db/.s.PGSQL.5432", "/srv/a b", "@name", "@null"})
      if (*rc::gen::inRange(0, 3) == 0) p.network.unix_peers.push_back(UnixRule{peer, {}});
    for (const std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{0x12}, std::uint8_t{0xef}})
      if (*rc::gen::inRange(0, 3) == 0) p.network.trusted_programs.push_back({byte, 1, 2, 3, 4, 5, 6, byte});
    for (const char* interface : {"0", "br-+@_.x", "eth0", "null", "yes"})
      if (*rc::gen::inRange(0, 4) == 0) p.network.interfaces.emplace_back(interface);
    if (*rc::gen::inRange(0, 6) == 0) make_loopback_private(p.network);
  }
  p.filesystem = any_filesystem();
  p.exec = any_exec(p.filesystem);
  add_secrets(p);
  p.env.allow = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("PATH", "HOME", "LC_*", "no", "Y", "NULL", "_", "A1"));
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i)
    p.env.set[*rc::gen::element<std::string>("A", "null", "TRUE", "_x")] = any_text();
  if (*rc::gen::arbitrary<bool>()) p.limits.processes = *rc::gen::inRange<std::uint64_t>(1, 4194305);
  if (*rc::gen::arbitrary<bool>()) p.limits.memory_bytes = *rc::gen::inRange<std::uint64_t>(1, 1ull << 62);
  if (*rc::gen::arbitrary<bool>()) p.limits.cpu_millis = *rc::gen::inRange<std::uint32_t>(10, 8192001);
  if (*rc::gen::arbitrary<bool>())
    p.limits.timeout = std::chrono::milliseconds(*rc::gen::inRange<std::int64_t>(1, 366ll * 86400 * 1000));
  for (int i = 0; i < SBPF_KERNEL_MAX; ++i) {
    const auto interface = static_cast<sbpf_kernel_interface>(i);
    if (*rc::gen::arbitrary<bool>())
      (closed_by_default(interface) ? p.kernel.allow : p.kernel.deny).push_back(interface);
  }
  for (const char* name : {"DAC_READ_SEARCH", "SYS_ADMIN", "SYS_TIME", "SYSLOG"})
    if (*rc::gen::arbitrary<bool>())
      p.kernel.dangerously_allow_capabilities.push_back(static_cast<std::uint8_t>(*capability_number(name)));
  return p;
}

Policy read_back(const Policy& policy) {
  const auto result = parse(canonical(policy), "canonical", nullptr);
  if (!result) RC_FAIL(format(result.error()) + canonical(policy));
  return *result;
}

bool same_entries(const std::vector<Endpoint>& a, const std::vector<Endpoint>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Endpoint& x, const Endpoint& y) {
    return x.address == y.address && x.prefix == y.prefix && x.ports == y.ports && x.protocol == y.protocol &&
           x.via == y.via;
  });
}

bool same_hosts(const std::vector<HostRule>& a, const std::vector<HostRule>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const HostRule& x, const HostRule& y) {
    return x.pattern == y.pattern && x.ports == y.ports && x.protocol == y.protocol && x.via == y.via;
  });
}

bool same_files(const Filesystem& a, const Filesystem& b) {
  return a.requested == b.requested && a.dangerously_allow_all == b.dangerously_allow_all && a.fallback == b.fallback &&
         std::equal(a.rules.begin(), a.rules.end(), b.rules.begin(), b.rules.end(),
                    [](const FsRule& x, const FsRule& y) { return x.path == y.path && x.access == y.access; });
}

// What the policy says, with nothing of the compiler or of decide.h: every entry, bit by bit, port by port.
// `via`, if given, receives where it is led: by the entry with the longest prefix.
bool model_allows(const Policy& policy, const NetQuery& query, std::optional<Via>* via = nullptr) {
  if (query.port == SBPF_CANARY_PORT &&
      (query.address == parse_address("0.83.66.80") || query.address == parse_address("100::5342:5046")))
    return false;
  const bool metadata = begins_with(query.address, "169.254.0.0", 14) || begins_with(query.address, "fd00:ec2::", 8);
  if (query.kind == SBPF_RULE_CONNECT && metadata && !policy.network.dangerously_allow_metadata) return false;
  if (policy.network.dangerously_allow_all) return true;
  if (query.in_own_netns && policy.network.loopback == Loopback::private_namespace && is_of_loopback(query.address))
    return true;
  const auto has = [](const Endpoint& e, const Address& address) {
    for (unsigned bit = 0; bit < e.prefix; ++bit)
      if ((e.address[bit / 8] >> (7 - bit % 8) & 1) != (address[bit / 8] >> (7 - bit % 8) & 1)) return false;
    return true;
  };
  // A connection to a wildcard goes to loopback.
  NetQuery there = query;
  if (query.address == parse_address("0.0.0.0")) there.address = parse_address("127.0.0.1").value();
  if (query.address == parse_address("::")) there.address = parse_address("::1").value();
  const bool leads_to_loopback = query.kind == SBPF_RULE_CONNECT && there.address != query.address;
  int longest = -1;
  for (const Endpoint& e : query.kind == SBPF_RULE_BIND ? policy.network.bind : policy.network.connect) {
    if (e.protocol == Protocol::tcp && query.proto != SBPF_PROTO_TCP) continue;
    if (e.protocol == Protocol::udp && query.proto != SBPF_PROTO_UDP) continue;
    const bool inside = has(e, query.address) && (!leads_to_loopback || e.prefix == 128 || has(e, there.address));
    for (const PortRange& r : e.ports) {
      if (!inside || query.port < r.first || r.last < query.port || e.prefix <= longest) continue;
      longest = e.prefix;
      if (via) *via = e.via;
    }
  }
  // Then the rule for where it goes says by which proxy.
  if (!leads_to_loopback || longest < 0 || longest == 128) return longest >= 0;
  return model_allows(policy, there, via);
}

NetQuery any_query(const Policy& policy) {
  NetQuery query;
  query.kind = *rc::gen::element(SBPF_RULE_CONNECT, SBPF_RULE_CONNECT, SBPF_RULE_BIND);
  query.proto = *rc::gen::element(SBPF_PROTO_TCP, SBPF_PROTO_UDP);
  query.address = *any_address();
  query.port = *any_port();
  query.in_own_netns = *rc::gen::arbitrary<bool>();
  const auto& list = query.kind == SBPF_RULE_BIND ? policy.network.bind : policy.network.connect;
  if (list.empty() || *rc::gen::inRange(0, 4) == 0) return query;
  // Near an entry: its address with one bit perhaps flipped, a port at or beside an end of a range.
  const Endpoint& entry = *rc::gen::elementOf(list);
  query.address = entry.address;
  const int bit = *rc::gen::inRange(0, 192);
  if (bit < 128) query.address[static_cast<unsigned>(bit) / 8] ^= static_cast<std::uint8_t>(0x80 >> (bit % 8));
  const PortRange range = *rc::gen::elementOf(entry.ports);
  query.port = static_cast<std::uint16_t>(
      *rc::gen::element<int>(range.first, range.last, range.first - 1, range.last + 1, (range.first + range.last) / 2));
  return query;
}

template <typename Property>
void check(const char* text, Property property) {
  EXPECT_TRUE(rc::check(text, std::move(property)));
}

TEST(Properties, canonical_text_gives_the_policy_back) {
  check("parse o canonical is the identity on what parse gives, and keeps every value", [] {
    const Policy made = any_policy();
    const Policy p = read_back(made);
    RC_ASSERT(p.name == made.name && p.mode == made.mode && p.on_loss == made.on_loss);
    RC_ASSERT(p.network.dangerously_allow_all == made.network.dangerously_allow_all);
    RC_ASSERT(p.network.record_flows == made.network.record_flows);
    RC_ASSERT(p.network.loopback == made.network.loopback);
    RC_ASSERT(p.network.dangerously_allow_metadata == made.network.dangerously_allow_metadata);
    RC_ASSERT(p.network.dangerously_allow_sockets == made.network.dangerously_allow_sockets);
    RC_ASSERT(p.network.trusted_programs == made.network.trusted_programs);
    RC_ASSERT(p.network.interfaces == made.network.interfaces);
    RC_ASSERT(std::equal(p.network.unix_peers.begin(), p.network.unix_peers.end(), made.network.unix_peers.begin(),
                         made.network.unix_peers.end(),
                         [](const UnixRule& a, const UnixRule& b) { return a.peer == b.peer; }));
    RC_ASSERT(same_files(p.filesystem, made.filesystem));
    RC_ASSERT(p.env.set == made.env.set);
    RC_ASSERT(p.limits.processes == made.limits.processes && p.limits.memory_bytes == made.limits.memory_bytes);
    RC_ASSERT(p.limits.cpu_millis == made.limits.cpu_millis && p.limits.timeout == made.limits.timeout);
    const Policy again = read_back(p);
    RC_ASSERT(canonical(again) == canonical(p));
    RC_ASSERT(sha256(again) == sha256(p));
    RC_ASSERT(same_entries(again.network.connect, p.network.connect));
    RC_ASSERT(same_entries(again.network.bind, p.network.bind));
    RC_ASSERT(same_hosts(again.network.hosts, p.network.hosts));
    RC_ASSERT(p.network.hosts.size() == made.network.hosts.size() && p.network.resolver == made.network.resolver);
    RC_ASSERT(again.env.allow == p.env.allow);
  });
}

// Where a bind to the wildcard that no rule allows leads instead.
std::optional<Address> model_narrows(const Policy& policy, NetQuery query) {
  const bool v6 = query.address == parse_address("::").value();
  if (query.kind != SBPF_RULE_BIND || policy.mode == Mode::audit ||
      (!v6 && query.address != parse_address("0.0.0.0").value()))
    return std::nullopt;
  for (const char* loopback : {"127.0.0.1", "::1"}) {
    query.address = parse_address(loopback).value();
    std::optional<Via> via;
    if ((v6 || loopback[0] == '1') && model_allows(policy, query, &via)) return query.address;
  }
  return std::nullopt;
}

TEST(Properties, decide_net_agrees_with_the_model) {
  constexpr int kPoliciesEach = 6, kQueriesEach = 40;
  int queries = 0, allowed = 0;
  check("decide_net on the image says what the policy says", [&] {
    for (int n = 0; n < kPoliciesEach; ++n) {
      const Policy made = any_policy();
      const auto made_image = compile(made, 1);
      const Policy p = read_back(made);
      const auto image = compile(p, 1);
      if (!image || !made_image) continue;  // too many ranges on one destination
      for (int i = 0; i < kQueriesEach; ++i) {
        const NetQuery query = any_query(made);
        std::optional<Via> via;
        const bool expected = model_allows(made, query, &via);
        std::uint32_t rule = kNoRule;
        RC_ASSERT(allows(*image, query, &rule) == expected);
        if (expected) RC_ASSERT(via_of(*image, rule) == via);
        RC_ASSERT(allows(*made_image, query) == expected);
        const Explanation why = explain(p, *image, query);
        NetQuery inside = query;
        inside.in_own_netns = true;  // explained is what a program has that `run` starts
        const bool given = model_allows(made, inside);
        const std::optional<Address> narrowed = given ? std::nullopt : model_narrows(made, query);
        RC_ASSERT(why.narrowed == narrowed);
        RC_ASSERT(why.allowed == (given || narrowed));
        RC_ASSERT(!why.rule.empty() == why.allowed);
        ++queries;
        allowed += expected ? 1 : 0;
      }
    }
  });
  EXPECT_GT(queries, 20'000);
  EXPECT_GT(allowed, queries / 10) << "the generator must hit";
  EXPECT_LT(allowed, queries * 9 / 10) << "the generator must miss";
}

TEST(Properties, any_bytes_are_parsed_or_refused) {
  check("parse never throws, and its errors have a place and a code", [] {
    std::string text = *rc::gen::arbitrary<bool>() ? canonical(any_policy()) : any_text();
    for (int i = *rc::gen::inRange(0, 4); i > 0 && !text.empty(); --i)
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    const auto result = parse(text, "f", nullptr);
    if (result) {
      RC_ASSERT(canonical(read_back(*result)) == canonical(*result));
      return;
    }
    RC_ASSERT(!result.error().empty());
    for (const Diagnostic& d : result.error()) RC_ASSERT(d.where.line > 0 && d.where.column > 0 && !d.code.empty());
  });
}

}  // namespace
}  // namespace sbpf::policy
