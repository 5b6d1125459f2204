// SPDX-License-Identifier: Apache-2.0
// Objects of the machine: cgroups, mounts, BPF maps and links, interfaces, sysctls.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <sstream>

#include "tests/attack/driver/victim.h"
#include "tests/attack/lib/kernel.h"

namespace attack::driver {

namespace {

std::string proc(pid_t pid, const char* file) { return read_file("/proc/" + std::to_string(pid) + "/" + file); }

class Tracer : public Thing {
  bool harmed(const Outcome& outcome) const override {
    const std::string status = proc(outcome.pid, "status");
    const auto at = status.find("TracerPid:");
    return at != std::string::npos && std::stol(status.substr(at + 10)) != 0;
  }
};

class OtherCgroup : public Thing {
 public:
  explicit OtherCgroup(const Scene& scene) : procs_(scene.cgroup_root + "/sbpf-attack-other/cgroup.procs") {}
  Fd connection() override { return Fd(must(open(procs_.c_str(), O_WRONLY | O_CLOEXEC), "open cgroup.procs")); }

 private:
  bool harmed(const Outcome& outcome) const override {
    std::string cgroup = proc(outcome.pid, "cgroup");
    cgroup = cgroup.substr(cgroup.find("0::") + 3);
    cgroup = cgroup.substr(0, cgroup.find('\n'));
    return cgroup == "/" || cgroup == "/sbpf-attack-other" || cgroup.ends_with("/sbpf-attack-own");
  }
  std::string procs_;
};

// A map with one entry, pinned if asked for.
class Map : public Thing {
 public:
  explicit Map(bool pinned) : pinned_(pinned) {
    bpf_attr attributes{};
    attributes.map_type = BPF_MAP_TYPE_HASH;
    attributes.key_size = attributes.value_size = 4;
    attributes.max_entries = 1;
    fd_ = Fd(bpf_call(BPF_MAP_CREATE, attributes, "map create"));
    bpf_map_write(fd_, 0, 1);
    if (!pinned_) return;
    bpf_attr pin{};
    pin.pathname = reinterpret_cast<std::uintptr_t>(kPin);
    pin.bpf_fd = static_cast<__u32>(fd_.get());
    bpf_call(BPF_OBJ_PIN, pin, "pin");
  }
  ~Map() override {
    if (!pinned_) return;
    unlink(kPin);
    unlink((std::string(kPin) + "-moved").c_str());
  }
  Arguments arguments() const override {
    bpf_map_info info{};
    bpf_attr attributes{};
    attributes.info.bpf_fd = static_cast<__u32>(fd_.get());
    attributes.info.info_len = sizeof(info);
    attributes.info.info = reinterpret_cast<std::uintptr_t>(&info);
    bpf_call(BPF_OBJ_GET_INFO_BY_FD, attributes, "map info");
    return {{"map_id", std::to_string(info.id)}, {"pin", kPin}};
  }

 private:
  static constexpr const char* kPin = "/sys/fs/bpf/sbpf-attack-pin";
  bool harmed(const Outcome&) const override {
    if (pinned_ && access(kPin, F_OK) != 0) return true;
    std::uint32_t key = 0, value = 0;
    bpf_attr attributes{};
    attributes.map_fd = static_cast<__u32>(fd_.get());
    attributes.key = reinterpret_cast<std::uintptr_t>(&key);
    attributes.value = reinterpret_cast<std::uintptr_t>(&value);
    bpf_call(BPF_MAP_LOOKUP_ELEM, attributes, "map lookup");
    return value != 1;
  }
  bool pinned_;
  Fd fd_;
};

// A link of a harmless program to a cgroup of nobody's.
class Link : public Thing {
 public:
  explicit Link(const Scene& scene) : path_(scene.cgroup_root + "/sbpf-attack-link") {
    if (mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) throw Failure{errno, "mkdir " + path_};
    const Fd cgroup(must(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open cgroup"));
    const Fd program = bpf_allow_all_program();
    bpf_attr attributes{};
    attributes.link_create.prog_fd = static_cast<__u32>(program.get());
    attributes.link_create.target_fd = static_cast<__u32>(cgroup.get());
    attributes.link_create.attach_type = BPF_CGROUP_INET4_CONNECT;
    fd_ = Fd(bpf_call(BPF_LINK_CREATE, attributes, "link create"));
  }
  ~Link() override {
    fd_.reset();
    rmdir(path_.c_str());
  }
  Arguments arguments() const override { return {{"link_id", std::to_string(info().id)}}; }

 private:
  bpf_link_info info() const {
    bpf_link_info info{};
    bpf_attr attributes{};
    attributes.info.bpf_fd = static_cast<__u32>(fd_.get());
    attributes.info.info_len = sizeof(info);
    attributes.info.info = reinterpret_cast<std::uintptr_t>(&info);
    bpf_call(BPF_OBJ_GET_INFO_BY_FD, attributes, "link info");
    return info;
  }
  bool harmed(const Outcome&) const override { return info().cgroup.cgroup_id == 0; }
  std::string path_;
  Fd fd_;
};

// The topmost mount at a place, as the attacker's mount namespace has it.
class Mount : public Thing {
 public:
  Mount(std::string place, std::string type) : place_(std::move(place)), type_(std::move(type)) {
    if (topmost(getpid()) != type_) throw Failure{ENODEV, "mount of " + type_ + " at " + place_};
  }

 private:
  std::string topmost(pid_t pid) const {
    std::istringstream table(proc(pid, "mountinfo"));
    std::string found;
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields(line);
      std::string id, parent, device, root, point;
      fields >> id >> parent >> device >> root >> point;
      const auto dash = line.find(" - ");
      if (point != place_ || dash == std::string::npos) continue;
      std::istringstream(line.substr(dash + 3)) >> found;
    }
    return found;
  }
  bool harmed(const Outcome& outcome) const override { return topmost(outcome.pid) != type_; }
  std::string place_, type_;
};

class LoAddress : public Thing {
 public:
  ~LoAddress() override {
    if (!there()) return;
    try {
      change_lo_address(open_socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), false, kAddress);
    } catch (const Failure&) {  // gone in between
    }
  }

 private:
  static constexpr const char* kAddress = "192.0.2.83";
  static bool there() {
    ifaddrs* all = nullptr;
    if (getifaddrs(&all) != 0) throw Failure{errno, "getifaddrs"};
    bool found = false;
    for (const ifaddrs* each = all; each; each = each->ifa_next)
      if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET)
        found = found || reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr.s_addr == inet_addr(kAddress);
    freeifaddrs(all);
    return found;
  }
  bool harmed(const Outcome&) const override { return there(); }
};

class Interface : public Thing {
  bool harmed(const Outcome&) const override { return if_nametoindex("sbpfattack0") != 0; }
};

class NetSysctl : public Thing {
 public:
  NetSysctl() : before_(read_file(kPath)) {}
  ~NetSysctl() override { write_file(kPath, before_); }
  Fd connection() override { return Fd(must(open(kPath, O_WRONLY | O_CLOEXEC), "open a sysctl")); }
  Arguments arguments() const override { return {{"sysctl", kPath}, {"value", before_.starts_with("0") ? "1" : "0"}}; }

 private:
  static constexpr const char* kPath = "/proc/sys/net/ipv4/conf/lo/route_localnet";
  bool harmed(const Outcome&) const override { return read_file(kPath) != before_; }
  std::string before_;
};

class CorePattern : public Receiver {
 public:
  explicit CorePattern(const Scene& scene) : Receiver(scene.token), before_(read_file(kPath)) {
    Fd fd = open_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
    bind_to(fd, v4("127.0.0.1", 0));
    listen_on(fd);
    port_ = port_of(fd);
    listen_at(std::move(fd));
  }
  ~CorePattern() override { write_file(kPath, before_); }
  Arguments arguments() const override { return {{"port", std::to_string(port_)}}; }

 private:
  static constexpr const char* kPath = "/proc/sys/kernel/core_pattern";
  std::string before_;
  std::uint16_t port_;
};

}  // namespace

std::unique_ptr<VictimState> make_kernel_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::tracer) return std::make_unique<Tracer>();
  if (kind == Victim::other_cgroup) return std::make_unique<OtherCgroup>(scene);
  if (kind == Victim::bpf_map) return std::make_unique<Map>(false);
  if (kind == Victim::bpf_pin) return std::make_unique<Map>(true);
  if (kind == Victim::bpf_link) return std::make_unique<Link>(scene);
  if (kind == Victim::mount_bpffs) return std::make_unique<Mount>("/sys/fs/bpf", "bpf");
  if (kind == Victim::mount_cgroup) return std::make_unique<Mount>(scene.cgroup_root, "cgroup2");
  if (kind == Victim::mount_sysfs) return std::make_unique<Mount>("/sys", "sysfs");
  if (kind == Victim::mount_securityfs) return std::make_unique<Mount>("/sys/kernel/security", "securityfs");
  if (kind == Victim::lo_address) return std::make_unique<LoAddress>();
  if (kind == Victim::interface) return std::make_unique<Interface>();
  if (kind == Victim::net_sysctl) return std::make_unique<NetSysctl>();
  if (kind == Victim::core_pattern) return std::make_unique<CorePattern>(scene);
  return nullptr;
}

}  // namespace attack::driver
