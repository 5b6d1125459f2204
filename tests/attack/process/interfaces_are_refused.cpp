// SPDX-License-Identifier: Apache-2.0
// Interfaces of the kernel that few programs need and many exploits use: perf, keyrings, userfaultfd, io_uring, and the
// kernel's own loading of modules.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/attack/lib/process_attack.h"

using namespace attack;

namespace {

constexpr const char* kPerf = "anon_inode:[perf_event]";
constexpr const char* kKeys = "keys are seen by who holds them alone";
constexpr const char* kKeyrings = "kernel: {allow: [keyrings]}";
// Debian's kernels ask for a capability before any perf event is judged.
constexpr const char* kAdminAndPerf = "kernel: {allow: [perf], dangerously_allow_capabilities: [SYS_ADMIN]}";
constexpr const char* kAdminAndModules =
    "kernel: {allow: [module_requests], dangerously_allow_capabilities: [SYS_ADMIN]}";

Fd open_perf(std::uint32_t type, std::uint64_t config, pid_t pid, int cpu) {
  perf_event_attr attributes{};
  attributes.type = type;
  attributes.size = sizeof attributes;
  attributes.config = config;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  return Fd(static_cast<int>(
      must(syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC), "perf_event_open")));
}

long add_key(const char* name, int keyring) {
  return must(syscall(SYS_add_key, "user", name, "secret", 6, keyring), "add_key");
}

template <typename... T>
long keyctl(int operation, T... arguments) {
  return must(syscall(SYS_keyctl, operation, arguments...), "keyctl");
}

Fd ring(unsigned flags) {
  io_uring_params params{};
  params.flags = flags;
  return Fd(static_cast<int>(must(syscall(SYS_io_uring_setup, 2, &params), "io_uring_setup")));
}

}  // namespace

PROCESS_ATTACK(perf_event_of_oneself_is_refused, {.at = "perf_event_open",
                                                  .allow = kAdminAndPerf,
                                                  .deny = kAdmin,
                                                  .victim = Victim::attacker_file,
                                                  .shows = kPerf,
                                                  .root = true}) {
  ctx.keep(open_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, -1));
}

PROCESS_ATTACK(perf_event_of_the_machine_is_refused, {.at = "perf_event_open",
                                                      .or_expected = EACCES,
                                                      .allow = kAudit,
                                                      .victim = Victim::attacker_file,
                                                      .shows = kPerf,
                                                      .root = true}) {
  ctx.keep(open_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, -1, 0));
}

// With SYS_ADMIN over the host as well, which is the policy's to give, the kernel asks no more whose process it is.
PROCESS_ATTACK(perf_event_of_outside_process_is_refused,
               {.at = "perf_event_open",
                .or_expected = EACCES,
                .allow = kAdminAndPerf,
                .deny = "kernel: {allow: [perf]}",
                .victim = Victim::bystander_life,
                .claims = "the event counts, and changes nothing of whom it counts",
                .root = true}) {
  open_perf(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, static_cast<pid_t>(ctx.number("bystander")), -1);
}

PROCESS_ATTACK(key_in_session_keyring_is_refused,
               {.at = "add_key", .or_expected = ENOKEY, .allow = kKeyrings, .claims = kKeys}) {
  add_key("sbpf-attack", KEY_SPEC_SESSION_KEYRING);
}

PROCESS_ATTACK(key_in_user_keyring_is_refused,
               {.at = "add_key", .or_expected = ENOKEY, .allow = kKeyrings, .claims = kKeys}) {
  const long key = add_key("sbpf-attack-user", KEY_SPEC_USER_KEYRING);
  syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING);
}

PROCESS_ATTACK(keyring_in_process_keyring_is_refused, {.at = "add_key", .allow = kKeyrings, .claims = kKeys}) {
  must(syscall(SYS_add_key, "keyring", "sbpf-attack", nullptr, 0, KEY_SPEC_PROCESS_KEYRING), "add_key");
}

PROCESS_ATTACK(new_session_keyring_is_refused, {.at = "keyctl", .allow = kKeyrings, .claims = kKeys}) {
  keyctl(KEYCTL_JOIN_SESSION_KEYRING, nullptr);
}

// The user's keyring is one for all processes of the user id.
PROCESS_ATTACK(read_of_key_made_outside_is_refused,
               {.at = "keyctl", .or_expected = ENOKEY, .allow = kKeyrings, .claims = kKeys, .launch = Launch::attach}) {
  const long key = add_key("sbpf-attack-read", KEY_SPEC_USER_KEYRING);
  must(syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f3f0000), "setperm");
  ctx.join();
  char text[6];
  keyctl(KEYCTL_READ, key, text, sizeof text);
}

PROCESS_ATTACK(search_for_key_made_outside_is_refused,
               {.at = "keyctl", .or_expected = ENOKEY, .allow = kKeyrings, .claims = kKeys, .launch = Launch::attach}) {
  add_key("sbpf-attack-search", KEY_SPEC_USER_KEYRING);
  ctx.join();
  keyctl(KEYCTL_SEARCH, KEY_SPEC_USER_KEYRING, "user", "sbpf-attack-search", 0);
}

PROCESS_ATTACK(change_of_key_made_outside_is_refused,
               {.at = "keyctl", .or_expected = EACCES, .allow = kKeyrings, .claims = kKeys, .launch = Launch::attach}) {
  const long key = add_key("sbpf-attack-change", KEY_SPEC_USER_KEYRING);
  must(syscall(SYS_keyctl, KEYCTL_SETPERM, key, 0x3f3f0000), "setperm");
  ctx.join();
  keyctl(KEYCTL_UPDATE, key, "changed", 7);
}

PROCESS_ATTACK(
    request_for_key_is_refused,
    {.at = "request_key", .or_expected = ENOKEY, .allow = kKeyrings, .claims = kKeys, .launch = Launch::attach}) {
  add_key("sbpf-attack-request", KEY_SPEC_PROCESS_KEYRING);
  ctx.join();
  must(syscall(SYS_request_key, "user", "sbpf-attack-request", nullptr, 0), "request_key");
}

PROCESS_ATTACK(persistent_keyring_is_refused,
               {.at = "keyctl", .allow = kKeyrings, .claims = kKeys, .lacking = {{EOPNOTSUPP}}}) {
  keyctl(KEYCTL_GET_PERSISTENT, -1, KEY_SPEC_PROCESS_KEYRING);
}

PROCESS_ATTACK(userfaultfd_is_refused, {.at = "userfaultfd",
                                        .allow = "kernel: {allow: [userfaultfd]}",
                                        .victim = Victim::attacker_file,
                                        .shows = "anon_inode:[userfaultfd]"}) {
  ctx.keep(Fd(static_cast<int>(must(syscall(SYS_userfaultfd, UFFD_USER_MODE_ONLY | O_CLOEXEC), "userfaultfd"))));
}

PROCESS_ATTACK(userfaultfd_by_device_is_refused, {.at = "ioctl",
                                                  .allow = "kernel: {allow: [userfaultfd]}",
                                                  .victim = Victim::attacker_file,
                                                  .shows = "anon_inode:[userfaultfd]",
                                                  .root = true,
                                                  .lacking = {{ENOENT}}}) {
  const Fd device = open_file("/dev/userfaultfd", O_RDWR);
  ctx.keep(Fd(must(ioctl(device.get(), USERFAULTFD_IOC_NEW, O_CLOEXEC), "ioctl")));
}

#define RING                                                                                                           \
  {                                                                                                                    \
    .at = "io_uring_setup", .allow = "env: {}", .deny = "kernel: {deny: [io_uring]}", .victim = Victim::attacker_file, \
    .shows = "anon_inode:[io_uring]"                                                                                   \
  }

PROCESS_ATTACK(io_uring_is_refused, RING) { ctx.keep(ring(0)); }

PROCESS_ATTACK(io_uring_with_kernel_thread_is_refused, RING) { ctx.keep(ring(IORING_SETUP_SQPOLL)); }

PROCESS_ATTACK(disabled_io_uring_is_refused, RING) { ctx.keep(ring(IORING_SETUP_R_DISABLED)); }

PROCESS_ATTACK(module_by_socket_family_is_refused, {.at = "socket",
                                                    .expected = EAFNOSUPPORT,
                                                    .allow = "kernel: {allow: [module_requests]}",
                                                    .victim = Victim::machine,
                                                    .machine_wide = true,
                                                    .unload = "kcm",
                                                    .lacking = {{EAFNOSUPPORT}}}) {
  const Fd fd(must(socket(AF_KCM, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket"));
}

PROCESS_ATTACK(module_by_filesystem_type_is_refused, {.at = "fsopen",
                                                      .expected = ENODEV,
                                                      .allow = kAdminAndModules,
                                                      .deny = kAdmin,
                                                      .victim = Victim::machine,
                                                      .root = true,
                                                      .machine_wide = true,
                                                      .unload = "squashfs"}) {
  const Fd fd(static_cast<int>(must(syscall(SYS_fsopen, "squashfs", FSOPEN_CLOEXEC), "fsopen")));
}

PROCESS_ATTACK(module_by_root_socket_family_is_refused, {.at = "socket",
                                                         .expected = EAFNOSUPPORT,
                                                         .allow = "kernel: {allow: [module_requests]}",
                                                         .victim = Victim::machine,
                                                         .root = true,
                                                         .machine_wide = true,
                                                         .unload = "af_key",
                                                         .lacking = {{EAFNOSUPPORT}}}) {
  const Fd fd(must(socket(AF_KEY, SOCK_RAW | SOCK_CLOEXEC, 2), "socket"));
}

// Each command of bpf(2) by its number, and those that a newer kernel may have. No request is complete, so none changes
// anything. The policy keeps SYS_ADMIN: no capability that is missing stands in for the refusal.
PROCESS_ATTACK(each_bpf_command_is_refused, {.at = "bpf",
                                             .deny = kAdmin,
                                             .claims = "no request is complete, so none changes anything",
                                             .root = true}) {
  constexpr int kBeyondTheNewest = 64;
  int refused = 0;
  std::string passed;
  for (int command = 0; command < kBeyondTheNewest; command++) {
    bpf_attr attributes{};
    const long result = syscall(SYS_bpf, command, &attributes, sizeof attributes);
    if (result < 0 && errno == EPERM)
      refused++;
    else
      passed += " " + std::to_string(command);
    if (result > STDERR_FILENO) close(static_cast<int>(result));  // ENABLE_STATS makes a descriptor
  }
  if (refused == kBeyondTheNewest) throw Failure{EPERM, "bpf"};
  if (refused > 0) throw Failure{EPROTO, "only these commands passed:" + passed};
}
