// SPDX-License-Identifier: Apache-2.0
// bpf/decide.h, compiled natively over an image.
#include <algorithm>
#include <cstring>

#include "policy/filesystem.h"
#include "policy/image.h"

namespace {
const void* sbpf_policy_lookup(void* policy, const sbpf_rule_key* key) {
  const auto& entries = static_cast<sbpf::policy::Image*>(policy)->entries;
  const auto found = entries.find(*key);
  return found == entries.end() ? nullptr : &found->second;
}
}  // namespace

#include "bpf/decide.h"

namespace sbpf::policy {

static_assert(kNoRule == SBPF_NO_RULE);
static_assert(kOwnLoopback == SBPF_OWN_LOOPBACK);

bool allows(const Image& image, const NetQuery& query, std::uint32_t* rule, Address* judged) {
  sbpf_net_query q{};
  q.kind = static_cast<std::uint8_t>(query.kind);
  q.proto = static_cast<std::uint8_t>(query.proto);
  q.port = query.port;
  std::memcpy(q.addr_be, query.address.data(), query.address.size());
  bool allowed = sbpf_decide_net(const_cast<Image*>(&image), &q) == SBPF_ALLOW;
  if (!allowed && query.in_own_netns && sbpf_decide_own_loopback(const_cast<Image*>(&image), &q) == SBPF_ALLOW) {
    allowed = true;
    q.rule = SBPF_OWN_LOOPBACK;
  }
  if (rule) *rule = q.rule;
  if (judged) std::memcpy(judged->data(), q.addr_be, judged->size());
  return allowed;
}

std::optional<Address> narrowed(const Image& image, const NetQuery& query, std::uint32_t* rule) {
  __u64 address_be[2];
  std::memcpy(address_be, query.address.data(), sizeof address_be);
  if (query.kind != SBPF_RULE_BIND || (image.header().flags & SBPF_POLICY_AUDIT) != 0 ||
      sbpf_is_wildcard(address_be) == 0)
    return std::nullopt;
  for (int turn = 0; turn < 2; turn++) {
    const __u64 half = sbpf_narrowed(address_be, 0, turn);
    NetQuery loopback = query;
    std::memcpy(loopback.address.data() + sizeof half, &half, sizeof half);
    if (half != 0 && allows(image, loopback, rule)) return loopback.address;
  }
  return std::nullopt;
}

std::optional<Via> via_of(const Image& image, std::uint32_t rule) {
  const sbpf_via* found = sbpf_via_of(const_cast<Image*>(&image), rule);
  if (found == nullptr) return std::nullopt;
  Via via;
  std::memcpy(via.address.data(), found->addr, via.address.size());
  via.port = found->port;
  return via;
}

bool is_loopback(const Address& address) {
  __u64 address_be[2];
  std::memcpy(address_be, address.data(), sizeof address_be);
  return sbpf_is_loopback(address_be) != 0;
}

bool is_wildcard(const Address& address) {
  __u64 address_be[2];
  std::memcpy(address_be, address.data(), sizeof address_be);
  return sbpf_is_wildcard(address_be) != 0;
}

bool is_canary(const NetQuery& query) {
  sbpf_net_query q{};
  q.port = query.port;
  std::memcpy(q.addr_be, query.address.data(), query.address.size());
  return sbpf_is_canary(&q) != 0;
}

bool is_metadata(const NetQuery& query) {
  sbpf_net_query q{};
  q.kind = static_cast<std::uint8_t>(query.kind);
  std::memcpy(q.addr_be, query.address.data(), query.address.size());
  return sbpf_is_metadata(&q) != 0;
}

bool is_metadata(const Endpoint& entry) {
  constexpr std::uint8_t kLinkLocal = 112;  // 169.254.0.0/16, the shortest of them, of the mapped address
  NetQuery query;
  query.address = entry.address;
  return entry.prefix >= kLinkLocal && is_metadata(query);
}

bool allows_capability(const Image& image, std::uint32_t number) {
  return sbpf_decide_capability(const_cast<Image*>(&image), number) != 0;
}

bool opens(const Image& image, sbpf_kernel_interface interface) {
  return sbpf_decide_interface(const_cast<Image*>(&image), interface) != 0;
}

bool is_interface_option(int level, int option) { return sbpf_is_interface_option(level, option) != 0; }

sbpf_socket_class classify_socket(int family, int type, int protocol) {
  return static_cast<sbpf_socket_class>(sbpf_classify_socket(family, type, protocol));
}

bool allows_socket(const Image& image, sbpf_socket_class kind) {
  return sbpf_decide_socket(const_cast<Image*>(&image), kind) == SBPF_ALLOW;
}

std::uint64_t fs_name_hash(std::string_view name) {
  constexpr std::size_t kPiece = 32;  // the kernel side reads so much at a time, and hashes all of it
  std::uint64_t hash = SBPF_FS_HASH_SEED;
  for (; !name.empty(); name.remove_prefix(std::min(name.size(), kPiece))) {
    std::uint64_t words[kPiece / sizeof(std::uint64_t)] = {};
    std::memcpy(words, name.data(), std::min(name.size(), kPiece));
    for (const std::uint64_t word : words) hash = sbpf_fs_hash_word(hash, word);
  }
  return hash;
}

void set_file_bit(sbpf_policy_header& header, const sbpf_rule_key& key) {
  if (key.kind != SBPF_RULE_FS_INODE || key.match != 0) return;
  sbpf_fs_inode inode;
  std::memcpy(&inode, key.addr, sizeof inode);
  const __u32 bit = sbpf_fs_file_bit(inode.ino);
  header.fs_files[bit / 64] |= __u64{1} << bit % 64;
}

sbpf_rule_key fs_inode_key(const FsInode& inode) {
  sbpf_rule_key key;
  sbpf_fs_inode_key(&key, inode.ino, inode.dev, inode.generation, inode.directory ? 1 : 0);
  return key;
}

sbpf_rule_key fs_name_key(std::uint32_t node, std::string_view name) {
  sbpf_rule_key key;
  sbpf_fs_name_key(&key, node, static_cast<std::uint32_t>(name.size()), fs_name_hash(name));
  return key;
}

sbpf_rule_key unix_key(std::string_view peer) {
  const std::string_view name = peer.substr(1);
  sbpf_rule_key key;
  sbpf_unix_key(&key, static_cast<std::uint32_t>(name.size()), fs_name_hash(name));
  return key;
}

FsEntries named_entries(sbpf_rule_key key, sbpf_fs_node value, std::string_view name) {
  FsEntries entries;
  for (; entries.empty() || !name.empty(); ++key.port, value = {}) {
    const std::size_t size = name.copy(reinterpret_cast<char*>(value.name), sizeof value.name);
    name.remove_prefix(size);
    entries.emplace(key, value);
  }
  return entries;
}

std::optional<sbpf_fs_node> find_named(const Entries& entries, sbpf_rule_key key, std::string_view name) {
  std::optional<sbpf_fs_node> first;
  for (const auto& [piece, wanted] : named_entries(key, {}, name)) {
    const auto found = entries.find(piece);
    if (found == entries.end()) return std::nullopt;
    sbpf_fs_node held;
    std::memcpy(&held, &found->second, sizeof held);
    if (std::memcmp(held.name, wanted.name, sizeof held.name) != 0) return std::nullopt;
    if (!first) first = held;
  }
  return first;
}

}  // namespace sbpf::policy
