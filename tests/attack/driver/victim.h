// SPDX-License-Identifier: Apache-2.0
// Victims, as the driver keeps them: set up before the attacker starts, looked at after it reported.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/attack/lib/attack.h"
#include "tests/attack/lib/net.h"

namespace attack::driver {

using Arguments = std::map<std::string, std::string>;
using std::chrono::milliseconds;

// What the attacker reported.
struct Outcome {
  int error = 0;
  pid_t pid = 0;
  std::string served;  // "ADDRESS,PORT", "-" if nothing
  std::string step;
  std::string loot;   // one word of what it read, "-" if nothing
  std::string began;  // the namespace that it began in, of the kind that it attacks: "-" if none
};

// What the victim noticed: nothing; something, a bare connection for instance; or the harm that was meant.
enum class Seen { nothing, something, harm };

// Of the run, for victims that need to know.
struct Scene {
  std::string token;
  std::string directory;    // for files of this run, world-accessible
  std::string cgroup_root;  // mount point of cgroup2; empty if there is none
  std::string program;      // the `attacker` binary
  int uid = 0;              // the attacker's
  std::string secret = {};  // what the attacker is never told
  const Spec* spec = nullptr;
};

class VictimState {
 public:
  VictimState() = default;
  VictimState(const VictimState&) = delete;
  VictimState& operator=(const VictimState&) = delete;
  virtual ~VictimState() = default;

  // Arguments for the attacker.
  virtual Arguments arguments() const { return {}; }
  // The attacker is ready and about to attack.
  virtual void before_attack() {}
  // Waits for harm for as long as `patience`; returns what there was.
  virtual Seen look(const Outcome& outcome, milliseconds patience) = 0;
  // A descriptor to leave open across exec for the attacker; -1 if none.
  virtual int inheritance() const { return -1; }
  // A TCP connection to the victim, or whatever leads to it: to be the attacker's stdin or to be sent to it.
  virtual Fd connection() { return Fd(); }
  // More about the harm, for the report.
  virtual std::string details() const { return {}; }
};

// Harmed or not, nothing between.
class Thing : public VictimState {
 public:
  Seen look(const Outcome& outcome, milliseconds patience) override;

 protected:
  virtual bool harmed(const Outcome& outcome) const = 0;
};

// Sockets that receive: whatever arrives at any of them is searched for the token.
class Receiver : public VictimState {
 public:
  explicit Receiver(std::string token) : token_(std::move(token)) {}
  // What the attacker prepared outside, it did as anyone may.
  void before_attack() override { settle(); }
  Seen look(const Outcome& outcome, milliseconds patience) override;

 protected:
  void listen_at(Fd socket) { listener_ = std::move(socket); }
  void receive_at(Fd socket) { receivers_.push_back({std::move(socket), {}}); }
  // Takes what is there now as given: it is not the attacker's doing.
  void settle();
  const Fd& listener() const { return listener_; }
  const Fd& receiver(std::size_t i) const { return receivers_.at(i).fd; }
  // Does this datagram matter? For sniffers, which see other traffic as well.
  virtual Seen judge(const std::string& data) const;

 private:
  struct Source {
    Fd fd;
    std::string data;
  };
  void drain();
  void drain(Source& source);

  std::string token_;
  Fd listener_;
  std::vector<Source> receivers_;
  Seen seen_ = Seen::nothing;
};

// An address that lo has for as long as the victim lives.
class ExtraAddress {
 public:
  explicit ExtraAddress(const char* address);
  ExtraAddress(const ExtraAddress&) = delete;
  ExtraAddress& operator=(const ExtraAddress&) = delete;
  ~ExtraAddress();

 private:
  const char* address_;
};

std::unique_ptr<VictimState> make_victim(Victim kind, const Scene& scene);
// By file of this directory; nullptr if it is another file's.
std::unique_ptr<VictimState> make_inet_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_local_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_client_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_bystander_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_kernel_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_control_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_machine_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_attacker_victim(Victim kind, const Scene& scene);
std::unique_ptr<VictimState> make_file_victim(Victim kind, const Scene& scene);

// The local port of a socket; a port that is free now.
std::uint16_t port_of(const Fd& fd);
std::uint16_t free_port();
std::string read_file(const std::string& path);
void write_file(const std::string& path, const std::string& text);
void non_blocking(const Fd& fd);

}  // namespace attack::driver
