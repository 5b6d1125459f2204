// SPDX-License-Identifier: Apache-2.0
// The disk below the files, and the kernel writing files for the attacker.
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <sstream>

#include "tests/attack/lib/files.h"
#include "tests/attack/lib/process.h"

using namespace attack;

namespace {

// Past the device's own cache, which may still have what lay there before.
void steal_from_disk(const Context& ctx, const std::string& device, const char* step) {
  take_from_disk(ctx, Fd(must(open(device.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC), step)));
}

void make_node(const std::string& path, mode_t kind, dev_t device) {
  must(mknod(path.c_str(), kind | 0600, device), "mknod");
}

// A rule names what may come to be there, and the disk's node lies beside it.
FileSpec disk_beside_a_name(const char* at) {
  FileSpec spec{.at = at, .grant = Grant::none, .write = "workspace/known ", .root = true, .lacking = {{ENODEV}}};
  spec.prepare = [](const FileScene& s) {
    must(mknod(s("workspace/disk").c_str(), S_IFBLK | 0600, admin_disk_of(s)), "admin mknod");
  };
  return spec;
}

void crash_in_child() {
  const pid_t child = must(fork(), "fork");
  if (child == 0) {
    const rlimit unlimited = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CORE, &unlimited);
    std::signal(SIGSEGV, SIG_DFL);
    std::raise(SIGSEGV);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  // Nobody is told why there is no core file.
  if (!WIFSIGNALED(status) || !WCOREDUMP(status)) throw Failure{EACCES, "core"};
}

void core_into_directory(const FileScene&) {
  const Fd fd(must(open("/proc/sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC), "admin open"));
  must(write(fd.get(), "core", 4), "admin write");
}

constexpr int kSwapPages = 16;

// As mkswap makes it: version 1, its last page, and the magic at the end of the first page.
void swap_file(const FileScene& s) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::string image(page * kSwapPages, '\0');
  const std::uint32_t header[2] = {1, kSwapPages - 1};
  image.replace(1024, sizeof(header), reinterpret_cast<const char*>(header), sizeof(header));
  image.replace(page - 10, 10, "SWAPSPACE2");
  admin_write(s("workspace/ro/swap"), image, 0600);
  const Fd fd = admin_open(s("workspace/ro/swap"), O_RDONLY);
  must(fsync(fd.get()), "admin fsync");
}

bool swapping(const FileScene& s) {
  std::ifstream table("/proc/swaps");
  std::stringstream text;
  text << table.rdbuf();
  if (text.str().find(s("workspace/ro/swap")) == std::string::npos) return false;
  swapoff(s("workspace/ro/swap").c_str());
  return true;
}

}  // namespace

FILE_ATTACK(block_device_node_is_refused, {.at = "mknod",
                                           .expected = EPERM,
                                           .or_expected = EACCES,
                                           .grant = Grant::none,
                                           .root = true,
                                           .lacking = {{ENODEV}}}) {
  const dev_t disk = disk_of(ctx);
  make_node(workspace(ctx, "disk"), S_IFBLK, disk);
  steal_from_disk(ctx, workspace(ctx, "disk"), "open");
}

FILE_ATTACK(character_device_node_is_refused, {.at = "mknod",
                                               .expected = EPERM,
                                               .or_expected = EACCES,
                                               .grant = Grant::none,
                                               .meanwhile =
                                                   [](const FileScene& s) {
                                                     const Fd log = admin_open("/dev/kmsg", O_WRONLY);
                                                     const std::string line = "<7>sbpf attack: " + s.secret + "\n";
                                                     must(write(log.get(), line.data(), line.size()), "admin write");
                                                   },
                                               .root = true}) {
  // The kernel's log, from where its end is now.
  make_node(workspace(ctx, "log"), S_IFCHR, makedev(1, 11));
  const Fd log = open_file(workspace(ctx, "log"), O_RDONLY | O_NONBLOCK);
  must(lseek(log.get(), 0, SEEK_END), "lseek");
  ctx.join();
  char record[1024];
  for (ssize_t got; (got = read(log.get(), record, sizeof(record))) > 0 || errno == EPIPE;) {
    if (got <= 0) continue;
    const std::string_view text(record, static_cast<std::size_t>(got));
    if (const auto at = text.find("sbpf attack: "); at != std::string_view::npos) ctx.loot(text.substr(at + 13));
  }
}

// A file may get the name, a disk may not.
FILE_ATTACK(block_device_under_a_name_of_a_rule_is_refused, = disk_beside_a_name("rename")) {
  disk_of(ctx);
  rename_to(workspace(ctx, "disk"), workspace(ctx, "known"));
  steal_from_disk(ctx, workspace(ctx, "known"), "open");
}

FILE_ATTACK(block_device_under_a_linked_name_of_a_rule_is_refused, = disk_beside_a_name("link")) {
  disk_of(ctx);
  must(link(workspace(ctx, "disk").c_str(), workspace(ctx, "known").c_str()), "link");
  steal_from_disk(ctx, workspace(ctx, "known"), "open");
}

// The disk's own node, in a directory that the policy lets be read.
FILE_ATTACK(block_device_of_readable_directory_is_refused, {.at = "open device",
                                                            .or_expected = EPERM,
                                                            .form = Form::carved,
                                                            .grant = Grant::none,
                                                            .root = true,
                                                            .lacking = {{ENODEV}}}) {
  const dev_t disk = disk_of(ctx);
  steal_from_disk(ctx, disk_node(disk), "open device");
}

// A rule names what may come to lie below this name. The node itself no rule names, although the policy knows it.
FILE_ATTACK(block_device_where_a_directory_was_expected_is_refused,
            {.at = "open device",
             .grant = Grant::none,
             .meanwhile =
                 [](const FileScene& s) {
                   struct stat info {};
                   must(stat(s.base.c_str(), &info), "admin stat");
                   must(mknod(s("workspace/a").c_str(), S_IFBLK | 0600, info.st_dev), "admin mknod");
                 },
             .root = true,
             .lacking = {{ENODEV}}}) {
  disk_of(ctx);
  ctx.join();
  steal_from_disk(ctx, workspace(ctx, "a"), "open device");
}

FILE_ATTACK(core_dump_in_protected_directory_is_refused,
            {.at = "core", .prepare = core_into_directory, .machine_wide = true}) {
  must(chdir(workspace(ctx, "tests").c_str()), "chdir");
  crash_in_child();
}

FILE_ATTACK(core_dump_in_unlisted_directory_is_refused,
            {.at = "core", .prepare = core_into_directory, .machine_wide = true}) {
  must(chdir(scene(ctx, "elsewhere").c_str()), "chdir");
  crash_in_child();
}

FILE_ATTACK(process_accounting_into_read_only_file_is_refused, {.at = "acct",
                                                                .or_expected = EPERM,
                                                                .grant = Grant::none,
                                                                .root = true,
                                                                .machine_wide = true,
                                                                .lacking = {{ENOSYS}}}) {
  must(acct(workspace(ctx, "ro/file").c_str()), "acct");
  in_child([] {});
  acct(nullptr);
}

FILE_ATTACK(swapping_to_read_only_file_is_refused, {.at = "swapon",
                                                    .or_expected = EPERM,
                                                    .grant = Grant::none,
                                                    .prepare = swap_file,
                                                    .harmed = swapping,
                                                    .root = true,
                                                    .machine_wide = true,
                                                    .lacking = {{ENOSYS}}}) {
  must(swapon(workspace(ctx, "ro/swap").c_str(), 0), "swapon");
}
