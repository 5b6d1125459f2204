// SPDX-License-Identifier: Apache-2.0
#include "agent/host/boot_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/core.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <sstream>
#include <string_view>

#include "base/fd.h"
#include "base/file.h"

namespace sbpf::agent {
namespace {

constexpr const char* kDropIn = "/etc/default/grub.d/zz-sbpf-lsm.cfg";  // the last that GRUB's configuration reads
constexpr const char* kKernelCommandLine = "/etc/kernel/cmdline";

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Where distributions keep a kernel's image.
std::string image_of(const std::string& root, const std::string& kernel) {
  const std::string beside_modules = fmt::format("/lib/modules/{}/vmlinuz", kernel);
  return is_there(root + beside_modules) ? beside_modules : fmt::format("/boot/vmlinuz-{}", kernel);
}

// "lsm=lockdown,yama,apparmor,bpf". The kernel has capability first, whatever is listed.
std::string parameter(const std::string& list) {
  std::istringstream words(list.substr(0, list.find('\n')));
  std::string all, word;
  while (std::getline(words, word, ','))
    if (word != "capability" && word != "bpf") all += word + ",";
  return fmt::format("lsm={}bpf", all);
}

BootChange of_grub(const std::string& root, const std::string& wanted) {
  BootChange change;
  change.file = kDropIn;
  change.before = read_file(root + kDropIn);
  // Both, as another lsm= in the second one would come later, and the last one counts.
  change.after = fmt::format(
      "# Adds bpf to the kernel's LSMs, which sbpf needs. Written by `sbpf preflight --fix`.\n"
      "GRUB_CMDLINE_LINUX=\"${{GRUB_CMDLINE_LINUX:-}} {0}\"\n"
      "GRUB_CMDLINE_LINUX_DEFAULT=\"${{GRUB_CMDLINE_LINUX_DEFAULT:-}} {0}\"\n",
      wanted);
  change.apply = "update-grub";
  change.revert = {fmt::format("rm {}", kDropIn), "update-grub"};
  return change;
}

// Is the text one line of plain words? sbpf does not rewrite a file that also has comments, quotes or more lines.
bool is_plain_line(const std::string& text) {
  constexpr std::string_view kOfWords = " .,:;=/@%+_-";
  const std::string line = text.substr(0, text.find('\n'));
  return !line.empty() && line.size() + 1 >= text.size() && std::ranges::all_of(line, [&](unsigned char c) {
    return std::isalnum(c) != 0 || kOfWords.find(static_cast<char>(c)) != std::string_view::npos;
  });
}

// A file with one line, the kernel's whole command line.
Result<BootChange> of_command_line(const std::string& root, const std::string& wanted, const std::string& apply) {
  BootChange change;
  change.file = kKernelCommandLine;
  change.before = read_file(root + kKernelCommandLine);
  if (!is_plain_line(change.before))
    return fail("boot_loader_unknown", fmt::format("{} is not one line of plain words", kKernelCommandLine),
                fmt::format("write {} into it by hand, then run: {}", wanted, apply));
  std::istringstream words(change.before);
  std::string word, kept;
  while (words >> word)
    if (!word.starts_with("lsm=")) kept += word + " ";
  change.after = kept + wanted + "\n";
  change.apply = apply;
  change.revert = {fmt::format("echo '{}' > {}", change.before.substr(0, change.before.find('\n')), kKernelCommandLine),
                   apply};
  return change;
}

// The old file stands until the new one is whole, and the new one has its mode.
Result<void> replace_file(const std::string& path, const std::string& text) {
  struct stat old {};
  const bool existed = ::lstat(path.c_str(), &old) == 0;
  if (existed && !S_ISREG(old.st_mode))
    return fail("write_failed", fmt::format("{} is no plain file", path),
                "write the parameter where it leads, by hand");
  const std::string fresh = path + ".sbpf-new";
  (void)::unlink(fresh.c_str());
  const Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file && ::fchmod(file.get(), existed ? old.st_mode & 07777 : 0644) == 0 && write_all(file.get(), text) &&
      ::fsync(file.get()) == 0 && std::rename(fresh.c_str(), path.c_str()) == 0)
    return {};
  const int error = errno;
  (void)::unlink(fresh.c_str());
  return fail("write_failed", SystemError{error}, "cannot write {}", path);
}

}  // namespace

Result<BootChange> add_bpf_at_boot(const std::string& root, const std::string& kernel, const std::string& list) {
  const std::string wanted = parameter(list);
  if (read_file(fmt::format("{}/boot/config-{}", root, kernel)).find("# CONFIG_BPF_LSM is not set") !=
      std::string::npos)
    return fail("no_bpf_lsm", fmt::format("the kernel {} is built without CONFIG_BPF_LSM", kernel),
                "boot another kernel: no parameter of the boot loader adds it");
  if (is_there(root + "/etc/kernel/proxmox-boot-uuids") && is_there(root + kKernelCommandLine))
    return of_command_line(root, wanted, "proxmox-boot-tool refresh");
  if (is_there(root + "/usr/sbin/update-grub") && is_there(root + "/etc/default/grub")) return of_grub(root, wanted);
  if (is_there(root + "/usr/bin/kernel-install") && is_there(root + kKernelCommandLine))
    return of_command_line(root, wanted, fmt::format("kernel-install add {} {}", kernel, image_of(root, kernel)));
  return fail("boot_loader_unknown", "which boot loader starts this host cannot be told",
              fmt::format("add this to the kernel's command line, and reboot: {}; docs/HOSTS.md has recipes", wanted));
}

Result<void> write_change(const BootChange& change) {
  const std::string directory = change.file.substr(0, change.file.rfind('/'));
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST)
    return fail("write_failed", SystemError{errno}, "cannot make {}", directory);
  return replace_file(change.file, change.after);
}

Result<void> take_back(const BootChange& change) {
  if (!change.before.empty()) return replace_file(change.file, change.before);
  if (::unlink(change.file.c_str()) != 0)
    return fail("write_failed", SystemError{errno}, "cannot remove {}", change.file);
  return {};
}

}  // namespace sbpf::agent
