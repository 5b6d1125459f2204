// SPDX-License-Identifier: Apache-2.0
#include "policy/keys.h"

#include <algorithm>

#include "policy/key_rows.h"

namespace sbpf::policy::internal {
namespace {

void read_exec_allow(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  read_exec_paths(node, where, true, reader, draft);
}
void read_exec_deny(const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  read_exec_paths(node, where, false, reader, draft);
}
bool is_exec_allow(const ExecRule& rule) { return rule.allow && rule.sha256.empty(); }
bool is_exec_sha256(const ExecRule& rule) { return !rule.sha256.empty(); }
bool is_exec_deny(const ExecRule& rule) { return !rule.allow; }

void append_connect(Draft& base, Draft& later) {
  append<&Policy::network, &Network::connect>(base, later);
  append<&Policy::network, &Network::hosts>(base, later);
}

void replace_unix(Draft& base, Draft& later) {
  for (auto& [peer, rule] : later.unix_peers) base.unix_peers.insert_or_assign(peer, std::move(rule));
}

void replace_env_set(Draft& base, Draft& later) {
  for (auto& [name, value] : later.policy.env.set) base.policy.env.set.insert_or_assign(name, std::move(value));
}

void replace_secrets(Draft& base, Draft& later) {
  for (auto& [name, secret] : later.secrets) base.secrets.insert_or_assign(name, std::move(secret));
}

// `none` stands for the whole section.
void read_network(const Key& key, const YamlNode& node, const std::string& where, Reader& reader, Draft& draft) {
  draft.written.insert_or_assign(key.path, reader.where(node));
  if (node.kind == YamlNode::Kind::scalar && node.text == "none")
    draft.network_none = true;
  else if (node.kind == YamlNode::Kind::map)
    read_section(key.path, node, where, reader, draft);
  else
    reader.error(node, where,
                 {"wrong_type", "a map, or the word none, is expected here",
                  "write network: none to deny everything, or the keys connect and bind"});
}

bool has_own_loopback(const Policy& policy) { return policy.network.loopback == Loopback::private_namespace; }
bool records_flows(const Policy& policy) { return policy.network.record_flows; }

constexpr auto kNetwork = &Policy::network;
constexpr auto kLimits = &Policy::limits;
constexpr auto kKernel = &Policy::kernel;
constexpr auto kLaunch = &Policy::launch;

constexpr const char* kProfiles =
    R"("type": "array", "items": {"type": "string", "pattern": "^([A-Za-z0-9._-]{1,63}|(/|\\.{1,2}/).+)$"}, "uniqueItems": true)";
constexpr const char* kInterfacesAllowed =
    R"("type": "array", "items": {"enum": ["perf", "keyrings", "user_namespaces", "userfaultfd", "module_requests"]})";

// Docs are for people: the man page has them as they are, the schema without the backquotes of words.
constexpr Key kKeys[] = {
    own<read_version, nullptr, version_text>("version", R"("const": 1)",
                                             "Version of the policy language: `1`. Required."),
    own<read_name, replace<&Policy::name>, name_text>("name", R"("$ref": "#/$defs/name")",
                                                      "Name of the policy, as status and events show it. Required."),
    own<read_extends, nullptr, nullptr>(
        "extends", kProfiles,
        "Profiles that this policy builds on, by their names, and files, by their paths: `./base.yaml` is beside the "
        "file that names it. Merged in order, the policy itself last. Lists are united, single values "
        "are replaced. `network: none` drops all of the network part before it."),
    Word<always, &Policy::mode>::of<Mode::enforce, Mode::audit>(
        "mode",
        "`enforce` denies. `audit` only reports what would have been denied: it isolates nothing and is never called "
        "active."),
    Word<always, &Policy::on_loss>::of<OnLoss::freeze, OnLoss::kill, OnLoss::alert>(
        "on_loss", "What happens to the sandbox when enforcement is found incomplete later."),

    {"network",
     "Network access. Without this section, or with `network: none`, everything is denied, loopback included. A "
     "connection to 0.0.0.0 reaches 127.0.0.1, and one to :: reaches ::1: list both addresses, or a network with both.",
     R"("const": "none")", read_network, nullptr, head_text},
    own<read_connect, append_connect, connect_text>(
        "network.connect", R"("type": "array", "items": {"$ref": "#/$defs/connect_entry"})",
        "Destinations that may be connected or sent to. An entry has one of `address`, `cidr` and `host` (a name; "
        "`*.example.org` stands for one label before it, `**.example.org` for any number); then `ports`, as in "
        "`[443, 6000-6010]`, and `protocol` (`tcp`, `udp` or `any`). With `via`, the `address` and `port` of a proxy, "
        "the proxy gets the connections instead, without the clients' knowledge; `sbpf origin` tells it whom each is "
        "for."),
    list<read_bind, bind_text, kNetwork, &Network::bind>(
        "network.bind", R"("type": "array", "items": {"$ref": "#/$defs/bind_entry"})",
        "Local addresses that may be bound or listened on. Port 0 lets the kernel pick one. A bind to 0.0.0.0 or :: "
        "that no entry covers is put on 127.0.0.1 or ::1, where an entry allows that port there."),
    Word<has_own_loopback, kNetwork, &Network::loopback>::of<Loopback::host, Loopback::private_namespace>(
        "network.loopback",
        "Whose loopback the sandbox has. `host`: that of the network it is started in, of which `connect` and `bind` "
        "list what is open. `private`: `sbpf run` gives it a network of its own, in which the sandbox alone uses every "
        "address and port of loopback. Nothing else is there, but for what `connect` lists: addresses, networks, hosts by "
        "name, and endpoints of the host's loopback. These are relayed, 64 ports at most, of which the sandbox has no "
        "servers then. What `bind` lists as well of the host's loopback is the sandbox's own, and is not relayed. An audit "
        "makes no such network. `attach`, which starts no program itself, gives it nothing beyond the lists."),
    flag<always, kNetwork, &Network::dangerously_allow_all>(
        "network.dangerously_allow_all",
        "Lets every connection, address and kind of socket through, but none to metadata services. `connect`, `bind`, "
        "`unix` and `dangerously_allow_sockets` may not stand beside it."),
    flag<always, kNetwork, &Network::dangerously_allow_metadata>(
        "network.dangerously_allow_metadata",
        "Lets lists, networks and `dangerously_allow_all` reach the metadata services of clouds (169.254.0.0/16 and "
        "others), which give out the machine's credentials."),
    list<read_sockets, sockets_text, kNetwork, &Network::dangerously_allow_sockets>(
        "network.dangerously_allow_sockets",
        R"("type": "array", "items": {"enum":
          ["mptcp", "udplite", "sctp", "ping", "raw", "packet", "vsock", "alg", "netlink", "smc", "tun"]})",
        "Kinds of sockets that are denied otherwise. Some of them reach destinations that no entry of `connect` "
        "covers. `tun` are devices: tun, tap, macvtap, ipvtap, ppp, vhost-net, vhost-vsock."),
    flag<records_flows, kNetwork, &Network::record_flows>(
        "network.record_flows",
        "Tells of allowed flows as well: an event for each connection, and for the end of TCP ones "
        "(`sbpf events --flows`)."),
    section<dns_text>("network.dns", "Who answers for the host names of `connect`."),
    own<read_resolver, replace<kNetwork, &Network::resolver>, nullptr>(
        "network.dns.resolver", R"("$ref": "#/$defs/address")",
        "Address of the server that is asked. Left out: the servers of the host's /etc/resolv.conf."),
    list<read_trusted_programs, trusted_programs_text, kNetwork, &Network::trusted_programs>(
        "network.trusted_programs",
        R"("type": "array", "items": {"type": "string", "pattern": "^[0-9a-fA-F]{16}$"}, "maxItems": 4,
          "uniqueItems": true)",
        "Tags of BPF programs of others, as `sbpf status` names them, that may run after sbpf's for connect, sendmsg, "
        "bind and the options of sockets: a load balancer's, for instance. Such a program may lift a denial, and send "
        "to another address than the one that was judged. A program that runs after sbpf's and is not in this list "
        "makes the sandbox degraded. If one appears while the sandbox runs, that is a loss (`on_loss`)."),
    list<read_network_interfaces, interfaces_text, kNetwork, &Network::interfaces>(
        "network.interfaces",
        R"("type": "array", "items": {"type": "string", "pattern": "^(?![.]{1,2}$)[A-Za-z0-9._@+-]{1,15}$"},
          "uniqueItems": true)",
        "Network interfaces, by name, that a program may choose for a packet (IP_PKTINFO, IPV6_PKTINFO, the scope of a "
        "link-local address), in the network namespace of the socket. Without an entry only the host's routes choose "
        "the interface. The options of sockets that name one (SO_BINDTODEVICE, IP_UNICAST_IF, IP_MULTICAST_IF and "
        "their kin) are refused. Addresses of lo are reached by lo only, whatever is listed."),
    own<read_unix, replace_unix, unix_text>(
        "network.unix", R"j("type": "array", "items": {"type": "string", "pattern": "^(/|@.)"}, "uniqueItems": true)j",
        "Sockets of others on this host that may be talked to: a socket, a directory of sockets, or `@` and the name "
        "of an abstract one. Those of the sandbox itself need no entry."),

    section<filesystem_text>(
        "filesystem",
        "Access to files. Without this section files are not judged, and only devices that any program may need are "
        "open: null, zero, random, its terminal, pseudo-terminals, FUSE, KVM, accelerators. Paths are absolute and "
        "without patterns; a directory stands for everything below it, and need not exist yet. A backslash before one "
        "of * ? [ ] stands for that character, as in `/app/\\[id\\]`. Of several paths the nearest on the way up to / "
        "decides. With "
        "`extends`, a later rule for a path replaces the earlier one. A symbolic link on the way is followed if it "
        "belongs to root, and lies where no other user renames and no rule lets the sandbox write; else the policy is "
        "refused, and the target is to be named. Inside, no link is made by a name that a rule's path has."),
    Word<judges_files, &Policy::filesystem, &Filesystem::fallback>::of<FsDefault::deny, FsDefault::read,
                                                                       FsDefault::write>("filesystem.default",
                                                                                         "What no path covers."),
    fs_paths<FsAccess::read>("filesystem.read", "May be read, listed and run, with everything below."),
    fs_paths<FsAccess::write>(
        "filesystem.write",
        "May be read and changed, with everything below: files may be created, deleted and renamed."),
    fs_paths<FsAccess::deny>("filesystem.deny", "Nothing is allowed there and below, but for nearer paths."),
    fs_paths<FsAccess::protect>(
        "filesystem.protect",
        "The sandbox may read the path. No process in it may change, replace, rename or create it. The rule also holds "
        "while the path does not exist."),
    fs_paths<FsAccess::private_place>(
        "filesystem.private",
        "Directories of the sandbox's own, in which it may write: what `sbpf run` starts finds them empty, and they "
        "are gone with it. The host's directory there is not seen. Elsewhere (`attach`, a swap to such a policy) the "
        "directory is closed; `write` for the same path shares the host's. No path that is to be read or "
        "written lies below one.",
        R"j("$ref": "#/$defs/paths", "items": {"pattern": "^(/dev/shm/?|(?!/((proc|sys|dev|run)(/.*)?)?$).*)$"})j"),
    flag<has_filesystem, &Policy::filesystem, &Filesystem::dangerously_allow_all>(
        "filesystem.dangerously_allow_all", "Lets every access to files through. Nothing else may stand beside it."),

    section<head_text>("process", "How the program starts, and what it may run."),
    section<exec_text>(
        "process.exec",
        "Which programs may be run, and which files mapped as code. Without it programs are not judged. Of several "
        "paths the nearest on the way up to / decides. With `extends`, a later rule for a path replaces the earlier "
        "one."),
    own<read_exec_allow, replace_rules<&Draft::exec, is_exec_allow>, exec_allow_text>(
        "process.exec.allow", kPaths, "May be run, with everything below. If the list is there, nothing else may."),
    own<read_exec_deny, replace_rules<&Draft::exec, is_exec_deny>, exec_deny_text>(
        "process.exec.deny", kPaths,
        "Not to be run there and below, but for nearer paths of `allow`. Alone it stops no one who can copy the "
        "program."),
    own<read_exec_sha256, replace_rules<&Draft::exec, is_exec_sha256>, exec_sha256_text>(
        "process.exec.sha256",
        R"("type": "object", "propertyNames": {"$ref": "#/$defs/path"},
          "additionalProperties": {"type": "string", "pattern": "^[0-9a-f]{64}$"})",
        "Paths and SHA-256 digests. The one file at such a path may be run while these are its contents. It needs "
        "fs-verity on the file, by which the kernel keeps them; it is refused without. Counts as a list `allow`."),
    flag<judges_exec, &Policy::exec, &Exec::deny_writable>(
        "process.exec.deny_writable",
        "Nothing that the filesystem rules let the sandbox write is run. Needs the section `filesystem`."),
    section<head_text>("process.env", "The environment of the program."),
    list<read_env_allow, env_allow_text, &Policy::env, &Env::allow>(
        "process.env.allow",
        R"("type": "array", "items": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*\\*?$"},
          "default": ["HOME", "LANG", "PATH", "TERM"])",
        "Variables that are taken over from the caller, by name or by prefix as in `LC_*`."),
    own<read_env_set, replace_env_set, env_set_text>(
        "process.env.set",
        R"("type": "object", "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
          "additionalProperties": {"type": ["string", "number", "boolean"]})",
        "Variables that are set, whatever the caller has."),
    section<limits_text>("process.limits", "What the sandbox may use at most."),
    optional<Processes, kLimits, &Limits::processes>("process.limits.processes", "Most processes and threads at once."),
    optional<Memory, kLimits, &Limits::memory_bytes>(
        "process.limits.memory", "Most memory: bytes, or a number with KiB, MiB, GiB or TiB, as in `512MiB`."),
    optional<Cpu, kLimits, &Limits::cpu_millis>("process.limits.cpu", "Most CPUs, as in `1.5`."),
    optional<Time, kLimits, &Limits::timeout>("process.limits.timeout",
                                              "Longest run, in h, m, s and ms, as in `1h30m`."),
    optional<OpenFiles, kLimits, &Limits::open_files>(
        "process.limits.open_files",
        "Most open files of each process (RLIMIT_NOFILE, see setrlimit(2)). `sbpf run` alone sets this limit and the "
        "next four."),
    optional<Size<1>, kLimits, &Limits::file_size>("process.limits.file_size",
                                                   "Largest file that a process writes (RLIMIT_FSIZE)."),
    optional<Size<0>, kLimits, &Limits::core>(
        "process.limits.core",
        "Largest core dump (RLIMIT_CORE). Left out, or 0: none, also not to the host's handler."),
    optional<Size<kSmallestStack>, kLimits, &Limits::stack>("process.limits.stack",
                                                            "Largest stack (RLIMIT_STACK), at least 128KiB."),
    optional<Size<0>, kLimits, &Limits::locked_memory>("process.limits.locked_memory",
                                                       "Most memory that each process locks (RLIMIT_MEMLOCK)."),
    own<read_seccomp, replace<kLaunch, &Launch::seccomp>, seccomp_text>(
        "process.seccomp", R"("$ref": "#/$defs/seccomp")",
        "System calls that are let through: `default` (as container engines have it, without what sandboxed code never "
        "needs), `strict` (what shells, compilers, Python and Node.js need), `dangerously_unconfined`, or an OCI "
        "profile by its whole path, with or without its SHA-256. Left out: `default`. What `default` and `strict` refuse "
        "with EPERM is told as a denial, in runs."),
    own<read_capabilities, replace<kLaunch, &Launch::capabilities>, capabilities_text>(
        "process.capabilities",
        R"("oneOf": [{"const": "dangerously_all"},
          {"type": "array", "items": {"type": "string", "pattern": "^[A-Z_]+$"}}], "default": [])",
        "Capabilities that are kept, without CAP_. None by default, for root too; `dangerously_all`: those of sbpf."),
    own<read_user, replace<kLaunch, &Launch::user>, user_text>(
        "process.user", R"("$ref": "#/$defs/user")",
        "Whose rights the program has: `uid`, `gid` and `groups`, by numbers. Left out: the caller's."),
    flag<always, kLaunch, &Launch::dangerously_allow_new_privileges>(
        "process.dangerously_allow_new_privileges",
        "Lets set-user-id programs and file capabilities work. Needs `seccomp: dangerously_unconfined`."),
    section<head_text>("process.kernel", "Interfaces of the kernel, and what root inside may do to the host."),
    list<read_closed_interfaces, kernel_allow_text, kKernel, &KernelAccess::allow>(
        "process.kernel.allow", kInterfacesAllowed, "Interfaces that are refused otherwise."),
    list<read_open_interfaces, kernel_deny_text, kKernel, &KernelAccess::deny>(
        "process.kernel.deny", R"("type": "array", "items": {"enum": ["io_uring"]})",
        "Interfaces that are open otherwise."),
    list<read_host_capabilities, host_capabilities_text, kKernel, &KernelAccess::dangerously_allow_capabilities>(
        "process.kernel.dangerously_allow_capabilities",
        R"("type": "array", "items": {"$ref": "#/$defs/host_capability"})",
        "Capabilities that root in the sandbox may use over the host, and that are refused otherwise. Some of them are "
        "as good as no sandbox."),
    own<read_secrets, replace_secrets, secrets_text>(
        "process.secrets",
        R"("type": "array", "items": {"$ref": "#/$defs/secret"},
          "contains": {"required": ["stdin"]}, "minContains": 0, "maxContains": 1)",
        "What the program gets beside its environment. The policy says where each comes from, and never holds it. Of "
        "an entry, `name` is as of a variable: the program finds `NAME_FILE` or `NAME_FD` in its environment. It comes "
        "from a `file` that only its owner may read, a `credential` of systemd, or all of sbpf's `stdin`. With "
        "`as: file`, the default, it is a file of mode 0400 in memory that only this sandbox has; with `as: fd` a "
        "pipe, to be read once."),
    later("process.runtime", "the choice of a runtime comes in a later version; choose it where the container is made"),

    later("inference",
          "the inference proxy comes in a later version; allow the address of your own in network.connect"),
};

}  // namespace

std::string Key::indent() const {
  return std::string(2 * static_cast<std::size_t>(std::ranges::count(path, '.')), ' ');
}

std::span<const Key> keys() { return kKeys; }

void read_section(std::string_view section, const YamlNode& node, const std::string& at, Reader& reader, Draft& draft) {
  std::vector<Reader::Field> fields;
  std::vector<Reader::Later> unsupported;
  for (const Key& key : kKeys) {
    if (key.section() != section) continue;
    if (key.unsupported != nullptr)
      unsupported.push_back({key.name(), key.unsupported});
    else
      fields.push_back({key.name(), [&](const YamlNode& value, const std::string& where) {
                          key.read(key, value, where, reader, draft);
                        }});
  }
  reader.map(node, at, fields, unsupported);
}

void merge(Draft& base, Draft later) {
  if (later.network_none) {
    base.network_none = true;  // for whoever merges the result of this merge over something else
    base.policy.network = {};
    base.unix_peers.clear();
  }
  for (const Key& key : kKeys) {
    const auto written = later.written.find(key.path);
    if (written == later.written.end()) continue;
    if (key.merge != nullptr) key.merge(base, later);
    base.written.insert_or_assign(key.path, written->second);
  }
}

}  // namespace sbpf::policy::internal
