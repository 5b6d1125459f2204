// SPDX-License-Identifier: Apache-2.0
#include "agent/host/devices.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <sstream>
#include <string_view>

#include "base/file.h"
#include "bpf/decide_device.h"

namespace sbpf::agent {
namespace {

// The first bytes of a name, as the kernel's side compares them.
__u64 first_bytes(const std::string& name) {
  __u64 bytes = 0;
  std::memcpy(&bytes, name.data(), std::min(name.size(), sizeof bytes));
  return bytes;
}

// The names of a file of "NUMBER NAME", by number.
std::multimap<unsigned, std::string> names_by_number(const char* path, const char* until) {
  std::multimap<unsigned, std::string> names;
  std::istringstream lines(read_file(path));
  unsigned number = 0;
  for (std::string line, name; std::getline(lines, line) && !line.starts_with(until);)
    if (std::istringstream(line) >> number >> name) names.emplace(number, name);
  return names;
}

int kind_of_device(unsigned major, unsigned minor) {
  if (const int kind = kind_of_number(major, minor); kind != DEVICE_BY_NAME) return kind;
  const auto drivers = names_by_number("/proc/devices", "Block");  // each time: drivers come and go
  if (drivers.empty()) return DEVICE_NETWORK;                      // it cannot be told
  for (auto [driver, end] = drivers.equal_range(major); driver != end; ++driver)
    if (const int kind = kind_of_driver(first_bytes(driver->second)); kind != DEVICE_OTHER) return kind;
  return DEVICE_OTHER;
}

bool is_everyones_misc(unsigned minor) {
  const auto devices = names_by_number("/proc/misc", "-");
  const auto device = devices.find(minor);
  return device != devices.end() && is_everyones_misc_name(first_bytes(device->second)) != 0;
}

bool is_everyones(unsigned major, unsigned minor, bool writes, const std::string& proc) {
  if (is_everyones_number(major, minor, writes ? 1 : 0) != 0) return true;
  if (major == MISC_MAJOR) return is_everyones_misc(minor);
  return kind_of_device(major, minor) == DEVICE_ACCELERATOR ||
         terminal_in(read_file(proc + "/stat")) == ::makedev(major, minor);
}

}  // namespace

const char* network_device(const struct statx& info) {
  const unsigned major = info.stx_rdev_major, minor = info.stx_rdev_minor;
  if (!S_ISCHR(info.stx_mode) || kind_of_device(major, minor) != DEVICE_NETWORK) return nullptr;
  if (major == PPP_MAJOR) return "/dev/ppp";
  if (major == INFINIBAND_MAJOR) return "an InfiniBand device";
  if (major != MISC_MAJOR) return "a macvtap, ipvtap or vhost-vdpa device";
  if (minor == TUN_MINOR) return "a tun or tap device";
  return minor == VHOST_NET_MINOR ? "/dev/vhost-net" : "/dev/vhost-vsock";
}

const char* machine_device(const struct statx& info, bool writes, const std::string& proc) {
  const unsigned major = info.stx_rdev_major, minor = info.stx_rdev_minor;
  if (S_ISBLK(info.stx_mode)) return "a block device";
  if (!S_ISCHR(info.stx_mode) || network_device(info) != nullptr) return nullptr;
  if (is_memory_of_machine(major, minor) != 0) return "the machine's memory or its ports";
  if (is_everyones(major, minor, writes, proc)) return nullptr;
  return major == 1 && minor == 11 ? "the kernel's log, to write," : "a device of the whole machine";
}

dev_t terminal_in(const std::string& stat) {
  const std::size_t name = stat.rfind(')');  // which may hold anything
  if (name == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name + 1));
  std::string state;
  long parent = 0, group = 0, session = 0;
  int terminal = 0;
  if (!(fields >> state >> parent >> group >> session >> terminal) || terminal == 0) return 0;
  const auto number = static_cast<unsigned>(terminal);
  return ::makedev(number >> 8 & 0xfff, (number & 0xff) | (number >> 12 & 0xfff00));
}

bool is_handle_of_device(const std::string& target) {
  constexpr std::string_view kHandles[] = {"anon_inode:[vfio", "anon_inode:gpio-", "anon_inode:iio:"};
  return std::ranges::any_of(kHandles, [&](std::string_view handle) { return target.starts_with(handle); });
}

}  // namespace sbpf::agent
