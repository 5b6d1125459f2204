// SPDX-License-Identifier: Apache-2.0
// Devices that a task had open or mapped before it came under a policy, judged as the kernel side judges later opens.
#pragma once

#include <sys/stat.h>

#include <string>

namespace sbpf::agent {

// The kind of a device that is a network though it is no socket; nullptr: the file is none.
const char* network_device(const struct statx& info);

// What no policy without a filesystem section opens, as bpf/device.h has it: whatever is not every program's; nullptr:
// the file is none, or a network. `proc`: the directory of the task in /proc.
const char* machine_device(const struct statx& info, bool writes, const std::string& proc);

// The device that a controlling terminal is, by its number in /proc/PID/stat; 0: the task has none. Pure.
dev_t terminal_in(const std::string& stat);

// Does the file stand for a device without being one: "anon_inode:[vfio-device]"? By its name in /proc/PID/fd. Pure.
bool is_handle_of_device(const std::string& target);

}  // namespace sbpf::agent
