// SPDX-License-Identifier: Apache-2.0
// What the fake kernel answers of maps.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "tests/unit/fake_kernel.h"
#include "tests/unit/fake_kernel_parts.h"

namespace sbpf::agent {
namespace {

bool holds_maps(const FakeObject& map) {
  return map.type == BPF_MAP_TYPE_HASH_OF_MAPS || map.type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
}

}  // namespace

long FakeKernel::create_map(const bpf_attr& attr) {
  const FakeObject& map =
      make_map(static_cast<bpf_map_type>(attr.map_type), attr.key_size, attr.value_size, attr.max_entries);
  const off_t size = 2 * (::sysconf(_SC_PAGESIZE) + static_cast<off_t>(attr.max_entries));
  if (map.type == BPF_MAP_TYPE_RINGBUF && ::ftruncate(map.memory.get(), size) != 0) return -1;
  return open(map);
}

long FakeKernel::look_up(FakeObject& map, const bpf_attr& attr) const {
  const auto found = map.entries.find(bytes(pointer(attr.key), map.key_size));
  if (found == map.entries.end()) return fails(ENOENT);
  std::memcpy(writable(attr.value), found->second.data(), found->second.size());
  return 0;
}

long FakeKernel::update(FakeObject& map, const void* key, const void* value, std::uint64_t flags) {
  if (map.frozen) return fails(EPERM);
  const Bytes at = bytes(key, map.key_size);
  const bool there = map.entries.contains(at);
  if (flags == BPF_NOEXIST && there) return fails(EEXIST);
  if (flags == BPF_EXIST && !there) return fails(ENOENT);
  if (!there && map.entries.size() >= map.max_entries) return fails(E2BIG);
  Bytes stored = bytes(value, map.value_size);
  if (holds_maps(map)) {
    int fd = -1;
    std::memcpy(&fd, value, sizeof fd);
    const FakeObject* inner = find(fd);
    if (inner == nullptr || inner->kind != 'm') return fails(EINVAL);
    stored = bytes(&inner->id, sizeof inner->id);
  }
  if (distorts_ && !holds_maps(map)) stored.front() = static_cast<char>(stored.front() ^ 1);
  map.entries[at] = std::move(stored);
  return 0;
}

long FakeKernel::remove(FakeObject& map, const bpf_attr& attr) {
  return map.entries.erase(bytes(pointer(attr.key), map.key_size)) == 1 ? 0 : fails(ENOENT);
}

long FakeKernel::next_key(const FakeObject& map, const bpf_attr& attr) {
  const auto next =
      attr.key == 0 ? map.entries.begin() : map.entries.upper_bound(bytes(pointer(attr.key), map.key_size));
  if (next == map.entries.end()) return fails(ENOENT);
  std::memcpy(writable(attr.next_key), next->first.data(), next->first.size());
  return 0;
}

// Where it goes on is a number of entries here.
long FakeKernel::look_up_batch(const FakeObject& map, bpf_attr& attr) {
  std::uint32_t at = 0;
  if (attr.batch.in_batch != 0) std::memcpy(&at, pointer(attr.batch.in_batch), sizeof at);
  const std::uint32_t room = attr.batch.count;
  auto entry = std::next(map.entries.begin(), std::min<std::ptrdiff_t>(at, std::ssize(map.entries)));
  std::uint32_t count = 0;
  for (; count < room && entry != map.entries.end(); ++entry, ++count) {
    std::memcpy(static_cast<char*>(writable(attr.batch.keys)) + count * map.key_size, entry->first.data(),
                map.key_size);
    std::memcpy(static_cast<char*>(writable(attr.batch.values)) + count * map.value_size, entry->second.data(),
                map.value_size);
  }
  attr.batch.count = count;
  at += count;
  std::memcpy(writable(attr.batch.out_batch), &at, sizeof at);
  return entry == map.entries.end() ? fails(ENOENT) : 0;
}

long FakeKernel::update_batch(FakeObject& map, bpf_attr& attr) {
  for (std::uint32_t i = 0; i < attr.batch.count; i++)
    if (update(map, static_cast<const char*>(pointer(attr.batch.keys)) + i * map.key_size,
               static_cast<const char*>(pointer(attr.batch.values)) + i * map.value_size, BPF_ANY) != 0) {
      attr.batch.count = i;
      return -1;
    }
  return 0;
}

long FakeKernel::of_map(int command, bpf_attr& attr) {
  const bool batch = command == BPF_MAP_LOOKUP_BATCH || command == BPF_MAP_UPDATE_BATCH;
  FakeObject* map = find(static_cast<int>(batch ? attr.batch.map_fd : attr.map_fd));
  if (map == nullptr || map->kind != 'm') return fails(EBADF);
  switch (command) {
    case BPF_MAP_LOOKUP_ELEM:
      return look_up(*map, attr);
    case BPF_MAP_UPDATE_ELEM:
      return update(*map, pointer(attr.key), pointer(attr.value), attr.flags);
    case BPF_MAP_DELETE_ELEM:
      return remove(*map, attr);
    case BPF_MAP_GET_NEXT_KEY:
      return next_key(*map, attr);
    case BPF_MAP_LOOKUP_BATCH:
      return look_up_batch(*map, attr);
    case BPF_MAP_UPDATE_BATCH:
      return update_batch(*map, attr);
    default:
      map->frozen = true;
      return 0;
  }
}

}  // namespace sbpf::agent
