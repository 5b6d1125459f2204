// SPDX-License-Identifier: Apache-2.0
// Attacks on files. Before each run the driver makes a fresh scene, and after it looks whether a secret reached the
// attacker, or anything changed where the policy under test lets nothing change:
//
//   outside/token, outside/TOKEN           deny     TOKEN: the secret itself is the name
//   elsewhere/token                        no rule
//   workspace/free, dir/file, tests2/file  write
//   workspace/ro/{file,dir/file}           read
//   workspace/secret/{token,dir/token}     deny, as is secret.key and what may come: later
//   workspace/tests/{test.py,dir/more.py}  protect, as is instruction.md and what may come: .hooks, a/b, empty/later
//   workspace/project/tests/test.py        protect; project itself is writable
//   workspace/project/vault/token          deny
#pragma once

#include <fcntl.h>

#include <string>

#include "tests/attack/lib/attack.h"

// In the attacker's data, replaced by the secret in copies of the program. As long as a secret at least.
#define ATTACK_STAMP "stamp-of-the-attack-program------"

namespace attack {

// What the scene lies on.
enum class Ground {
  disk,     // wherever /srv is
  memory,   // a tmpfs
  overlay,  // an overlay, its lower layer on disk and its upper one on a tmpfs: every write is a copy-up
};

// What the policy under test says of all the rest.
enum class Form {
  listed,  // default: deny, and the system's directories are readable
  carved,  // default: read
  open,    // default: write
};

// What the policy under test says of programs (tests/attack/lib/programs.h). Where it says something, it judges no
// files, unless by `unwritable`.
enum class Programs {
  unjudged,
  listed,      // allow: the system's directories, and workspace/ro
  named,       // deny: workspace/secret, workspace/later
  unwritable,  // deny_writable
};

// What the allowing policy is.
enum class Grant {
  scene,  // write: [the whole scene]; for programs: deny: [outside]
  none,   // has no filesystem section, and so judges no file; for what every such section refuses
  audit,  // the policy under test with `mode: audit`
  never,  // there is none: refused just the same
};

// The scene as the driver sees it, for what it does as the host's administrator.
struct FileScene {
  std::string base;  // a directory of the driver's around the scene, and around the layers of an overlay
  std::string root;
  std::string secret;
  std::string program;  // the `attacker` binary
  std::string operator()(const std::string& name) const { return root + "/" + name; }
};

struct FileSpec {
  const char* at = "";    // the step that must be refused…
  int expected = EACCES;  // …and its errno
  int or_expected = 0;    // another errno that is just as right, where an earlier hook may see the step
  const char* told = "";  // what `sbpf run` must say of the refusal, where another hook gives the same errno
  Programs programs = Programs::unjudged;
  Form form = Form::listed;
  Ground ground = Ground::disk;
  Grant grant = Grant::scene;
  // More rules for programs, written as those below.
  const char* allow = "";
  const char* forbid = "";
  // More rules: names in the scene, or absolute ones, each followed by a space. {long_name} has 255 bytes.
  const char* read = "";
  const char* write = "";
  const char* deny = "";
  const char* protect = "";
  // The administrator's doing: before the sandbox is there; and while it runs, when the attacker calls ctx.join().
  void (*prepare)(const FileScene& scene) = nullptr;
  void (*meanwhile)(const FileScene& scene) = nullptr;
  // A descriptor of the outside's: sent over stdin, or (inherited) left open across exec as ctx.number("inherited_fd"),
  // or stdin itself.
  Fd (*handed)(const FileScene& scene) = nullptr;
  bool inherited = false;
  bool handed_as_stdin = false;
  // More harm than what is stolen or changed.
  bool (*harmed)(const FileScene& scene) = nullptr;
  Launch launch = Launch::run;
  bool root = false;  // needs root; left out with --uid
  bool machine_wide = false;
  bool harmless = false;  // no attack: must get through under the policy under test as well
  Lacking lacking = {};
};

Spec spec_of(const FileSpec& files);

// FILE_ATTACK(name_of_what_is_refused, {.at = "open", …}) { body }
#define FILE_ATTACK(name, ...)                                                                             \
  static void name([[maybe_unused]] attack::Context& ctx);                                                 \
  static const attack::FileSpec files_of_##name __VA_ARGS__;                                               \
  static const attack::Registration registration_of_##name{#name, attack::spec_of(files_of_##name), name}; \
  static void name([[maybe_unused]] attack::Context& ctx)

// ---- for attackers ----

std::string scene(const Context& ctx, const std::string& name);      // the path of a name in the scene
std::string workspace(const Context& ctx, const std::string& name);  // the same below workspace/

Fd open_at(int directory, const std::string& name, int flags, int mode = 0600);  // "openat"
Fd open_path(const std::string& path);                                           // O_PATH. "open O_PATH"
std::string fd_link(const Fd& fd);                                               // /proc/self/fd/N

void take(const Context& ctx, const Fd& fd);              // what can be read is loot. "read"
void steal(const Context& ctx, const std::string& path);  // "open", "read"
void list(const Context& ctx, const Fd& directory);       // its names are loot. "getdents"
// Opens for writing and overwrites; "open", "write".
void overwrite(const std::string& path, int flags = 0);
// A new file. "create", "write"
void create(const std::string& path);
void rename_to(const std::string& from, const std::string& to, unsigned flags = 0);  // "rename"

// Runs a program in a child; what it prints is loot. "exec"; "loader" if the dynamic loader is what is stopped
void run_and_take(const Context& ctx, const std::vector<std::string>& argv);
void run_fd_and_take(const Context& ctx, const Fd& program, const std::string& name);

// The disk below the scene, its node, whatever the name, and what lies on it where the secret does, which is loot.
// ENODEV, "no disk", which skips the attack, where the scene is on no disk that says where its blocks are. "read"
dev_t disk_of(const Context& ctx);
std::string disk_node(dev_t disk);
void take_from_disk(const Context& ctx, const Fd& disk);

// ---- for the driver's part ----

void admin_write(const std::string& path, const std::string& text, int mode = 0644);  // makes or overwrites
void admin_mkdir(const std::string& path);                                            // with its parents
void admin_remove(const std::string& path);                                           // with all that is in it
void admin_rename(const std::string& from, const std::string& to);
void admin_symlink(const std::string& target, const std::string& path);
void admin_link(const std::string& from, const std::string& to);
void admin_bind(const std::string& from, const std::string& to);  // makes the mount point
Fd admin_open(const std::string& path, int flags);
dev_t admin_disk_of(const FileScene& scene);
// A copy of the attacker that prints the secret: `PATH stamp`.
void admin_program(const FileScene& scene, const std::string& path);
// workspace/deep/d/d/…/token, so many directories below workspace/.
void admin_deep(const FileScene& scene, int depth);
std::string deep_name(int depth);

}  // namespace attack
