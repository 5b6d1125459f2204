// SPDX-License-Identifier: Apache-2.0
// sbpf-enter: brings a user's process to places of its own, before sbpfd confines it. Users may make no namespaces on
// the host, so this executable has file capabilities for it, and no others: it never is root. What it makes is
// private to the process, and what it executes then cannot gain privileges.
#include <getopt.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "agent/files/namespaces.h"
#include "agent/files/workspace.h"
#include "agent/host/network_namespace.h"
#include "agent/host/privileges.h"
#include "agent/host/told_error.h"
#include "base/file.h"
#include "base/proc_cgroup.h"

namespace sbpf::cli {
namespace {

constexpr std::size_t kMostPlaces = 1024;
constexpr const char* kUsage =
    R"(usage: sbpf-enter [--private DIR]... [--network] [--workspace DIR] [--report FD] -- COMMAND [ARG...]
       sbpf-enter --in PID:MOUNTS [--report FD] -- COMMAND [ARG...]

For `sbpf run` and `sbpf exec` of users other than root. Executes the command, which can gain no privileges, in a mount
and an IPC namespace of its own, with a /proc, /dev/shm and /dev/mqueue of its own.
  --private DIR    this directory is empty there, and gone with it; repeatable
  --network        and in a network of its own, which has a loopback and nothing else
  --workspace DIR  this directory is /workspace there, and the command begins there
  --in PID:MOUNTS  instead where a process of the same user is, in the mount namespace of this number
  --report FD      say errors there
It confines nothing by itself.
)";

struct EnterArgs {
  std::set<std::string> places;
  bool network = false;
  std::optional<std::string> workspace;
  std::optional<std::pair<pid_t, std::uint64_t>> joined;  // a process, and the number of its mount namespace
  int report = -1;
  char** command = nullptr;
};

template <typename Number>
bool read_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_joined(std::string_view text, EnterArgs& args) {
  const std::size_t colon = text.find(':');
  std::pair<pid_t, std::uint64_t> joined;
  if (colon == std::string_view::npos || !read_number(text.substr(0, colon), joined.first) || joined.first <= 0 ||
      !read_number(text.substr(colon + 1), joined.second))
    return false;
  args.joined = joined;
  return true;
}

std::optional<EnterArgs> read_arguments(int argc, char** argv) {
  constexpr option kOptions[] = {
      {"private", required_argument, nullptr, 'p'},   {"network", no_argument, nullptr, 'n'},
      {"workspace", required_argument, nullptr, 'w'}, {"in", required_argument, nullptr, 'i'},
      {"report", required_argument, nullptr, 'r'},    {nullptr, 0, nullptr, 0}};
  EnterArgs args;
  for (int given = 0; (given = ::getopt_long(argc, argv, "+", kOptions, nullptr)) != -1;) {
    bool right = given != '?';
    if (given == 'p') {
      right = *optarg == '/' && args.places.size() < kMostPlaces;
      args.places.insert(optarg);
    }
    if (given == 'n') args.network = true;
    if (given == 'w') args.workspace = optarg;
    if (given == 'i') right = read_joined(optarg, args);
    if (given == 'r') right = read_number(std::string_view(optarg), args.report) && args.report > 2;
    if (!right) return std::nullopt;
  }
  args.command = argv + optind;
  if (*args.command == nullptr || (args.joined && (args.network || !args.places.empty() || args.workspace)))
    return std::nullopt;
  return args;
}

Result<void> check_caller() {
  if (::getuid() != 0 && ::geteuid() == ::getuid() && ::getegid() == ::getgid()) return {};
  return fail("private_places", "sbpf-enter runs for a user other than root, as that user",
              "root has `sbpf run`; the executable has file capabilities, and is not set-user-id");
}

// Other processes of the user's have networks of others, too: a container's, for one.
Result<void> check_joined(pid_t pid) {
  const std::string cgroups = read_file(fmt::format("/proc/{}/cgroup", pid));
  if (unified_cgroup(cgroups).starts_with(fmt::format("/sbpf/u{}-", ::getuid()))) return {};
  return fail("no_namespace", fmt::format("process {} is in no sandbox of this user's", pid), "`sbpf list`");
}

Result<void> enter(const EnterArgs& args) {
  if (args.joined) {
    if (auto own = check_joined(args.joined->first); !own) return own;
    return agent::enter_sandbox(args.joined->first, args.joined->second);
  }
  Fd workspace;
  if (args.workspace) {
    auto opened = agent::open_workspace(*args.workspace);
    if (!opened) return tl::unexpected<Error>(opened.error());
    workspace = std::move(*opened);
  }
  agent::NetworkNamespace network;
  if (args.network) {
    auto made = agent::make_network_namespace([] { return Result<void>(); });
    if (!made) return tl::unexpected<Error>(made.error());
    network = std::move(*made);
  }
  return agent::enter_private_places(network.fd, workspace, args.places);
}

// Errors of permission are of the executable, or of how it was started.
Error explained(Error error) {
  if (error.sys_errno != EPERM) return error;
  error.hint =
      ::prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1
          ? "the caller has no_new_privs (NoNewPrivileges= of a unit, a container), by which sbpf-enter has no "
            "capabilities: start it elsewhere"
          : "as root: setcap cap_net_admin,cap_sys_chroot,cap_sys_admin+ep /usr/bin/sbpf-enter, on a "
            "filesystem that is not mounted nosuid";
  return error;
}

// For good. What is executed has no capabilities, and gains none.
Result<void> give_up_capabilities() {
  agent::Privileges none;
  none.as_user = true;
  int error = agent::set_capabilities(none);
  if (error == 0) error = agent::set_no_new_privs(none);
  if (error == 0) error = agent::verify_privileges(none);
  if (error == 0) return {};
  return fail("private_places", SystemError{error}, "sbpf-enter cannot give up its capabilities");
}

Result<void> enter_and_execute(const EnterArgs& args) {
  if (auto fit = check_caller(); !fit) return fit;
  if (auto entered = enter(args); !entered) return tl::unexpected<Error>(explained(entered.error()));
  if (auto given_up = give_up_capabilities(); !given_up) return given_up;
  ::execve(args.command[0], args.command, environ);
  return fail("spawn", SystemError{errno}, "cannot execute {}", args.command[0]);
}

int run_main(int argc, char** argv) {
  const auto args = read_arguments(argc, argv);
  if (!args) {
    (void)std::fputs(kUsage, stderr);
    return 2;
  }
  const auto failed = enter_and_execute(*args);
  if (args->report > 2)
    agent::tell_error(args->report, failed.error());
  else
    (void)std::fputs(fmt::format("sbpf-enter: error: {}\n", failed.error().message).c_str(), stderr);
  return 125;
}

}  // namespace
}  // namespace sbpf::cli

int main(int argc, char** argv) {
  try {
    return sbpf::cli::run_main(argc, argv);
  } catch (const std::exception&) {  // memory ran out
    return 125;
  }
}
