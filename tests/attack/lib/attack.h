// SPDX-License-Identifier: Apache-2.0
// What an attack is: a specification, read by the driver, and a body, run by the attacker's process. A body that
// returns got through; one that throws Failure was stopped, with the errno of the step that stopped it.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace attack {

using sbpf::Fd;

// Who would be hurt. The driver sets it up, tells the attacker where it is, and looks at it afterwards; except for
// `claim`, what the attacker says about itself is never believed.
enum class Victim {
  claim,  // nobody outside can see the harm, and `claims` says why: the successful system call is the harm
  tcp4,
  tcp6,  // listener on 127.0.0.1 / ::1
  udp4,
  udp6,     // on 127.0.0.1 / ::1
  udp_any,  // on 0.0.0.0, member of 239.255.83.66 on lo
  metadata4,
  metadata6,  // listener on 169.254.169.254 / fd00:ec2::254, on lo
  udplite4,
  sctp4,       // one-to-one listener on 127.0.0.1
  sctp4_many,  // one-to-many on 127.0.0.1
  mptcp4,
  smc4,
  icmp4,
  icmp6,  // echo requests on the wire
  wire4,
  wire6,       // packets on lo to 127.0.83.66 / fd53:4250::2, where nobody listens
  other_wire,  // packets on a network interface of its own, sbpfother, to wherever; reports of multicast groups, too
  other_tap,   // the same; its interface has a macvtap device and an ipvtap device on top (arguments macvtap, ipvtap:
               // their nodes)
  own_tun,     // a UDP server behind the persistent tun device sbpfother, which is the attacker's
  vsock,
  netlink_user,   // an outside process's NETLINK_USERSOCK
  netlink_route,  // an outside process's NETLINK_ROUTE socket
  unix_stream,
  unix_stream_abstract,
  unix_dgram,
  unix_dgram_abstract,
  unix_seqpacket,
  client_tcp4,
  client_tcp6,
  client_udp4,  // an outside client that is served by the attacker, where it must not listen
  far_client_tcp4,
  far_client_udp4,     // the same, by an address of the machine that is not loopback
  client_tcp4_shared,  // the same, of a server that shares its port by SO_REUSEPORT
  client_udp4_shared,  // the same, by SO_REUSEADDR
  client_sctp4,
  early_client_tcp4,         // the same client, connected before the attacker joins its sandbox
  early_client_unix,         // the same, of an AF_UNIX server of the attacker's
  bystander_memory,          // memory of an outside process
  bystander_life,            // an outside process
  bystander_stop,            // the same, that must not be stopped
  bystander_resume,          // the same, stopped, that must not go on
  bystander_settings,        // its priorities, scheduling and limits
  bystander_trace,           // it must get no tracer
  bystander_namespaces,      // it has namespaces of its own, which the attacker must not join
  bystander_memory_secret,   // a secret is in its memory, and in the name and contents of its root directory
  bystander_program_secret,  // a secret is in its program, arguments, environment and open files
  bystander_terminal,      // it has a pseudo-terminal of its own, where a secret was typed, and nobody else is to write
  bystander_new_terminal,  // the same, which no session has yet
  bystander_socket,        // an outside process's connection, to tcp4
  diag_connection,         // an outside process's connection, to be cut
  tracer,                  // an outside process becomes the attacker's tracer
  other_cgroup,            // the attacker's own cgroup must not change
  bpf_map,
  bpf_link,
  bpf_pin,
  mount_bpffs,   // the mount on /sys/fs/bpf, in the attacker's mount namespace
  mount_cgroup,  // the mount of cgroup2
  mount_sysfs,
  mount_securityfs,
  lo_address,          // 192.0.2.83 on lo
  interface,           // a network interface named sbpfattack0
  core_pattern,        // the host's core dump program, to be run outside
  net_sysctl,          // a value under /proc/sys/net
  control_files,       // of configfs, tracefs, FUSE and sysfs, by which the kernel is driven
  machine,             // its clock, names, console, swap space, accounting, and the module that is to stay unloaded
  kernel_log,          // a secret is in its last line
  attacker_file,       // the attacker holds an open file that others see as `shows`
  attacker_socket,     // it has a socket of the family, type and protocol `shows`
  attacker_option,     // it has a socket whose option, of the level and number, has the value: `shows`
  attacker_namespace,  // the attacker's namespace of the kind `shows` is not the one that it began in
  attacker_settings,   // the attacker has a better priority, scheduling, limit or protection than the host gives anyone
  files,               // a scene of files (tests/attack/lib/files.h)
};

enum class Launch {
  run,             // `sbpf run -- attacker`
  run_child,       // the same; the driver puts the attacker into a child cgroup of the sandbox's before it attacks
  attach,          // the attacker prepares outside, then moves into a cgroup and `sbpf attach --keep-open-sockets`
  attach_refused,  // as attach, but without --keep-open-sockets: denied means that sbpf refuses, exit code 125
  attach_inside_refused,  // the same, for an attacker that was in that cgroup all along
  attach_inside,          // as attach, for an attacker that was in that cgroup all along
  run_refused,            // as run; denied means that sbpf refuses to start the attacker, exit code 125
};

enum class Stdin {
  pipe,
  unix_stream,  // the operator handed over an AF_UNIX stream socket
  unix_dgram,   // or a datagram one
  tcp4,         // a TCP connection to the victim
  file,         // a file of the victim's
};

// Policies: what stands below `network:`. {port} is the victim's, {decoy} an endpoint that every policy allows.
inline constexpr const char* kDenyDefault = "connect: [{address: 127.0.0.1, ports: [{decoy}]}]";
inline constexpr const char* kDenyBesideRaw =
    "dangerously_allow_sockets: [raw]\n  connect: [{address: 127.0.0.1, ports: [{decoy}]}]";
inline constexpr const char* kAllowAll = "dangerously_allow_all: true";
// Networks around the metadata services of clouds, without and with leave to reach these.
inline constexpr const char* kAllOf4 = "connect: [{cidr: 0.0.0.0/0, ports: [1-65535]}]";
inline constexpr const char* kAllowAllOf4 =
    "connect: [{cidr: 0.0.0.0/0, ports: [1-65535]}]\n  dangerously_allow_metadata: true";
inline constexpr const char* kAllOf6 = "connect: [{cidr: \"fd00::/8\", ports: [1-65535]}]";
inline constexpr const char* kAllowAllOf6 =
    "connect: [{cidr: \"fd00::/8\", ports: [1-65535]}]\n  dangerously_allow_metadata: true";
inline constexpr const char* kAllowTcp4 = "connect: [{address: 127.0.0.1, ports: [{decoy}, {port}], protocol: tcp}]";
inline constexpr const char* kAllowTcp6 = "connect: [{address: \"::1\", ports: [{port}], protocol: tcp}]";
inline constexpr const char* kAllowUdp4 = "connect: [{address: 127.0.0.1, ports: [{decoy}, {port}], protocol: udp}]";
inline constexpr const char* kAllowUdp6 = "connect: [{address: \"::1\", ports: [{port}], protocol: udp}]";
inline constexpr const char* kAllowBindTcp4 = "bind: [{address: 127.0.0.1, ports: [{port}], protocol: tcp}]";
// A server answers to where it was asked from: a UDP one needs that allowed as well.
inline constexpr const char* kAllowBindUdp4 =
    "bind: [{address: 127.0.0.1, ports: [{port}], protocol: udp}]\n"
    "  connect: [{address: 127.0.0.1, ports: [1-65535], protocol: udp}]";
// What a bind to the wildcard becomes by neither of these.
inline constexpr const char* kBindElsewhere =
    "bind: [{address: 127.0.0.2, ports: [{port}]}, {address: 127.0.0.1, ports: [{decoy}]}]";
inline constexpr const char* kAllowMptcp4 =
    "dangerously_allow_sockets: [mptcp]\n  connect: [{address: 127.0.0.1, ports: [{port}], protocol: tcp}]";
inline constexpr const char* kAllowUdplite4 =
    "dangerously_allow_sockets: [udplite]\n  connect: [{address: 127.0.0.1, ports: [{port}], protocol: udp}]";
inline constexpr const char* kAllowSmc4 =
    "dangerously_allow_sockets: [smc]\n  connect: [{address: 127.0.0.1, ports: [{port}], protocol: tcp}]";
// The way out of the sandbox is not the policy's to open: with `mode: audit` the attack must succeed.
inline constexpr const char* kAudit = "audit";
// Closed whatever the policy, audit mode included: under dangerously_allow_all it must be refused just the same.
inline constexpr const char* kNever = "never";

// Errnos of a control run that mean that the running kernel lacks the feature; anything else is a failed test.
struct Lacking {
  int error[3] = {0, 0, 0};
  bool any() const { return error[0] != 0; }
  bool has(int e) const { return e != 0 && (error[0] == e || error[1] == e || error[2] == e); }
};

struct FileSpec;
struct ProcessSpec;

struct Spec {
  Victim victim = Victim::claim;
  const char* allow = kAllowAll;
  const char* deny = kDenyDefault;
  int expected = EPERM;  // errno of the denied run…
  const char* at = "";   // …and the step that must give it
  Launch launch = Launch::run;
  Stdin input = Stdin::pipe;
  bool root = false;           // needs root; left out with --uid
  bool may_need_root = false;  // needs root on newer kernels: with --uid, EPERM in the control skips it
  bool machine_wide = false;   // its control changes the machine for everyone; left out with --on-host
  const char* modules = "";    // to be loaded before the control, if the kernel has them as modules
  Lacking lacking = {};
  bool gap_before_6_5 = false;      // a known gap of kernels before 6.5: there, attach must refuse the open socket
  const char* claims = nullptr;     // why nobody outside can see the harm, whoever the victim is
  const char* shows = "";           // of the attacker, for victims that are named for it
  const char* told = "";            // what `sbpf run` must say of the refusal, where another hook gives the same errno
  int or_expected = 0;              // another errno that is just as right, where two hooks see the step
  bool harmless = false;            // no attack: it must get through in all three runs, and do no harm
  const FileSpec* files = nullptr;  // set for the attacks on files and programs
  const ProcessSpec* process = nullptr;  // set for the attacks on the kernel and on other processes
  const char* domain = "network";        // the folder
};

class Context {
 public:
  explicit Context(std::map<std::string, std::string> arguments);

  std::string token;        // what the victim must never see
  std::uint16_t port = 0;   // the victim's, 0 if it has none
  std::uint16_t decoy = 0;  // TCP and UDP on 127.0.0.1, allowed by every policy
  bool denied = false;      // this is the denied run

  // Further arguments from the driver; throws if missing.
  const std::string& text(const std::string& key) const;
  long number(const std::string& key) const;
  const std::map<std::string, std::string>& arguments() const { return arguments_; }

  // "What I have, I have from outside." Returns inside the sandbox (in the control run: at once).
  void join() const;

  // After a body that returned: answer whoever connects or sends to this socket with the token.
  void serve(Fd socket) { serve_ = std::move(socket); }
  const Fd& served() const { return serve_; }

  // Kept open until the driver has looked at the victim.
  void keep(Fd fd) { kept_.push_back(std::move(fd)); }

  // What was read where nothing may be read: goes to the driver, which knows the secret that the attacker does not.
  // Works in children and threads as well.
  void loot(std::string_view text) const;
  std::string loot() const;

 private:
  std::map<std::string, std::string> arguments_;
  Fd serve_;
  std::vector<Fd> kept_;
  char* loot_;  // shared with children
};

// An attack that was stopped.
struct Failure {
  int error;
  std::string step;
};

// rc of a system call, as a step of the attack.
template <typename T>
T must(T rc, const char* step) {
  if (rc < 0) throw Failure{errno, step};
  return rc;
}

using Body = void (*)(Context&);

struct Attack {
  const char* name;
  Spec spec;
  Body body;

  // The folder and NAME.
  std::string full_name() const { return std::string(spec.domain) + "/" + name; }
};

// All attacks, sorted by name.
const std::vector<Attack>& attacks();
const Attack* find(const std::string& name);

class Registration {
 public:
  Registration(const char* name, const Spec& spec, Body body);
};

// ATTACK(name_of_what_is_refused, {.victim = …}) { body }
#define ATTACK(name, ...)                                                                          \
  static void name([[maybe_unused]] attack::Context& ctx);                                         \
  static const attack::Registration registration_of_##name{#name, attack::Spec __VA_ARGS__, name}; \
  static void name([[maybe_unused]] attack::Context& ctx)

}  // namespace attack
