// SPDX-License-Identifier: Apache-2.0
// A process of the outside that does nothing: it has memory, a life, and a connection to a server.
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "tests/attack/driver/victim.h"
#include "tests/attack/lib/process.h"

namespace attack::driver {

namespace {

constexpr int kConnection = 50;   // the bystander's descriptor of its connection
constexpr int kSecretFile = 51;   // and of a file that is named for the secret
constexpr int kInheritance = 33;  // the driver's copy, left open across exec
constexpr std::size_t kMemory = 4096;
constexpr std::size_t kNameOfProcess = 15;  // as much of the secret as the kernel keeps of a process's name

std::string proc_link(pid_t pid, const char* name) {
  char target[256];
  const auto got = readlink(("/proc/" + std::to_string(pid) + "/" + name).c_str(), target, sizeof target);
  return got > 0 ? std::string(target, static_cast<std::size_t>(got)) : "";
}

class Bystander : public Receiver {
 public:
  Bystander(const Scene& scene, Victim kind)
      : Receiver(scene.token),
        kind_(kind),
        token_(scene.token),
        secret_(scene.secret),
        directory_(scene.directory + "/" + scene.secret) {
    if (kind_ == Victim::bystander_memory_secret || kind_ == Victim::bystander_program_secret) make_secrets();
    Fd listener = open_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);
    bind_to(listener, v4("127.0.0.1", 0));
    listen_on(listener);
    port_ = port_of(listener);
    connection_ = open_socket(AF_INET, SOCK_STREAM);
    connect_to(connection_, v4("127.0.0.1", port_));
    // A connection is the client's before it is the listener's: on a busy machine by some milliseconds.
    pollfd arrived{listener.get(), POLLIN, 0};
    must(poll(&arrived, 1, 10000), "poll");
    server_side_ = Fd(must(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept"));
    memory_ = static_cast<char*>(mmap(nullptr, kMemory, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED) throw Failure{errno, "mmap"};
    if (kind_ == Victim::bystander_memory_secret) std::memcpy(memory_, secret_.data(), secret_.size());
    if (has_terminal()) make_terminal(scene.uid);
    int ready[2];
    must(pipe2(ready, O_CLOEXEC), "pipe");
    pid_ = must(fork(), "fork");
    if (pid_ == 0) idle(scene.uid, connection_.get(), ready[1]);
    close(ready[1]);
    char nothing = 0;
    if (read(ready[0], &nothing, 1) != 0) throw Failure{EIO, "bystander"};  // it has closed all, the pipe as well
    close(ready[0]);
    settings_ = settings();
    if (has_terminal()) {
      const std::string typed = secret_ + "\n";
      must(write(terminal_.get(), typed.data(), typed.size()), "write");
    }
    if (kind_ == Victim::bystander_resume) {
      must(kill(pid_, SIGSTOP), "kill");
      siginfo_t info{};
      must(waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED), "waitid");
    }
    if (kind_ == Victim::bystander_socket) {
      must(dup2(connection_.get(), kInheritance), "dup2");
      receive_at(Fd(must(dup(server_side_.get()), "dup")));
    }
    listen_at(std::move(listener));
  }
  ~Bystander() override {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(memory_, kMemory);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
    if (kind_ == Victim::bystander_socket) close(kInheritance);
  }

  Arguments arguments() const override {
    return {{"port", std::to_string(port_)},
            {"bystander", std::to_string(pid_)},
            {"bystander_fd", std::to_string(kConnection)},
            {"bystander_file", std::to_string(kSecretFile)},
            {"bystander_port", std::to_string(port_of(connection_))},
            {"bystander_memory", std::to_string(reinterpret_cast<std::uintptr_t>(memory_))},
            {"terminal", terminal_name_},
            {"inherited_fd", std::to_string(kInheritance)}};
  }
  int inheritance() const override { return kind_ == Victim::bystander_socket ? kInheritance : -1; }
  // What is handed to the attacker: where its memory or its program is the victim, a file of it.
  Fd connection() override {
    if (kind_ == Victim::bystander_memory) return open_file("/proc/" + std::to_string(pid_) + "/mem", O_RDWR);
    if (kind_ == Victim::bystander_program_secret)
      return open_file("/proc/" + std::to_string(pid_) + "/environ", O_RDONLY);
    return Fd(must(dup(connection_.get()), "dup"));
  }

  Seen look(const Outcome& outcome, milliseconds patience) override {
    if (kind_ == Victim::bystander_socket) return Receiver::look(outcome, patience);
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (!harmed(outcome)) {
      if (std::chrono::steady_clock::now() >= deadline) return Seen::nothing;
      usleep(2000);
    }
    return Seen::harm;
  }

 private:
  // A directory that is named for the secret, with a file and a program of that name; it may be a root directory.
  void make_secrets() const {
    namespace fs = std::filesystem;
    fs::create_directories(directory_ + "/etc");
    write_file(directory_ + "/etc/passwd", secret_);
    fs::copy_file("/bin/sleep", program());
    std::ofstream(program(), std::ios::app | std::ios::binary) << secret_ << std::flush;
    for (const std::string& path : {directory_, directory_ + "/etc", program()})
      must(chmod(path.c_str(), 0755), "chmod");
  }
  bool has_terminal() const { return kind_ == Victim::bystander_terminal || kind_ == Victim::bystander_new_terminal; }

  // Whoever has the attacker's user id may open it, and what is typed does not come back on the screen.
  void make_terminal(int uid) {
    std::tie(terminal_, terminal_name_) = new_terminal();
    must(fcntl(terminal_.get(), F_SETFL, O_NONBLOCK), "fcntl");
    must(chown(terminal_name_.c_str(), static_cast<uid_t>(uid), static_cast<gid_t>(-1)), "chown");
    termios settings{};
    must(tcgetattr(terminal_.get(), &settings), "tcgetattr");
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    must(tcsetattr(terminal_.get(), TCSANOW, &settings), "tcsetattr");
  }
  std::string program() const { return directory_ + "/" + secret_; }

  // The end of the pipe that is closed when it is ready.
  [[noreturn]] void idle(int uid, int connection, int ready) const {
    const auto id = static_cast<uid_t>(uid);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(connection, kConnection);
    for (int fd = 3; fd < 1024; fd++)
      if (fd != kConnection && fd != ready) close(fd);
    if (kind_ == Victim::bystander_namespaces && unshare(CLONE_NEWUTS | CLONE_NEWIPC) != 0) _exit(1);
    if (kind_ == Victim::bystander_memory_secret && (chroot(directory_.c_str()) != 0 || chdir("/") != 0)) _exit(1);
    if (kind_ == Victim::bystander_program_secret) {
      const int file = open(program().c_str(), O_RDONLY);
      if (file < 0 || dup2(file, kSecretFile) != kSecretFile || close(file) != 0) _exit(1);
    }
    if (uid != 0 && (setresgid(id, id, id) != 0 || setresuid(id, id, id) != 0)) _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    if (kind_ == Victim::bystander_terminal && setsid() < 0) _exit(1);
    // The first terminal that the leader of a session opens becomes that session's.
    if (has_terminal() &&
        open(terminal_name_.c_str(), O_RDWR | (kind_ == Victim::bystander_terminal ? 0 : O_NOCTTY)) < 0)
      _exit(1);
    if (kind_ == Victim::bystander_program_secret) run_program();
    close(ready);
    for (;;) pause();
  }

  [[noreturn]] void run_program() const {
    const std::string path = program(), variable = "SECRET=" + secret_;
    char* const arguments[] = {const_cast<char*>(secret_.c_str()), const_cast<char*>("infinity"), nullptr};
    char* const environment[] = {const_cast<char*>(variable.c_str()), nullptr};
    execve(path.c_str(), arguments, environment);
    _exit(1);
  }

  // What others can set of a process.
  std::string settings() const {
    rlimit core{};
    prlimit(pid_, RLIMIT_CORE, nullptr, &core);
    return std::to_string(getpriority(PRIO_PROCESS, static_cast<id_t>(pid_))) + " " +
           std::to_string(sched_getscheduler(pid_)) + " " + std::to_string(syscall(SYS_ioprio_get, 1, pid_)) + " " +
           std::to_string(core.rlim_cur) + " " + std::to_string(core.rlim_max);
  }

  bool harmed(const Outcome& outcome) const {
    if (kind_ == Victim::bystander_memory_secret || kind_ == Victim::bystander_program_secret)
      return outcome.loot.find(secret_.substr(0, kNameOfProcess)) != std::string::npos;
    if (has_terminal()) return outcome.loot.find(secret_) != std::string::npos || is_on_screen();
    if (kind_ == Victim::bystander_settings) return settings() != settings_;
    if (kind_ == Victim::bystander_trace)
      return read_file("/proc/" + std::to_string(pid_) + "/status").find("TracerPid:\t0\n") == std::string::npos;
    if (kind_ == Victim::bystander_namespaces)
      return outcome.pid > 0 && proc_link(outcome.pid, "ns/uts") == proc_link(pid_, "ns/uts");
    if (kind_ == Victim::bystander_memory) return std::memcmp(memory_, token_.data(), 8) == 0;
    if (kind_ == Victim::bystander_life) return became(WEXITED);
    if (kind_ == Victim::bystander_stop) return became(WSTOPPED);
    if (kind_ == Victim::bystander_resume) return became(WCONTINUED);
    char byte = 0;  // its connection: reset or ended
    const ssize_t got = recv(server_side_.get(), &byte, 1, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN);
  }

  bool is_on_screen() const {
    char shown[256];
    const ssize_t got = read(terminal_.get(), shown, sizeof shown);
    return got > 0 && std::string_view(shown, static_cast<std::size_t>(got)).find(token_) != std::string_view::npos;
  }

  bool became(int state) const {
    siginfo_t info{};
    return waitid(P_PID, static_cast<id_t>(pid_), &info, state | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
  }

  Victim kind_;
  std::string token_, secret_, directory_, settings_, terminal_name_;
  Fd connection_, server_side_, terminal_;
  std::uint16_t port_ = 0;
  char* memory_ = nullptr;
  pid_t pid_ = -1;
};

}  // namespace

std::unique_ptr<VictimState> make_bystander_victim(Victim kind, const Scene& scene) {
  if ((kind >= Victim::bystander_memory && kind <= Victim::bystander_socket) || kind == Victim::diag_connection)
    return std::make_unique<Bystander>(scene, kind);
  return nullptr;
}

}  // namespace attack::driver
