// SPDX-License-Identifier: Apache-2.0
// Any bytes through parse -> canonical -> parse -> compile. Violations abort:
//   - a refusal without a place, or whose texts would upset a terminal;
//   - a policy whose canonical text is refused, or means something else;
//   - an image that answers otherwise than its policy's entries say.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "policy/filesystem.h"
#include "policy/image.h"

namespace {

using namespace sbpf::policy;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n", what);
  std::abort();
}

// Profiles that the fuzzer can reach by name, itself among them.
std::optional<std::string> profiles(std::string_view name) {
  if (name == "a")
    return "version: 1\nname: a\nextends: [b]\nnetwork: {connect: [{cidr: 10.0.0.0/8, ports: [1-99]}]}\n"
           "filesystem: {default: read, write: [/w], deny: [/w/no], protect: [/w/tests]}\n";
  if (name == "b") return "version: 1\nname: b\nmode: audit\nnetwork: none\n";
  if (name == "c") return "version: 1\nname: c\nextends: [a, c]\n";
  return built_in_profile(name);
}

void check_refusal(const std::vector<Diagnostic>& diagnostics) {
  require(!diagnostics.empty(), "a refusal says why");
  for (const Diagnostic& d : diagnostics) {
    require(d.where.line > 0 && d.where.column > 0, "a diagnostic has a place");
    require(!d.code.empty() && !d.message.empty() && !d.hint.empty(), "a diagnostic has code, message and hint");
    for (const std::string* text : {&d.key, &d.message, &d.hint})
      require(std::none_of(text->begin(), text->end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }),
              "a diagnostic has no control characters");
  }
}

// A network from 0.0.0.0 on in which loopback is not. The kernel leads connections to 0.0.0.0 to loopback, so it does
// not allow them.
bool begins_with_the_wildcard(const Endpoint& entry) {
  constexpr Address kWildcard = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return entry.address == kWildcard && entry.prefix > 97 && entry.prefix < 128;
}

// Both ends of every range are allowed, and explained by an entry.
void check_entries(const Policy& policy, const Image& image, sbpf_rule_kind kind,
                   const std::vector<Endpoint>& entries) {
  for (const Endpoint& entry : entries) {
    NetQuery query;
    query.kind = kind;
    query.address = entry.address;
    if (kind == SBPF_RULE_CONNECT && begins_with_the_wildcard(entry)) query.address.back() = 1;
    query.proto = entry.protocol == Protocol::udp ? SBPF_PROTO_UDP : SBPF_PROTO_TCP;
    for (const PortRange& range : entry.ports) {
      for (const std::uint16_t port : {range.first, range.last}) {
        query.port = port;
        if (is_canary(query)) continue;
        const Explanation why = explain(policy, image, query);
        require(why.allowed, "what an entry names is allowed");
        require(!why.rule.empty() && why.where, "what is allowed has a rule and its place");
      }
    }
  }
}

// Each rule decides on its own path, and what is refused there says how to allow it.
void check_files(const Policy& policy) {
  for (const FsRule& rule : policy.filesystem.rules) {
    for (const FsOperation operation : {FsOperation::read, FsOperation::write}) {
      const bool allowed =
          rule.access == FsAccess::write || (rule.access != FsAccess::deny && operation == FsOperation::read);
      const Explanation why = explain_path(policy, operation, rule.path);
      require(why.allowed == allowed, "a rule decides on its own path");
      require(!why.rule.empty() && why.where, "a decision has a rule and its place");
      require(why.suggestion.empty() == allowed, "a denial says how to allow it");
    }
  }
}

void check_image(const Policy& policy) {
  const auto image = compile(policy, 1, empty_view(policy));
  if (!image) {
    require(!image.error().hint.empty(), "a failed compilation says how to mend it");
    return;
  }
  const sbpf_policy_header header = image->header();
  const auto rules = std::ranges::count_if(image->entries, [](const auto& entry) {
    const auto kind = entry.first.kind;
    return kind == SBPF_RULE_CONNECT || kind == SBPF_RULE_BIND || kind == SBPF_RULE_FS_INODE ||
           kind == SBPF_RULE_FS_NAME;
  });
  require(header.n_rules == rules, "the header counts the rules for endpoints and files");
  require(header.n_connect_prefixes <= SBPF_MAX_PREFIXES && header.n_bind_prefixes <= SBPF_MAX_PREFIXES,
          "prefixes fit");
  check_entries(policy, *image, SBPF_RULE_CONNECT, policy.network.connect);
  check_entries(policy, *image, SBPF_RULE_BIND, policy.network.bind);
  if (policy.filesystem.rules.size() <= 64) check_files(policy);  // each looks at all of them
  NetQuery elsewhere;                                             // ::, port 0: no policy can name it as a destination
  require(allows(*image, elsewhere) == policy.network.dangerously_allow_all, "what no entry names is denied");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = parse(text, "fuzz", profiles);
  if (!policy) {
    check_refusal(policy.error());
    return 0;
  }
  const std::string once = canonical(*policy);
  const auto again = parse(once, "canonical", nullptr);
  require(again.has_value(), "the canonical text is accepted");
  require(canonical(*again) == once, "the canonical text is stable");
  require(sha256(*again) == sha256(*policy), "the digest is stable");
  check_image(*policy);
  return 0;
}
