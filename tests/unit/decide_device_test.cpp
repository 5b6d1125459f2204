// SPDX-License-Identifier: Apache-2.0
// Which device files are a network: numbers as Linux's Documentation/admin-guide/devices.txt has them.
#include <gtest/gtest.h>

#include <cstring>

#include "bpf/abi.h"

#define SBPF_INLINE static inline
#include "bpf/decide_device.h"

namespace {

std::uint64_t driver(const char* name) {
  std::uint64_t first = 0;
  std::memcpy(&first, name, std::min<std::size_t>(std::strlen(name), sizeof first));
  return first;
}

TEST(DecideDevice, by_its_number) {
  EXPECT_EQ(kind_of_number(10, 200), DEVICE_NETWORK) << "tun";
  EXPECT_EQ(kind_of_number(10, 238), DEVICE_NETWORK) << "vhost-net";
  EXPECT_EQ(kind_of_number(10, 241), DEVICE_NETWORK) << "vhost-vsock";
  EXPECT_EQ(kind_of_number(108, 0), DEVICE_NETWORK) << "ppp";
  EXPECT_EQ(kind_of_number(231, 192), DEVICE_NETWORK) << "InfiniBand";
  for (const std::uint32_t minor : {183u, 199u, 201u, 229u, 237u, 239u, 240u, 242u})
    EXPECT_EQ(kind_of_number(10, minor), DEVICE_OTHER) << minor;
  for (const std::uint32_t major : {1u, 4u, 5u, 8u, 107u, 109u, 136u, 143u})
    EXPECT_EQ(kind_of_number(major, 0), DEVICE_OTHER) << major;
  for (const std::uint32_t major : {144u, 195u, 226u, 234u, 511u})
    EXPECT_EQ(kind_of_number(major, 0), DEVICE_BY_NAME) << major;
}

TEST(DecideDevice, by_its_drivers_name) {
  for (const char* name : {"macvtap", "ipvtap", "vhost-vdpa"})
    EXPECT_EQ(kind_of_driver(driver(name)), DEVICE_NETWORK) << name;
  for (const char* name : {"kfd", "drm", "accel", "nvidia", "nvidia-uvm", "nvidiactl"})
    EXPECT_EQ(kind_of_driver(driver(name)), DEVICE_ACCELERATOR) << name;
  for (const char* name : {"", "ipvtaps", "drmx", "kf", "nvidi", "hidraw"})
    EXPECT_EQ(kind_of_driver(driver(name)), DEVICE_OTHER) << name;
}

}  // namespace
