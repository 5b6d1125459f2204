// SPDX-License-Identifier: Apache-2.0
#include "tests/attack/driver/sandbox.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/attack/lib/files.h"

namespace attack::driver {

namespace {

std::string cgroup2_mount() {
  std::ifstream mounts("/proc/mounts");
  std::string device, place, type, rest;
  while (mounts >> device >> place >> type && std::getline(mounts, rest))
    if (type == "cgroup2") return place;
  return {};
}

bool kernel_before_6_5() {
  utsname name{};
  int major = 0, minor = 0;
  if (uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &major, &minor) != 2) return false;
  return major < 6 || (major == 6 && minor < 5);
}

// Names of sandboxes are never used twice: what one test leaves behind is not the next one's.
std::string fresh_name() {
  static int number = 0;
  return "attack-" + std::to_string(getpid()) + "-" + std::to_string(++number);
}

}  // namespace

Host find_host(int uid) {
  Host host;
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const char* sbpf = std::getenv("SBPF");
  host.sbpf = sbpf ? sbpf : (here.parent_path() / "bin" / "sbpf").string();
  host.program = (here / "attacker").string();
  host.cgroup_root = cgroup2_mount();
  if (!host.cgroup_root.empty())
    mkdir((host.cgroup_root + "/sbpf-attack-victim").c_str(), 0755);  // of attacks on a cgroup of others
  host.uid = uid;
  host.before_6_5 = kernel_before_6_5();
  mkdir("/srv", 0755);
  char pattern[] = "/srv/sbpf-attack-XXXXXX";  // of the host's, where a profile makes /tmp private
  if (!mkdtemp(pattern)) throw Failure{errno, "mkdtemp"};
  host.directory = pattern;
  must(chmod(pattern, 0755), "chmod");
  std::filesystem::copy_file(host.program, host.directory + "/suid");
  must(chmod((host.directory + "/suid").c_str(), 04755), "chmod");
  return host;
}

void clean_up(const Host& host) {
  std::error_code ignored;
  std::filesystem::remove_all(host.directory, ignored);
  if (!host.cgroup_root.empty()) rmdir((host.cgroup_root + "/sbpf-attack-victim").c_str());
}

namespace {

// The hooks are what is tested, by attackers with all of root's powers: nothing else may stop them before.
constexpr const char* kProcess =
    "process:\n seccomp: dangerously_unconfined\n capabilities: dangerously_all\n"
    " dangerously_allow_new_privileges: true\n limits: {core: 1GiB}\n";

std::string write_text(const Host& host, std::string text, const Arguments& arguments) {
  for (const auto& [key, value] : arguments) {
    const std::string placeholder = "{" + key + "}";
    for (auto at = text.find(placeholder); at != std::string::npos; at = text.find(placeholder))
      text.replace(at, placeholder.size(), value);
  }
  const std::string path = host.directory + "/policy.yaml";
  write_file(path, text);
  return path;
}

// What every program needs to start, whatever the rest is.
constexpr const char* kSystem =
    "/bin /dev /etc /lib /lib32 /lib64 /opt /proc /run /sbin /sys /usr {host} {program_directory} ";

// Where programs and libraries are, the attacker among them.
constexpr const char* kPrograms = "/bin /lib /lib32 /lib64 /sbin /usr {program_directory} ";

// Names in the scene, or absolute ones, as one list of the policy.
std::string list_of(const char* key, const std::string& names) {
  std::istringstream words(names);
  std::string text;
  for (std::string name; words >> name;) {
    const bool absolute = name.starts_with('/') || name.starts_with('{');
    text += (text.empty() ? "\"" : ", \"") + (absolute ? name : "{scene}/" + name) + "\"";
  }
  return text.empty() ? "" : std::string("  ") + key + ": [" + text + "]\n";
}

// Below kProcess: what is refused with another reason than the one under test.
constexpr const char* kOtherDomains =
    " kernel:\n  allow: [keyrings, module_requests, perf, user_namespaces, userfaultfd]\n"
    "  dangerously_allow_capabilities: [DAC_READ_SEARCH, LINUX_IMMUTABLE, LEASE, NET_BROADCAST, SYS_ADMIN, SYS_NICE, "
    "SYS_PACCT, SYS_PTRACE, SYS_RAWIO, SYS_RESOURCE, SYS_TTY_CONFIG, SYSLOG]\n";

// The rules for programs, below kProcess.
std::string exec_of(const FileSpec& files, bool allowing) {
  const std::string exec = " exec:\n";
  if (files.programs == Programs::unjudged) return "";
  if (allowing) return exec + list_of("deny", "outside");
  switch (files.programs) {
    case Programs::listed:
      return exec + list_of("allow", std::string(kPrograms) + "workspace/ro " + files.allow) +
             list_of("deny", files.forbid);
    case Programs::named:
      return exec + list_of("deny", std::string("workspace/secret workspace/later ") + files.forbid);
    case Programs::unwritable:
      return exec + "  deny_writable: true\n";
    case Programs::unjudged:
      break;
  }
  return "";
}

}  // namespace

std::string write_policy(const Host& host, const std::string& fragment, bool audit, const Arguments& arguments) {
  std::string text = "version: 1\nname: attack\n";
  if (audit) text += "mode: audit\n";
  return write_text(host, text + "network:\n  " + fragment + "\n" + kProcess + kOtherDomains, arguments);
}

std::string write_process_policy(const Host& host, const std::string& fragment, bool audit,
                                 const Arguments& arguments) {
  std::string text = "version: 1\nname: attack\n";
  if (audit) text += "mode: audit\n";
  text += std::string("network:\n  dangerously_allow_all: true\n") + kProcess + " " + fragment + "\n";
  return write_text(host, text, arguments);
}

std::string write_profile_policy(const Host& host, const Arguments& arguments) {
  Arguments all = arguments;
  all["host"] = host.directory;
  all["program_directory"] = std::filesystem::path(host.program).parent_path();
  all["id"] = std::to_string(host.uid);
  // An emulated machine is slow.
  return write_text(host,
                    "version: 1\nname: attack\nextends: [" + host.profile +
                        "]\nfilesystem:\n  read: [\"{host}\", \"{program_directory}\"]\n"
                        "process:\n  exec: {allow: [\"{program_directory}\"]}\n  limits: {timeout: 10m}\n" +
                        (host.uid == 0 ? "" : "  user: {uid: {id}, gid: {id}}\n"),
                    all);
}

std::string write_file_policy(const Host& host, const FileSpec& files, bool allowing, const Arguments& arguments) {
  Arguments all = arguments;
  all["host"] = host.directory;
  all["program_directory"] = std::filesystem::path(host.program).parent_path();
  std::string text = "version: 1\nname: attack\n";
  if (allowing && files.grant == Grant::audit) text += "mode: audit\n";
  // Files and programs alone are judged.
  text += std::string("network:\n  dangerously_allow_all: true\n") + kProcess + kOtherDomains;
  if (allowing && files.grant == Grant::none)
    return write_text(host, text + "filesystem: {dangerously_allow_all: true}\n", all);
  text += exec_of(files, allowing && files.grant == Grant::scene);
  if (files.programs == Programs::listed || files.programs == Programs::named) return write_text(host, text, all);
  text += "filesystem:\n";
  if (allowing && files.grant == Grant::scene)
    return write_text(host, text + "  default: deny\n" + list_of("read", kSystem) + list_of("write", "{scene}"), all);
  std::string read = files.form == Form::listed ? kSystem : "";
  text += std::string("  default: ") + (files.form == Form::listed   ? "deny"
                                        : files.form == Form::carved ? "read"
                                                                     : "write");
  text += "\n" + list_of("read", read + "workspace/ro " + files.read);
  text += list_of("write", std::string("workspace ") + files.write);
  text += list_of("deny", std::string("outside workspace/secret workspace/secret.key workspace/later "
                                      "workspace/project/vault ") +
                              files.deny);
  text += list_of("protect", std::string("workspace/tests workspace/instruction.md workspace/.hooks workspace/a/b "
                                         "workspace/empty/later workspace/project/tests ") +
                                 files.protect);
  return write_text(host, text, all);
}

std::vector<std::string> run_arguments(const Host& host, const std::string& policy, const std::string& name) {
  return {host.sbpf, "run", "--policy", policy, "--name", name.empty() ? fresh_name() : name, "--"};
}

Cgroup::Cgroup(std::string path) : path_(std::move(path)) {
  if (mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) throw Failure{errno, "mkdir " + path_};
}

Cgroup::~Cgroup() {
  for (int i = 0; i < 500 && rmdir(path_.c_str()) != 0 && errno == EBUSY; i++) usleep(2000);
}

void Cgroup::take(pid_t pid) const { write_file(path_ + "/cgroup.procs", std::to_string(pid)); }

Attachment::Attachment(const Host& host, const Cgroup& cgroup, const std::string& policy, bool keep_open_sockets)
    : host_(host), name_(fresh_name()) {
  std::vector<std::string> argv = {host.sbpf, "attach", "--cgroup", cgroup.path(), "--policy", policy, "--name", name_};
  if (keep_open_sockets) argv.emplace_back("--keep-open-sockets");
  exit_code_ = run_command(argv, &errors_);
}

Attachment::~Attachment() {
  if (exit_code_ == 0) run_command({host_.sbpf, "detach", name_});
}

void load_modules(const std::string& names) {
  static std::set<std::string> tried;
  std::istringstream words(names);
  for (std::string name; words >> name;)
    if (tried.insert(name).second) run_command({"modprobe", "-q", name});
}

void unload_modules(const std::string& names) {
  std::istringstream words(names);
  for (std::string name; words >> name;) run_command({"modprobe", "-q", "-r", name});
}

}  // namespace attack::driver
