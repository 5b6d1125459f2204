// SPDX-License-Identifier: Apache-2.0
#include "agent/host/paths.h"

#include <unistd.h>

#include <array>
#include <charconv>

namespace sbpf::agent {

std::string loaded_name(std::uint32_t number) { return std::string(kLoadedPrefix) + std::to_string(number); }

std::uint32_t number_in_force() {
  std::array<char, 64> target{};
  const ssize_t size = ::readlink((std::string(kPinRoot) + "/now").c_str(), target.data(), target.size());
  const std::string_view name(target.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  std::uint32_t number = 0;
  if (name.starts_with(kLoadedPrefix))
    std::from_chars(name.data() + kLoadedPrefix.size(), name.data() + name.size(), number);
  return number;
}

}  // namespace sbpf::agent
