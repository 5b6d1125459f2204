// SPDX-License-Identifier: Apache-2.0
// A policy as written: YAML -> Policy. Pure: no libbpf, no root, no clock, no environment.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bpf/abi.h"
#include "policy/launch.h"

namespace sbpf::policy {

// One thing wrong with a policy. Prints as "file:line:column: key: message" and, on the next line, "  hint: …".
struct Diagnostic {
  Location where;
  std::string code;  // "unknown_key", "duplicate_key", "bad_port", "host_bits", "unsupported", …
  std::string key;   // dotted path: "network.connect[2].ports"
  std::string message;
  std::string hint;
};

std::string format(const std::vector<Diagnostic>& diagnostics);

enum class Mode { enforce, audit };
enum class OnLoss { freeze, kill, alert };
enum class Protocol { any, tcp, udp };
enum class Loopback {
  host,               // that of the network namespace that the sandbox is started in
  private_namespace,  // its own: `run` gives it a network namespace, with nothing else in it
};

struct PortRange {  // both ends included; host byte order; first <= last
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  auto operator<=>(const PortRange&) const = default;
};

// Is the port in one of the ranges?
bool has_port(const std::vector<PortRange>& ports, std::uint16_t port);

// A 16-byte address, network byte order; v4 as ::ffff:a.b.c.d.
using Address = std::array<std::uint8_t, 16>;

// A proxy on the host's side that gets an entry's connections in place of their destination.
struct Via {
  Address address{};
  std::uint16_t port = 0;  // host byte order
  auto operator<=>(const Via&) const = default;
};

// One entry of network.connect or network.bind.
struct Endpoint {
  Address address{};
  std::uint8_t prefix = 128;  // of the mapped address: 10.0.0.0/8 has 104
  std::vector<PortRange> ports;
  Protocol protocol = Protocol::any;
  Location where;
  std::optional<Via> via = {};  // of connect; then protocol is tcp
};

// One entry of network.connect that goes by name. The sandbox reaches the addresses that its resolver was given for it.
struct HostRule {
  std::string pattern;  // lower case, no dot at its end: "a.example.org", "*.example.org" (one label), "**.example.org"
                        // (any number of labels, but at least one)
  std::vector<PortRange> ports;
  Protocol protocol = Protocol::any;
  Location where;
  std::optional<Via> via = {};  // as Endpoint's
};

// Does the name fall under the pattern? `name` in any case, with or without a dot at its end.
bool host_matches(std::string_view pattern, std::string_view name);

// Is it a name that could be asked for: as parse() takes it for `host`, without a *?
bool is_host_name(std::string_view text);

struct Network;
// Is it a name that nobody has (RFC 6761)? No server is asked for it.
bool is_nobodys(std::string_view name);

// May an answer for one of the policy's names lead there? To public addresses, and to those that network.connect lists.
bool may_lead_to(const Network& network, const Address& address);

// May an answer for a name of another's lead there? Not to private, local, special or metadata addresses, nor to
// addresses that embed one (NAT64, 6to4).
bool is_public(const Address& address);

// One entry of network.unix: a peer outside that the sandbox may talk to.
struct UnixRule {
  std::string peer;  // a socket, or a directory of sockets, as FsRule's path; "@name": an abstract one
  Location where;
  bool abstract() const { return peer[0] == '@'; }
};

// The kernel's tag of a BPF program: it depends only on the program's code, not on who loaded it or how often.
using ProgramTag = std::array<std::uint8_t, 8>;

struct Network {
  bool dangerously_allow_all = false;
  bool dangerously_allow_metadata = false;  // lists, networks and dangerously_allow_all leave these addresses out
  Loopback loopback = Loopback::host;
  bool record_flows = false;  // what is allowed is told as well: an event for each flow
  std::vector<Endpoint> connect;
  std::vector<Endpoint> bind;       // port 0: the kernel picks
  std::vector<HostRule> hosts;      // of connect; sorted
  std::optional<Address> resolver;  // who answers for the hosts; unset: as /etc/resolv.conf says
  std::vector<sbpf_socket_class> dangerously_allow_sockets;  // sorted, unique
  std::vector<UnixRule> unix_peers;                          // sorted by peer (its bytes), each once
  std::vector<ProgramTag> trusted_programs;                  // of others, that may run after sbpf's; sorted, unique
  std::vector<std::string> interfaces;                       // that may be named as the way out; sorted, unique
};

enum class FsAccess {
  read,           // read, list, run
  write,          // read, change, create, delete, rename within
  deny,           // nothing
  protect,        // read; and nobody changes, replaces, renames or creates what bears the name
  private_place,  // write, where the sandbox has another directory there than the host; else nothing
};

struct FsRule {
  std::string path;  // absolute, no "." or "..", no slash at its end; "/" is the root
  FsAccess access = FsAccess::deny;
  Location where;
};

enum class FsDefault { deny, read, write };

// Of process.exec.
struct ExecRule {
  std::string path;  // as FsRule's
  bool allow = false;
  Location where;
  // Lower-case hex: allowed is the one file there now, if these are its contents; "": whatever is there.
  std::string sha256 = {};
};

struct Exec {
  bool allow_listed = false;    // there is `allow` or `sha256`: what no rule covers is denied. Without: it is allowed
  bool deny_writable = false;   // nothing that the filesystem rules let the sandbox write is run
  std::vector<ExecRule> rules;  // sorted by path (its bytes), one per path

  // Are programs judged at all?
  bool judged() const { return allow_listed || deny_writable || !rules.empty(); }
};

struct Filesystem {
  bool requested = false;  // the policy has the section; without it files are not judged
  bool dangerously_allow_all = false;
  FsDefault fallback = FsDefault::deny;  // `default`: what no rule covers
  std::vector<FsRule> rules;             // sorted by path (its bytes), one per path

  // Are files judged at all?
  bool judged() const { return requested && !dangerously_allow_all; }
};

struct Env {
  std::vector<std::string> allow;  // names taken over from the caller's environment, when set there
  std::map<std::string, std::string> set;
};

// Variables that make the loader, libc or a shell load or run what they name (LD_*, GCONV_PATH, BASH_ENV…): a policy
// hands them over by their names, never by a prefix.
bool env_by_name_only(std::string_view name);

struct Limits {
  std::optional<std::uint64_t> processes;
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint32_t> cpu_millis;  // 1500 is one and a half CPUs
  std::optional<std::chrono::milliseconds> timeout;
  // Of each process, as setrlimit(2) counts; set by `run` only.
  std::optional<std::uint64_t> open_files, file_size, core, stack, locked_memory;
};

// Of process.kernel; lists are sorted and unique.
struct KernelAccess {
  std::vector<sbpf_kernel_interface> allow;                  // of those that are closed otherwise: closed_by_default()
  std::vector<sbpf_kernel_interface> deny;                   // of the others
  std::vector<std::uint8_t> dangerously_allow_capabilities;  // numbers, of those refused over the host otherwise
};

// A secret that `run` hands to the program beside its environment. A policy says where the secret comes from, and never
// holds it.
struct Secret {
  enum class Source { file, credential, standard_input };
  enum class Form { file, fd };
  std::string name;  // as of a variable: the program finds NAME_FILE, or NAME_FD, in its environment
  Source source = Source::file;
  std::string from;  // of file: an absolute path; of credential: a name in $CREDENTIALS_DIRECTORY
  Form form = Form::file;
  Location where;
};
// Where files of secrets are, in the sandbox's own mount namespace.
inline constexpr std::string_view kSecretsDirectory = "/run/sbpf/secrets";

struct Policy {
  std::string name;
  Mode mode = Mode::enforce;
  OnLoss on_loss = OnLoss::freeze;
  Network network;
  Filesystem filesystem;
  Exec exec;  // of process.exec
  Env env;    // of process.env; parse() defaults to HOME, LANG, PATH, TERM
  Limits limits;
  KernelAccess kernel;
  Launch launch;
  std::vector<Secret> secrets;  // sorted by name. With filesystem rules and a secret as a file, one of the rules is
                                // `read: /run/sbpf/secrets`, whether it was written or not
};

// Gives the text of a profile for `extends`; nullopt if there is none of that name. A name that begins with /, ./ or
// ../ is a file's, relative to the directory of the file that parse() reads.
using ProfileSource = std::function<std::optional<std::string>(std::string_view name)>;

// The profiles that ship with sbpf, compiled in (policy/profiles/*.yaml).
std::optional<std::string> built_in_profile(std::string_view name);
std::vector<std::string> built_in_profile_names();

// What a policy's text may have: also a canonical one, or it could not be read back.
inline constexpr std::size_t kMaxTextBytes = 1u << 20;

// Parses one policy and merges what it extends (in order, the policy itself last). All errors are found in one pass.
// `file` is for diagnostics only.
tl::expected<Policy, std::vector<Diagnostic>> parse(std::string_view text, std::string_view file,
                                                    const ProfileSource& profiles);

// The one spelling of a policy: YAML with sorted, merged, explicit content. parse(canonical(p)) == p up to locations,
// canonical(parse(canonical(p))) == canonical(p).
std::string canonical(const Policy& policy);

// SHA-256 of the canonical text.
std::array<std::uint8_t, 32> sha256(const Policy& policy);
std::string hex(std::span<const std::uint8_t> bytes);

// JSON Schema (draft 2020-12) of a policy file, for editors.
std::string json_schema();

// The text of "default" or "strict", the OCI seccomp profiles that ship with sbpf; nullopt of any other name.
std::optional<std::string> built_in_seccomp(std::string_view name);

// Prints a mapped address as people write it: v4 dotted, v6 compressed. `parse_address` reads both.
std::string to_string(const Address& address);
std::optional<Address> parse_address(std::string_view text);
// Of 4 bytes in network byte order the mapped address, of 16 the address itself.
Address address_from(const void* bytes, std::size_t size);
std::string escaped_path(std::string_view path);              // as a policy writes it: with \ before * ? [ ]
std::string memory_text(std::uint64_t bytes);                 // "512MiB", in the largest unit that divides it
std::string_view to_string(sbpf_socket_class c);              // "raw", "packet", …
std::string_view to_string(sbpf_kernel_interface interface);  // "perf", "user_namespaces", …
bool closed_by_default(sbpf_kernel_interface interface);
std::string_view to_string(Mode mode);
std::string_view to_string(OnLoss on_loss);
std::string_view to_string(Protocol protocol);
std::string_view to_string(Loopback loopback);  // "host", "private"
std::string_view to_string(FsAccess access);    // "read", "write", "deny", "protect", "private"
std::string_view to_string(FsDefault fallback);
std::string_view to_string(Secret::Form form);

}  // namespace sbpf::policy
