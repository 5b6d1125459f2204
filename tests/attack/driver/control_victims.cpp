// SPDX-License-Identifier: Apache-2.0
// The kernel's own file systems: what is made, removed or changed there drives the kernel.
#include <fcntl.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/attack/driver/sandbox.h"
#include "tests/attack/driver/victim.h"

namespace attack::driver {

namespace {

constexpr const char* kConfig = "/sys/kernel/config";
constexpr const char* kConnections = "/sys/fs/fuse/connections";

void mounted(const char* type, const char* place) {
  if (mount(type, place, type, 0, nullptr) != 0 && errno != EBUSY) throw Failure{errno, std::string("mount ") + place};
}

bool there(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

mode_t mode_of(const std::string& path) {
  struct stat status {};
  must(stat(path.c_str(), &status), "stat");
  return status.st_mode & 07777;
}

// A mount of FUSE that nobody serves. Nothing looks into it: who did would wait without end.
class FuseMount {
 public:
  explicit FuseMount(std::string place) : place_(std::move(place)) {
    device_ = Fd(must(open("/dev/fuse", O_RDWR | O_CLOEXEC), "open /dev/fuse"));
    must(mkdir(place_.c_str(), 0755), "mkdir");
    const std::string data = "fd=" + std::to_string(device_.get()) + ",rootmode=40000,user_id=0,group_id=0";
    must(mount("sbpf", place_.c_str(), "fuse", MS_NOSUID | MS_NODEV, data.c_str()), "mount fuse");
  }
  FuseMount(const FuseMount&) = delete;
  FuseMount& operator=(const FuseMount&) = delete;
  ~FuseMount() {
    umount2(place_.c_str(), MNT_DETACH);
    rmdir(place_.c_str());
  }
  // Its number is the minor number of its device.
  std::string connection() const {
    std::ifstream table("/proc/self/mountinfo");
    for (std::string line; std::getline(table, line);) {
      std::istringstream fields(line);
      std::string id, parent, device, root, point;
      fields >> id >> parent >> device >> root >> point;
      if (point == place_) return std::string(kConnections) + "/" + device.substr(device.find(':') + 1);
    }
    throw Failure{ENOENT, "mount of fuse"};
  }
  bool aborted() const {
    pollfd device = {device_.get(), POLLIN, 0};
    return poll(&device, 1, 0) > 0 && device.revents & POLLERR;
  }

 private:
  std::string place_;
  Fd device_;
};

class ControlFiles : public VictimState {
 public:
  explicit ControlFiles(const Scene& scene)
      : modules_((load_modules("configfs netconsole fuse"), true)), fuse_(scene.directory + "/fuse-" + scene.token) {
    mounted("configfs", kConfig);
    mounted("fusectl", kConnections);
    must(mkdir(target().c_str(), 0755), "mkdir in configfs");
  }
  ~ControlFiles() override {
    chmod(kSetting, setting_mode_);
    for (const std::string& each : {target(), made(), instance()}) rmdir(each.c_str());
  }
  Arguments arguments() const override {
    return {{"target", target()},
            {"made", made()},
            {"instance", instance()},
            {"connection", fuse_.connection()},
            {"setting", kSetting}};
  }
  Seen look(const Outcome&, milliseconds) override {
    const bool harmed = !there(target()) || read_file(target() + "/remote_port") != kPort || there(made()) ||
                        there(instance()) || fuse_.aborted() || mode_of(kSetting) != setting_mode_;
    return harmed ? Seen::harm : Seen::nothing;
  }

 private:
  static constexpr const char* kSetting = "/sys/kernel/mm/transparent_hugepage/enabled";
  static constexpr const char* kPort = "6666\n";
  // Where the kernel would log to, by UDP.
  static std::string target() { return std::string(kConfig) + "/netconsole/sbpf-attack"; }
  static std::string made() { return std::string(kConfig) + "/netconsole/sbpf-attack-made"; }
  static std::string instance() { return "/sys/kernel/tracing/instances/sbpf-attack"; }
  bool modules_;
  FuseMount fuse_;
  mode_t setting_mode_ = mode_of(kSetting);
};

}  // namespace

std::unique_ptr<VictimState> make_control_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::control_files) return std::make_unique<ControlFiles>(scene);
  return nullptr;
}

}  // namespace attack::driver
