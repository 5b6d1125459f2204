// SPDX-License-Identifier: Apache-2.0
#include "policy/image.h"

#include "base/sha256.h"

namespace sbpf::policy {

sbpf_rule_key slot_key(sbpf_header_slot slot) {
  sbpf_rule_key key{};
  key.kind = SBPF_RULE_HEADER;
  key.port = static_cast<__u16>(slot);
  return key;
}

std::array<std::uint8_t, 32> image_sha256(const Entries& entries) {
  const sbpf_rule_key header = slot_key(SBPF_SLOT_HEADER);
  Sha256 digest;
  for (const auto& [key, value] : entries) {
    if (std::memcmp(&key, &header, sizeof key) == 0) continue;  // it holds the digest
    digest.add(&key, sizeof key);
    digest.add(&value, sizeof value);
  }
  return digest.finish();
}

sbpf_policy_header Image::header() const { return slot<sbpf_policy_header>(SBPF_SLOT_HEADER); }

Limits limits_of(const sbpf_policy_process& process) {
  const auto unless_0 = [](auto number) {
    return number != 0 ? std::optional<decltype(number)>(number) : std::nullopt;
  };
  Limits limits;
  limits.processes = unless_0(process.processes);
  limits.memory_bytes = unless_0(process.memory_bytes);
  limits.cpu_millis = unless_0(process.cpu_millis);
  return limits;
}

namespace {
Image with_header(Image image, const sbpf_policy_header& header) {
  std::memcpy(&image.entries[slot_key(SBPF_SLOT_HEADER)], &header, sizeof header);
  return image;
}
}  // namespace

Image Image::renumbered(std::uint32_t generation) const {
  sbpf_policy_header changed = header();
  changed.generation = generation;
  return with_header(*this, changed);
}

Image Image::flagged(sbpf_policy_flags flag) const {
  sbpf_policy_header changed = header();
  changed.flags |= flag;
  return with_header(*this, changed);
}

}  // namespace sbpf::policy
