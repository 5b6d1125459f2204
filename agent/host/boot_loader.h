// SPDX-License-Identifier: Apache-2.0
// How the host's boot loader is told to list bpf among the kernel's LSMs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sbpf::agent {

// What is to be changed, and how it is undone. Nothing of it is done yet.
struct BootChange {
  std::string file;                 // that is written
  std::string before, after;        // what it holds; `before` is "" where there is nothing
  std::string apply;                // a command for the shell, after the file is written
  std::vector<std::string> revert;  // commands for the shell
};

// The change that adds bpf to `list`, the kernel's active LSMs as /sys/kernel/security/lsm has them; those stay.
// `root`: where the host's files are, "" on the host itself; `kernel`: as uname -r. Knows Proxmox's boot tool, GRUB as
// Debian and Ubuntu configure it, and kernel-install. Errors: "boot_loader_unknown" (also where its file is more than a
// line of plain words), "no_bpf_lsm" (the kernel is built without it), each with what to do instead.
Result<BootChange> add_bpf_at_boot(const std::string& root, const std::string& kernel, const std::string& list);

// Writes the file, and runs nothing. Errors: "write_failed" with errno.
Result<void> write_change(const BootChange& change);

// The file as it was. Errors: "write_failed" with errno.
Result<void> take_back(const BootChange& change);

}  // namespace sbpf::agent
