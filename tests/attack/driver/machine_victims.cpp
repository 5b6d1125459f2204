// SPDX-License-Identifier: Apache-2.0
// What all processes of the machine share, and nobody but its administrator is to set.
#include <fcntl.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "tests/attack/driver/victim.h"
#include "tests/attack/lib/process_attack.h"

namespace attack::driver {

namespace {

constexpr const char* kConsoleLevel = "/proc/sys/kernel/printk";
constexpr const char* kRebootByKeys = "/proc/sys/kernel/ctrl-alt-del";

struct timezone time_zone() {
  struct timezone zone {};
  syscall(SYS_gettimeofday, nullptr, &zone);  // the C library says nothing of the zone
  return zone;
}

// Seconds from the boot to the epoch: another number when the clock was set.
time_t clock_offset() {
  timespec real{}, since_boot{};
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_BOOTTIME, &since_boot);
  return real.tv_sec - since_boot.tv_sec;
}

long frequency() {
  timex clock{};
  adjtimex(&clock);
  return clock.freq;
}

// Which others can set of the machine, and back.
struct Settings {
  utsname names = {};
  struct timezone zone = time_zone();
  time_t offset = clock_offset();
  long clock_frequency = frequency();
  std::string console_level = read_file(kConsoleLevel), reboot_by_keys = read_file(kRebootByKeys);

  Settings() { uname(&names); }
  bool operator==(const Settings& other) const {
    return std::string(names.nodename) == other.names.nodename &&
           std::string(names.domainname) == other.names.domainname &&
           zone.tz_minuteswest == other.zone.tz_minuteswest && std::abs(offset - other.offset) < 60 &&
           clock_frequency == other.clock_frequency && console_level == other.console_level &&
           reboot_by_keys == other.reboot_by_keys;
  }
  void restore() const {
    must(sethostname(names.nodename, std::string(names.nodename).size()), "sethostname");
    must(setdomainname(names.domainname, std::string(names.domainname).size()), "setdomainname");
    must(syscall(SYS_settimeofday, nullptr, &zone), "settimeofday");
    timespec now{};
    clock_gettime(CLOCK_BOOTTIME, &now);
    now.tv_sec += offset;
    must(clock_settime(CLOCK_REALTIME, &now), "clock_settime");
    timex clock{};
    clock.modes = ADJ_FREQUENCY;
    clock.freq = clock_frequency;
    must(adjtimex(&clock), "adjtimex");
    write_file(kConsoleLevel, console_level);
    write_file(kRebootByKeys, reboot_by_keys);
  }
};

class Machine : public Thing {
 public:
  explicit Machine(const Scene& scene)
      : swap_("/var/tmp/sbpf-swap-" + scene.token), accounting_("/var/tmp/sbpf-accounting-" + scene.token) {
    if (scene.spec->process) module_ = scene.spec->process->unload;
  }
  ~Machine() override {
    if (!(Settings() == before_)) before_.restore();
    swapoff(swap_.c_str());
    if (is_accounted()) acct(nullptr);
    unlink(swap_.c_str());
    unlink(accounting_.c_str());
  }
  Arguments arguments() const override { return {{"swap", swap_}, {"accounting", accounting_}}; }

 private:
  bool harmed(const Outcome&) const override {
    return !(Settings() == before_) || read_file("/proc/swaps").find(swap_) != std::string::npos || is_accounted() ||
           (!module_.empty() && ("\n" + read_file("/proc/modules")).find("\n" + module_ + " ") != std::string::npos);
  }
  // The end of any process is written down.
  bool is_accounted() const {
    if (access(accounting_.c_str(), F_OK) != 0) return false;
    const pid_t child = must(fork(), "fork");
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    return !read_file(accounting_).empty();
  }

  Settings before_;
  std::string swap_, accounting_, module_;  // on a disk, as neither works elsewhere
};

class KernelLog : public Thing {
 public:
  explicit KernelLog(const Scene& scene) : secret_(scene.secret) {
    write_file("/dev/kmsg", "sbpf-attack " + secret_ + "\n");
  }

 private:
  bool harmed(const Outcome& outcome) const override { return outcome.loot.find(secret_) != std::string::npos; }
  std::string secret_;
};

}  // namespace

std::unique_ptr<VictimState> make_machine_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::machine) return std::make_unique<Machine>(scene);
  if (kind == Victim::kernel_log) return std::make_unique<KernelLog>(scene);
  return nullptr;
}

}  // namespace attack::driver
