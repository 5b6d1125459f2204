// SPDX-License-Identifier: Apache-2.0
// No victim but the attacker itself: what it has got, as others see it.
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "tests/attack/driver/victim.h"

namespace attack::driver {

namespace {

std::string place(const Outcome& outcome, const std::string& file) {
  return "/proc/" + std::to_string(outcome.pid) + "/" + file;
}

std::string link_at(const std::string& path) {
  std::error_code none;
  return std::filesystem::read_symlink(path, none).string();
}

class AttackerFile : public Thing {
 public:
  explicit AttackerFile(const Scene& scene) : shows_(scene.spec->shows) {}

 private:
  bool harmed(const Outcome& outcome) const override {
    std::error_code none;
    for (const auto& file : std::filesystem::directory_iterator(place(outcome, "fd"), none))
      if (link_at(file.path()).find(shows_) != std::string::npos) return true;
    return false;
  }
  std::string shows_;
};

// A copy of each socket that it has.
std::vector<Fd> sockets_of(const Outcome& outcome) {
  std::vector<Fd> all;
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, outcome.pid, 0)));
  std::error_code none;
  for (const auto& file : std::filesystem::directory_iterator(place(outcome, "fd"), none)) {
    if (!link_at(file.path()).starts_with("socket:")) continue;
    const int number = std::stoi(file.path().filename());
    if (Fd socket(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), number, 0))); socket)
      all.push_back(std::move(socket));
  }
  return all;
}

int option(const Fd& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  getsockopt(socket.get(), level, name, &value, &size);
  return value;
}

class AttackerSocket : public Thing {
 public:
  explicit AttackerSocket(const Scene& scene) {
    std::istringstream(scene.spec->shows) >> family_ >> type_ >> protocol_;
  }

 private:
  bool harmed(const Outcome& outcome) const override {
    return std::ranges::any_of(sockets_of(outcome), [this](const Fd& its) {
      return option(its, SOL_SOCKET, SO_DOMAIN) == family_ && option(its, SOL_SOCKET, SO_TYPE) == type_ &&
             option(its, SOL_SOCKET, SO_PROTOCOL) == protocol_;
    });
  }
  int family_ = 0, type_ = 0, protocol_ = 0;
};

class AttackerOption : public Thing {
 public:
  explicit AttackerOption(const Scene& scene) { std::istringstream(scene.spec->shows) >> level_ >> name_ >> value_; }

 private:
  bool harmed(const Outcome& outcome) const override {
    return std::ranges::any_of(sockets_of(outcome),
                               [this](const Fd& its) { return option(its, level_, name_) == value_; });
  }
  int level_ = 0, name_ = 0, value_ = 0;
};

class AttackerNamespace : public Thing {
 public:
  explicit AttackerNamespace(const Scene& scene) : kind_(std::string("ns/") + scene.spec->shows) {}

 private:
  bool harmed(const Outcome& outcome) const override {
    const std::string its = link_at(place(outcome, kind_));
    return !its.empty() && its != outcome.began;  // not the host's: `run` may have given it one of its own
  }
  std::string kind_;
};

class AttackerSettings : public Thing {
  bool harmed(const Outcome& outcome) const override {
    constexpr int kClassOfIo = 13, kRealtimeIo = 1;  // linux/ioprio.h: the class is above these bits
    if (outcome.pid <= 0) return false;
    rlimit its{}, ours{};
    prlimit(outcome.pid, RLIMIT_MSGQUEUE, nullptr, &its);
    getrlimit(RLIMIT_MSGQUEUE, &ours);
    const std::string protection = read_file(place(outcome, "oom_score_adj"));
    return getpriority(PRIO_PROCESS, static_cast<id_t>(outcome.pid)) < 0 ||
           sched_getscheduler(outcome.pid) == SCHED_FIFO ||
           syscall(SYS_ioprio_get, 1, outcome.pid) >> kClassOfIo == kRealtimeIo || its.rlim_max > ours.rlim_max ||
           (!protection.empty() && protection.front() == '-');
  }
};

}  // namespace

std::unique_ptr<VictimState> make_attacker_victim(Victim kind, const Scene& scene) {
  if (kind == Victim::attacker_file) return std::make_unique<AttackerFile>(scene);
  if (kind == Victim::attacker_socket) return std::make_unique<AttackerSocket>(scene);
  if (kind == Victim::attacker_option) return std::make_unique<AttackerOption>(scene);
  if (kind == Victim::attacker_namespace) return std::make_unique<AttackerNamespace>(scene);
  if (kind == Victim::attacker_settings) return std::make_unique<AttackerSettings>();
  return nullptr;
}

}  // namespace attack::driver
